"""Faults that clients meet (refusals, dropped and stalled connections, late and stale answers), and their requests.

Which requests meet one is said by a rule, and how often by chance from a seed. A hook of the server lets requests meet
faults, and records them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

import orjson

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation.negotiation import JSON
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.clock import Clock, SimulatedClock
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.message import DROPPED, Response
from simkit.meta.names import Key
from simkit.meta.objects import at, with_metadata
from simkit.seams import Compacted

_READING: Final = ("get", "list")
_CONFLICT: Final = (
    'Operation cannot be fulfilled on {} "{}": the object has been modified; please apply your changes to the latest '
    "version and try again"
)
KINDS: Final = ("conflict", "throttle", "error", "expired", "drop", "stall", "slow", "stale")
_APPLIES: Final = {"conflict": ("create", "update", "patch", "delete"), "expired": ("list", "watch"),
                   "stall": ("watch",), "stale": _READING}  # fmt: skip


@dataclass(slots=True)
class Fault:
    """What happens to which requests, and which have met it: see ``Cluster.faults``."""

    clock: Clock
    kind: str
    verbs: Collection[str] | None
    resources: Collection[str] | None
    namespaces: Collection[str] | None
    users: Collection[str] | None
    probability: float
    times: int | None
    status: int
    seconds: float
    spread: float
    revisions: int
    random: Random
    met: list[str] = field(default_factory=list)
    """The paths of the requests that met it."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SimkitError(f"no fault {self.kind!r}; there are {', '.join(KINDS)}")

    def concerns(self, context: RequestContext) -> bool:
        """True if a request is meant."""
        info = context.info
        what = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        user = context.identity.user if context.identity is not None else ""
        pairs = ((self.verbs, info.verb), (self.resources, what), (self.namespaces, info.namespace))
        return (
            info.is_resource
            and all(allowed is None or value in allowed for allowed, value in pairs)
            and (self.users is None or user in self.users)
            and info.verb in _APPLIES.get(self.kind, (info.verb,))
        )

    def before(self, engine: Any, context: RequestContext) -> Response | None:
        """The answer to a request that meets it, None where there is none. Raises StatusError."""
        if not self.concerns(context) or (self.times is not None and len(self.met) >= self.times):
            return None
        if self.random.random() >= self.probability:
            return None
        self.met.append(context.request.path)
        return self._carry_out(engine, context)

    def _carry_out(self, engine: Any, context: RequestContext) -> Response | None:
        info = context.info
        if self.kind == "conflict":
            group = f".{info.group}" if info.group else ""
            raise StatusError(409, "Conflict", _CONFLICT.format(f"{info.resource}{group}", info.name))
        if self.kind == "throttle":
            seconds = max(1, round(self.seconds))
            told = "Too many requests, please try again later."
            raise StatusError(429, "TooManyRequests", told, details={"retryAfterSeconds": seconds})
        if self.kind == "error":
            raise StatusError(self.status, "InternalError", "Internal error occurred: injected by a test")
        if self.kind == "expired":
            raise StatusError(410, "Expired", "The resourceVersion for the provided watch is too old.")
        if self.kind == "drop":
            return Response(DROPPED)
        if self.kind == "slow":
            self._wait(self.seconds + self.random.random() * self.spread)
        return _stale(self, engine, context) if self.kind == "stale" else None

    def _wait(self, seconds: float) -> None:
        if isinstance(self.clock, SimulatedClock):
            self.clock.advance(seconds)
        else:
            time.sleep(seconds)

    def stalls(self, context: RequestContext) -> bool:
        """True if a watch that was opened stays silent."""
        return self.kind == "stall" and self.met[-1:] == [context.request.path]


def _stale(fault: Fault, engine: Any, context: RequestContext) -> Response | None:
    """An object as it was some revisions ago; lists are read at that revision. None where it is not known."""
    info, store = context.info, engine.store
    revision = max(store.oldest, store.revision - fault.revisions)
    if info.verb == "list":
        query = {**context.request.query, "resourceVersion": [str(revision)], "resourceVersionMatch": ["Exact"]}
        context.request = replace(context.request, query=query)
        return None
    resource = engine.catalogue.find(info.group, info.version, info.resource)
    if resource is None:
        return None
    try:
        entry = store.get(Key(resource.storage, info.namespace, info.name), at=revision)
    except Compacted:
        return None
    if entry is None:
        raise StatusError(404, "NotFound", f'{info.resource} "{info.name}" not found')
    shown = engine.request_scope(resource).from_storage(entry.object)
    shown = with_metadata(shown, resourceVersion=str(entry.revision))
    return Response(200, orjson.dumps({"kind": resource.kind, "apiVersion": resource.api_version, **shown}))


