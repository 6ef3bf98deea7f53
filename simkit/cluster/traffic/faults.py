"""Faults that clients meet: refusals, dropped and stalled connections, late and stale answers.

Which requests meet one is said by a rule, and how often by chance from a seed. A hook of the server lets requests meet
faults, and records them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

import orjson

from simkit.cluster.traffic.recorded_requests import RecordedRequests, recorded
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.clock import Clock, SimulatedClock
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.message import DROPPED, Response
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import with_metadata
from simkit.seams import Compacted

_READING: Final = ("get", "list")
_CONFLICT: Final = (
    'Operation cannot be fulfilled on {} "{}": the object has been modified; please apply your changes to the latest '
    "version and try again"
)
_LEASES: Final = GroupResource(api_group("coordination"), "leases")
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
