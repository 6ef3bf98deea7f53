"""What requests count as: the flow schema of each, and the limits of those in flight."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from simkit.engine.pipeline.request_context import Flow, RequestContext
from simkit.engine.pipeline.request_info import RequestInfo, is_long_running
from simkit.meta.errors import PlainError
from simkit.meta.identity import MASTERS, Identity, split_service_account
from simkit.meta.objects import Object, at, metadata, name_of

# Limits on the requests in flight: read-only and mutating ones.
# References: ``k8s.io/apiserver/pkg/server/filters/maxinflight.go``, release 1.30.

READING: Final = frozenset({"get", "list", "watch"})
"""Read-only verbs."""


class TooManyRequests(PlainError):
    """A request for which there is no seat."""

    def __init__(self) -> None:
        super().__init__(429, "Too many requests, please try again later.\n", [("Retry-After", "1")])


class InFlight:
    """Counts read-only and mutating requests in flight."""

    def __init__(self) -> None:
        self._running = {False: 0, True: 0}
        self._lock = Lock()

    @property
    def reading(self) -> int:
        """The number of read-only requests in flight."""
        return self._running[False]

    @property
    def mutating(self) -> int:
        """The number of mutating requests in flight."""
        return self._running[True]


class MaxInFlight(InFlight):
    """Counts requests in flight, and rejects those above the limits for read-only and mutating ones.

    Parameters
    ----------
    requests, mutating_requests
        0 for no limit.

    Notes
    -----
    Watches and other long requests are not counted. Members of ``system:masters`` always get an answer. This is what
    kube-apiserver does with ``--enable-priority-and-fairness=false``.
    """

    def __init__(self, requests: int = 0, mutating_requests: int = 0) -> None:
        super().__init__()
        self._limits = {False: requests, True: mutating_requests}

    def enter(self, context: RequestContext) -> None:
        """Count a request; ``leave`` must follow. Raises TooManyRequests."""
        if is_long_running(context.info):
            return
        kind = context.info.verb not in READING
        limit = self._limits[kind]
        with self._lock:
            if limit and self._running[kind] >= limit:
                if MASTERS not in context.actor().groups:
                    raise TooManyRequests
                return
            self._running[kind] += 1
        context.request_kind = kind

    def passes(self, flow: Flow | None) -> bool:
        """True if there is room for one more read-only request."""
        limit = self._limits[False]
        return not limit or self._running[False] < limit

    def leave(self, context: RequestContext) -> None:
        """Count a request out, if it was counted."""
        if context.request_kind is None:
            return
        with self._lock:
            self._running[context.request_kind] -= 1
        context.request_kind = None


# Flow schemas: rules that match requests by subject and resource, and the flow within the schema.
# Upstream: k8s.io/apiserver/pkg/util/flowcontrol/rule.go, release 1.30.

_USUAL_PRECEDENCE: Final = 1000
EVERYTHING: Final = "*"


@dataclass(frozen=True, slots=True)
class FlowSchema:
    """One flow schema: its matching rules, and the priority level of what they match.

    Examples
    --------
    >>> rules = [{"subjects": [{"kind": "User", "user": {"name": "ann"}}],
    ...           "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz*"]}]}]
    >>> schema = FlowSchema.of({"metadata": {"name": "probes"}, "spec": {"rules": rules}})
    >>> schema.matches(RequestInfo("/healthz/ping", "get"), Identity("ann"))
    True
    """

    name: str
    uid: str
    precedence: int
    level: str
    rules: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, obj: Object) -> FlowSchema:
        """The schema of an object."""
        spec = obj.get("spec") or {}
        return cls(
            name_of(obj),
            metadata(obj).get("uid", ""),
            spec.get("matchingPrecedence") or _USUAL_PRECEDENCE,
            at(spec, "priorityLevelConfiguration", "name") or "",
            spec.get("rules") or (),
        )

    def matches(self, info: RequestInfo, identity: Identity) -> bool:
        """True if a request belongs to it."""
        return any(_asks(rule, info) and _names(rule, identity) for rule in self.rules)


def _names(rule: Mapping[str, Any], identity: Identity) -> bool:
    return any(_is(subject, identity) for subject in rule.get("subjects") or ())


def _is(subject: Mapping[str, Any], identity: Identity) -> bool:
    kind = subject.get("kind")
    if kind == "User":
        return at(subject, "user", "name") in (EVERYTHING, identity.user)
    if kind == "Group":
        name = at(subject, "group", "name")
        return name == EVERYTHING or name in identity.groups
    account = split_service_account(identity.user)
    if kind != "ServiceAccount" or account is None:
        return False
    namespace, name = account
    return at(subject, "serviceAccount", "namespace") == namespace and at(subject, "serviceAccount", "name") in (
        EVERYTHING,
        name,
    )


def _asks(rule: Mapping[str, Any], info: RequestInfo) -> bool:
    if info.is_resource:
        return any(_covers_resource(each, info) for each in rule.get("resourceRules") or ())
    return any(_covers_path(each, info) for each in rule.get("nonResourceRules") or ())


def _covers_resource(rule: Mapping[str, Any], info: RequestInfo) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if not (
        _has(rule.get("verbs"), info.verb)
        and _has(rule.get("resources"), resource)
        and _has(rule.get("apiGroups"), info.group)
    ):
        return False
    if not info.namespace:
        return bool(rule.get("clusterScope"))
    return _has(rule.get("namespaces"), info.namespace)


def _covers_path(rule: Mapping[str, Any], info: RequestInfo) -> bool:
    if not _has(rule.get("verbs"), info.verb):
        return False
    for pattern in rule.get("nonResourceURLs") or ():
        if pattern in (EVERYTHING, info.path):
            return True
        if pattern.endswith(EVERYTHING) and info.path.startswith(pattern.rstrip(EVERYTHING)):
            return True
    return False


def _has(listed: Collection[str] | None, value: str) -> bool:
    return bool(listed) and (value in listed or EVERYTHING in listed)  # type: ignore[operator]