class StalledStream:
    """A watch that is open and says nothing."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.blocks = self.computes = self.behind = False
        self.deadline = stream.deadline

    @property
    def closed(self) -> bool:
        """True if the client has closed it."""
        return bool(self._stream.closed)

    def poll(self, limit: int = 512) -> list[bytes]:
        """Nothing."""
        return []

    def bookmark(self) -> list[bytes]:
        """Nothing."""
        return []

    def wait(self, timeout: float | None = None) -> bool:
        """Nothing comes."""
        time.sleep(timeout or 0.0)
        return False

    def on_change(self, callback: Any) -> None:
        """Nothing changes."""

    def close(self) -> None:
        """End it."""
        self._stream.close()


class Traffic:
    """The requests of one cluster's clients, and the faults that they meet."""

    def __init__(self) -> None:
        self.requests = RecordedRequests()
        self._faults: list[Fault] = []

    @classmethod
    def of(cls, engine: Engine) -> Traffic:
        """The traffic of a server; from the first call on it is recorded."""
        if not isinstance(engine.client_hook, Traffic):
            engine.client_hook = cls()
        assert isinstance(engine.client_hook, Traffic)
        return engine.client_hook

    @property
    def waits(self) -> bool:
        """True if requests may be slowed down."""
        return any(fault.kind == "slow" for fault in self._faults)

    def before(self, engine: Any, context: RequestContext) -> Response | None:
        """The answer of a fault; the latest faults come first."""
        for fault in reversed(self._faults):
            answer = fault.before(engine, context)
            if answer is not None:
                return answer
        return None

    def after(self, context: RequestContext, response: Response) -> Response:
        """Record a request."""
        self.requests.add(recorded(context, response))
        if response.stream is not None and any(each.stalls(context) for each in self._faults):
            response.stream = StalledStream(response.stream)
        return response

    @contextmanager
    def meeting(self, fault: Fault) -> Iterator[Fault]:
        """Let requests meet a fault for a while."""
        self._faults.append(fault)
        try:
            yield fault
        finally:
            self._faults.remove(fault)


