"""Impersonation: the identity of a request is replaced if the caller may do so.

Upstream: k8s.io/apiserver/pkg/endpoints/filters/impersonation.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simkit.engine.authn.request_header import extra_key
from simkit.engine.authz.forbidden import forbidden_error
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.filters.constrained_impersonation import impersonated
from simkit.engine.pipeline.request_context import RequestContext
from simkit.kinds.parts.go_printing.syntax import texts
from simkit.meta.attributes import Attributes
from simkit.meta.behaviour import applies
from simkit.meta.domain import AUTHENTICATION_GROUP
from simkit.meta.errors import PlainError, bad_request
from simkit.meta.fielderror import quoted
from simkit.meta.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Identity,
    service_account_groups,
    split_service_account,
)

_USER, _GROUP, _UID = "impersonate-user", "impersonate-group", "impersonate-uid"
_EXTRA = "impersonate-extra-"


@dataclass(frozen=True, slots=True)
class _Ask:
    """One impersonated attribute, for the authorizer and for errors."""

    kind: str
    resource: str
    name: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    subresource: str = ""

    def shown(self) -> str:
        api_version = "/".join(filter(None, (self.group, self.version)))
        return f"{{{self.kind} {self.namespace} {self.name}  {api_version}  {self.subresource}}}"


def impersonate(engine: Engine, context: RequestContext) -> None:
    """Replace the identity of the request by the headers. Raises 403 unless the caller may impersonate all of it."""
    headers = context.request.headers
    if "impersonate-" not in "\n".join(headers):  # in one go for nearly all requests, which have none
        return
    asks = _asks(headers)
    if not asks:
        return
    if applies("constrained-impersonation"):
        context.identity = impersonated(engine, context, _wanted(headers))
        return
    if not context.request.header(_USER):
        listed = " ".join(ask.shown() for ask in asks)
        if applies("groups-without-user-are-bad-requests"):
            raise bad_request(f"requested [{listed}] without impersonating a user")
        text = f'Internal Server Error: "{context.info.path}": requested [{listed}] without impersonating a user\n'
        raise PlainError(500, text)
    for ask in asks:
        _authorize(engine, context.actor(), ask)
    context.identity = _become(headers)


def _wanted(headers: Mapping[str, Sequence[str]]) -> Identity:
    """The user that the headers describe. Raises 400 where they do not name one."""
    name, uid = (headers.get(_USER) or ("",))[0], (headers.get(_UID) or ("",))[0]
    wanted = Identity(name, tuple(headers.get(_GROUP, ())), uid, _extra(headers))
    if name:
        return wanted
    groups = texts(list(wanted.groups) or None).text
    listed = ", ".join(f"{quoted(key)}:{texts(list(wanted.extra[key])).text}" for key in sorted(wanted.extra))
    extra = f"map[string][]string{f'{{{listed}}}' if listed else '(nil)'}"
    shown = f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{groups}, Extra:{extra}}}'
    raise bad_request(f"requested {shown} without impersonating a user name")


def _extra(headers: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, list[str]] = {}
    for name, values in headers.items():
        if name.startswith(_EXTRA):
            extra.setdefault(extra_key(name[len(_EXTRA) :].lower()), []).extend(values)
    return {key: tuple(values) for key, values in extra.items()}


def _asks(headers: Mapping[str, Sequence[str]]) -> list[_Ask]:
    asks: list[_Ask] = []
    user = (headers.get(_USER) or ("",))[0]
    account = split_service_account(user)
    if account:
        asks.append(_Ask("ServiceAccount", "serviceaccounts", account[1], namespace=account[0]))
    elif user:
        asks.append(_Ask("User", "users", user))
    asks += [_Ask("Group", "groups", group) for group in headers.get(_GROUP, ())]
    for name, values in headers.items():
        if name.startswith(_EXTRA):
            key = extra_key(name[len(_EXTRA) :].lower())
            asks += [_Ask("UserExtra", "userextras", value, AUTHENTICATION_GROUP, "v1", "", key) for value in values]
    uid = (headers.get(_UID) or ("",))[0]
    if uid:
        asks.append(_Ask("UID", "uids", uid, AUTHENTICATION_GROUP, "v1"))
    return asks


def _authorize(engine: Engine, identity: Identity, ask: _Ask) -> None:
    question = Attributes(
        identity, "impersonate", ask.group, ask.version, ask.resource, ask.subresource, ask.namespace, ask.name
    )
    decision = engine.authorizer.authorize(question)
    if not decision.allowed:
        raise forbidden_error(question, decision.reason)


def _become(headers: Mapping[str, Sequence[str]]) -> Identity:
    user = headers[_USER][0]
    groups = list(headers.get(_GROUP, ()))
    account = split_service_account(user)
    if account and not groups:
        groups = list(service_account_groups(account[0]))
    if user == ANONYMOUS:
        groups += [] if UNAUTHENTICATED in groups else [UNAUTHENTICATED]
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups.append(AUTHENTICATED)
    return Identity(user, tuple(groups), (headers.get(_UID) or ("",))[0], _extra(headers))
