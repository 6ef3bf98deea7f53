"""Impersonation: the identity of a request is replaced if the caller may do so.

Upstream: k8s.io/apiserver/pkg/endpoints/filters/impersonation.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from simkit.engine.authn.union import extra_key
from simkit.engine.authz.rbac import failed, forbidden_error
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.validation.fields import DOMAIN_PATH
from simkit.kinds.rules import placed
from simkit.meta.attributes import Attributes
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import AUTHENTICATION_GROUP, label
from simkit.meta.errors import StatusError, bad_request
from simkit.meta.fielderror import aggregate_errors, quoted
from simkit.meta.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Identity,
    service_account_groups,
    split_service_account,
)
from simkit.meta.name_validation import dns_subdomain

# Constrained impersonation: what may be done as somebody else is allowed verb by verb.
# A caller needs ``impersonate:MODE`` on whom it becomes, and ``impersonate-on:MODE:VERB`` on what it asks for. Which
# modes fit is told by the user; ``impersonate``, which allows everything, is the last of them. The first refusal is the
# one that is told.
# Upstream: k8s.io/apiserver/pkg/endpoints/filters/impersonation, release 1.36.

_MASTERS: Final = "system:masters"
_NODES: Final = "system:nodes"
_NODE_PREFIX: Final = "system:node:"
_NODE_NAME: Final = label("node-name", "authentication")
_NODE_KEYS: Final = label("associated-node-keys", "authentication")
_CALLERS: Final = 10_000
"""So many callers are remembered with the mode that worked for them."""
_MANY: Final = 4
"""From so many groups, or values of extra, on, all of them are asked for at once first."""


class Mode(NamedTuple):
    """One way of impersonation, and whether it fits a wanted user and the caller."""

    name: str
    fits: Callable[[Identity, Identity], bool]


def node_name(user: str) -> str:
    """The node that a user is, or the empty string."""
    name = user.removeprefix(_NODE_PREFIX)
    return name if user.startswith(_NODE_PREFIX) and not dns_subdomain(name) else ""


def _only_named(wanted: Identity) -> bool:
    return not (wanted.uid or wanted.groups or wanted.extra)


def _of_own_node(wanted: Identity, caller: Identity) -> bool:
    node = node_name(wanted.user)
    account = split_service_account(caller.user)
    return bool(node and account and _only_named(wanted)) and tuple(caller.extra.get(_NODE_NAME, ())) == (node,)


_ASSOCIATED: Final = "associated-node"
_LEGACY: Final = ""
MODES: Final = (
    Mode(_ASSOCIATED, _of_own_node),
    Mode("arbitrary-node", lambda wanted, _: _only_named(wanted) and bool(node_name(wanted.user))),
    Mode("serviceaccount", lambda wanted, _: _only_named(wanted) and bool(split_service_account(wanted.user))),
    Mode("user-info", lambda wanted, _: not node_name(wanted.user) and not split_service_account(wanted.user)),
    Mode(_LEGACY, lambda *_: True),
)
"""All modes in the order in which they are tried; the one that worked for a caller before comes first."""


def impersonated(engine: Engine, context: RequestContext, wanted: Identity) -> Identity:
    """The identity that the caller becomes. Raises 403 where no mode allows it."""
    caller, last = context.actor(), engine.impersonation_modes
    order = sorted(range(len(MODES)), key=lambda index: index != last.get(caller.user))
    refused: StatusError | None = None
    for index in order:
        mode = MODES[index]
        if not mode.fits(wanted, caller):
            continue
        try:
            found = _Check(engine, caller, mode.name).become(context, wanted)
        except StatusError as error:
            refused = refused or error
            continue
        _remember(last, caller.user, index)
        return found
    assert refused is not None, "the last mode fits everybody"
    raise refused


def _remember(last: dict[str, int], user: str, mode: int) -> None:
    last[user] = mode
    if len(last) > _CALLERS:
        del last[next(iter(last))]


class _Check:
    """The questions of one mode."""

    def __init__(self, engine: Engine, caller: Identity, mode: str) -> None:
        self._engine, self._mode = engine, mode
        self._verb = f"impersonate:{mode}" if mode else "impersonate"
        self._caller = caller
        if mode == _ASSOCIATED:
            self._caller = replace(caller, extra={_NODE_KEYS: tuple(sorted(caller.extra))})

    def become(self, context: RequestContext, wanted: Identity) -> Identity:
        if self._mode:
            asked = context.info.asks(self._engine.behaviour, self._caller)
            self._authorize(replace(asked, verb=f"impersonate-on:{self._mode}:{asked.verb}"))
        groups = self._named(wanted)
        if wanted.uid:
            self._authorize(self._about("uids", wanted.uid, AUTHENTICATION_GROUP))
        self._check_groups(wanted.groups)
        self._check_extra(wanted)
        return replace(wanted, groups=tuple(_completed(wanted.user, groups)))

    def _named(self, wanted: Identity) -> Sequence[str]:
        """The groups of the wanted user, after the question whether the caller may take the name."""
        groups, asked = wanted.groups, self._about("users", wanted.user)
        node, account = node_name(wanted.user), split_service_account(wanted.user)
        if self._mode and node:
            groups = (_NODES,)
            asked = self._about("nodes", "*" if self._mode == _ASSOCIATED else node)
        elif account:
            groups = groups or service_account_groups(account[0])
            asked = replace(self._about("serviceaccounts", account[1]), namespace=account[0])
        self._authorize(asked)
        return groups

    def _check_groups(self, groups: Sequence[str]) -> None:
        if self._mode:
            if "" in groups:
                raise forbidden_error(self._about("groups", ""), "impersonating the empty string group is not allowed")
            if _MASTERS in groups:
                why = f"impersonating the {_MASTERS} group is not allowed"
                raise forbidden_error(self._about("groups", _MASTERS), why)
            if len(groups) >= _MANY and self._allowed(self._about("groups", "*")):
                return
        for group in groups:
            self._authorize(self._about("groups", group))

    def _check_extra(self, wanted: Identity) -> None:
        extra = wanted.extra
        asked = self._about("userextras", "", AUTHENTICATION_GROUP)
        if self._mode and extra:
            wrong = next(_errors(self._engine.behaviour, extra), "")
            if wrong:
                raise forbidden_error(asked, wrong)
            many = len(extra) >= _MANY or sum(map(len, extra.values())) >= _MANY
            if many and self._allowed(replace(asked, subresource="*", name="*")):
                return
        for key, values in extra.items():
            for value in values:
                self._authorize(replace(asked, subresource=key, name=value))

    def _about(self, resource: str, name: str, group: str = "") -> Attributes:
        group, version = (AUTHENTICATION_GROUP, "v1") if self._mode or group else ("", "v1")
        return Attributes(self._caller, self._verb, group, version, resource, name=name)

    def _allowed(self, asked: Attributes) -> bool:
        return self._engine.authorizer.authorize(asked).allowed

    def _authorize(self, asked: Attributes) -> None:
        decision = self._engine.authorizer.authorize(asked)
        if not decision.allowed:
            why = ": ".join(filter(None, (decision.error, decision.reason)))
            raise forbidden_error(asked, why)


def _errors(behaviour: ServedBehaviour, extra: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for key, values in extra.items():
        if not key:
            yield "impersonating the empty string key in extra is not allowed"
        wrong = placed("extra.key", DOMAIN_PATH(behaviour, key))
        errors = aggregate_errors(error.told(behaviour) for error in wrong)
        if errors:
            yield f"impersonating an invalid key in extra is not allowed: {errors}"
        if key != key.lower():
            yield f'impersonating a non-lowercase key in extra is not allowed: "{key}"'
        if not values:
            yield "impersonating empty values in extra is not allowed"
        if "" in values:
            yield "impersonating the empty string value in extra is not allowed"


def _completed(user: str, groups: Sequence[str]) -> Iterator[str]:
    yield from groups
    if user == ANONYMOUS:
        yield from () if UNAUTHENTICATED in groups else (UNAUTHENTICATED,)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        yield AUTHENTICATED


_USER, _GROUP, _UID = "impersonate-user", "impersonate-group", "impersonate-uid"
_EXTRA = "impersonate-extra-"


_KINDS: Final = {
    "users": "User",
    "serviceaccounts": "ServiceAccount",
    "groups": "Group",
    "userextras": "UserExtra",
    "uids": "UID",
}
"""The kinds of what is impersonated, in errors."""


def impersonate(engine: Engine, context: RequestContext) -> None:
    """Replace the identity of the request by the headers. Raises 403 unless the caller may impersonate all of it."""
    headers = context.request.headers
    if "impersonate-" not in "\n".join(headers):  # in one go for nearly all requests, which have none
        return
    wanted = _wanted(headers)
    asks = _asks(context.actor(), wanted)
    if not asks:
        return
    if engine.behaviour.applies("constrained-impersonation"):
        if not wanted.user:
            raise _nameless(wanted)
        context.identity = impersonated(engine, context, wanted)
        return
    if not wanted.user:
        listed = f"requested [{' '.join(map(_shown, asks))}] without impersonating a user"
        if engine.behaviour.applies("groups-without-user-are-bad-requests"):
            raise bad_request(listed)
        raise failed(context.request.uri, listed)
    for ask in asks:
        decision = engine.authorizer.authorize(ask)
        if not decision.allowed:
            raise forbidden_error(ask, decision.reason)
    account = split_service_account(wanted.user)
    groups = service_account_groups(account[0]) if account and not wanted.groups else wanted.groups
    context.identity = replace(wanted, groups=tuple(_completed(wanted.user, groups)))


def _wanted(headers: Mapping[str, Sequence[str]]) -> Identity:
    """The user that the headers describe."""
    name, uid = (headers.get(_USER) or ("",))[0], (headers.get(_UID) or ("",))[0]
    extra: dict[str, tuple[str, ...]] = {}
    for header, values in headers.items():
        if header.startswith(_EXTRA):
            key = extra_key(header[len(_EXTRA) :].lower())
            extra[key] = (*extra.get(key, ()), *values)
    return Identity(name, tuple(headers.get(_GROUP, ())), uid, extra)


def _nameless(wanted: Identity) -> StatusError:
    """The 400 of headers that describe a user without a name."""
    groups = texts(list(wanted.groups) or None).text
    listed = ", ".join(f"{quoted(key)}:{texts(list(wanted.extra[key])).text}" for key in sorted(wanted.extra))
    extra = f"map[string][]string{f'{{{listed}}}' if listed else '(nil)'}"
    shown = f'&user.DefaultInfo{{Name:"", UID:{quoted(wanted.uid)}, Groups:{groups}, Extra:{extra}}}'
    return bad_request(f"requested {shown} without impersonating a user name")


def _asks(caller: Identity, wanted: Identity) -> list[Attributes]:
    """What a caller must be allowed to impersonate for all of a wanted user."""

    def about(resource: str, name: str, group: str = "", subresource: str = "", namespace: str = "") -> Attributes:
        version = "v1" if group else ""
        return Attributes(caller, "impersonate", group, version, resource, subresource, namespace, name)

    asks: list[Attributes] = []
    account = split_service_account(wanted.user)
    if account:
        asks.append(about("serviceaccounts", account[1], namespace=account[0]))
    elif wanted.user:
        asks.append(about("users", wanted.user))
    asks += [about("groups", group) for group in wanted.groups]
    for key, values in wanted.extra.items():
        asks += [about("userextras", value, AUTHENTICATION_GROUP, key) for value in values]
    return [*asks, about("uids", wanted.uid, AUTHENTICATION_GROUP)] if wanted.uid else asks


def _shown(ask: Attributes) -> str:
    api_version = "/".join(filter(None, (ask.group, ask.version)))
    return f"{{{_KINDS[ask.resource]} {ask.namespace} {ask.name}  {api_version}  {ask.subresource}}}"