_MOST: Final = 100_000
"""Requests that are kept."""
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request of a client, and how it was answered."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str
    path: str
    user: str
    user_agent: str
    status: int
    deprecation: str = ""
    """The warning about the version that was asked for."""

    @property
    def what(self) -> str:
        """The resource with its subresource, as RBAC writes it; the path for what is no resource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource or self.path

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.what}{f' {self.name}' if self.name else ''}{where}: {self.status} ({self.user})"


def recorded(context: RequestContext, response: Response) -> RecordedRequest:
    """The record of a request."""
    info, identity = context.info, context.identity
    return RecordedRequest(
        info.verb if info.is_resource else context.request.method.lower(),
        info.group if info.is_resource else "",
        info.version,
        info.resource,
        info.subresource,
        info.namespace,
        info.name or _created_name(info, response),
        context.request.path,
        identity.user if identity is not None else "",
        context.request.header("user-agent"),
        response.status,
        context.deprecation or "",
    )


def _created_name(info: RequestInfo, response: Response) -> str:
    """The name of the object that a request created; its path does not have it."""
    if info.verb != "create" or not response.succeeded or response.content_type != JSON:
        return ""
    return str(at(response.object, "metadata", "name") or "")


class RecordedRequests(Sequence[RecordedRequest]):
    """Requests in the order in which they came."""

    def __init__(self, given: Sequence[RecordedRequest] = ()) -> None:
        self._kept = list(given)

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: Any) -> Any:
        found = self._kept[index]
        return RecordedRequests(found) if isinstance(index, slice) else found

    def __iter__(self) -> Iterator[RecordedRequest]:
        return iter(tuple(self._kept))

    def __repr__(self) -> str:
        return f"<{len(self)} requests>"

    def add(self, request: RecordedRequest) -> None:
        """Keep one more; the oldest ones go when there are very many."""
        self._kept.append(request)
        if len(self._kept) > _MOST:
            del self._kept[: _MOST // 2]

    def clear(self) -> None:
        """Forget all so far."""
        self._kept.clear()

    def where(
        self,
        *,
        verbs: Collection[str] | None = None,
        resources: Collection[str] | None = None,
        namespaces: Collection[str] | None = None,
        user: str | None = None,
        check: Callable[[RecordedRequest], bool] = lambda _: True,
    ) -> RecordedRequests:
        """The requests with one of these verbs, resources (``pods``, ``pods/log``) and namespaces, of a user."""
        wanted = (verbs, resources, namespaces)
        return RecordedRequests(
            [
                each
                for each in self._kept
                if all(
                    allowed is None or value in allowed
                    for allowed, value in zip(wanted, (each.verb, each.what, each.namespace), strict=True)
                )
                and user in (None, each.user)
                and check(each)
            ]
        )

    def of_resources(self) -> RecordedRequests:
        """Those about resources: without discovery, health and versions."""
        return self.where(check=lambda each: bool(each.resource))

    def assert_only(
        self,
        *,
        verbs: Collection[str] | None = None,
        resources: Collection[str] | None = None,
        namespaces: Collection[str] | None = None,
    ) -> None:
        """Raise AssertionError unless all requests about resources have one of these verbs, resources, namespaces."""
        allowed = set(map(id, self.where(verbs=verbs, resources=resources, namespaces=namespaces)))
        others = [each for each in self.of_resources() if id(each) not in allowed]
        if others:
            raise AssertionError(_listed(f"{len(others)} requests are others than expected:", others))

    def assert_made(self, verb: str, resource: str, name: str | None = None, *, times: int | None = None) -> None:
        """Raise AssertionError unless such a request was made, so many times if that is said."""
        found = self.where(verbs=[verb], resources=[resource], check=lambda each: name in (None, each.name))
        if (times is None and not found) or (times is not None and len(found) != times):
            expected = f"{verb} {resource}{f' {name}' if name else ''}"
            said = f"expected {expected}{'' if times is None else f' {times} times'}, found {len(found)} of:"
            raise AssertionError(_listed(said, self._kept))

    def assert_no_deprecated(self) -> None:
        """Raise AssertionError if a version was used that is deprecated."""
        found = self.deprecated()
        if found:
            raise AssertionError(_listed(f"{len(found)} requests are for deprecated versions:", list(found)))

    def deprecated(self) -> RecordedRequests:
        """The requests for versions that are deprecated."""
        return self.where(check=lambda each: bool(each.deprecation))

    def roles(self, name: str, *, user: str | None = None) -> list[dict[str, Any]]:
        """The least that these requests needed, as a Role for each namespace and a ClusterRole for the rest.

        Parameters
        ----------
        name
            The name of the roles.
        user
            Whose requests count; None: all.

        Raises
        ------
        SimkitError
            Where nothing was requested.
        """
        needed: dict[str, dict[tuple[str, str], set[str]]] = {}
        for each in self.where(user=user).of_resources():
            if each.status not in (401, 403):
                rules = needed.setdefault(each.namespace, {})
                rules.setdefault((each.group, each.what), set()).add(each.verb)
        if not needed:
            raise SimkitError("no requests were recorded that need a permission")
        return [_role(name, namespace, rules) for namespace, rules in sorted(needed.items())]


def _role(name: str, namespace: str, needed: dict[tuple[str, str], set[str]]) -> dict[str, Any]:
    by_verbs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in sorted(needed.items()):
        by_verbs.setdefault((group, tuple(sorted(verbs))), []).append(resource)
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "rules": [
            {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
            for (group, verbs), resources in by_verbs.items()
        ],
    }


def _listed(head: str, requests: Sequence[RecordedRequest]) -> str:
    lines = [f"  {each}" for each in requests[:_SHOWN]]
    more = [f"  and {len(requests) - _SHOWN} more"] if len(requests) > _SHOWN else []
    return "\n".join([head, *lines, *more])
