"""Faults that clients meet: refusals, dropped and stalled connections, late and stale answers.

Which requests meet them is said by rules, and how often by chance from a seed.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

import orjson

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


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule: what happens to which requests.

    Attributes
    ----------
    kind
        ``conflict`` (409), ``throttle`` (429 with Retry-After), ``error`` (500, or ``status``), ``expired`` (410, on
        lists and watches), ``drop`` (the connection ends), ``stall`` (a watch that says nothing any more), ``slow``
        (``seconds`` of delay) or ``stale`` (a read of what was true ``revisions`` ago).
    verbs, resources, namespaces, users
        The requests that are meant; None: all.
    probability
        How many of them meet it, from 0 to 1.
    times
        How many meet it at most; None: without end.
    """

    kind: str
    verbs: Collection[str] | None = None
    resources: Collection[str] | None = None
    namespaces: Collection[str] | None = None
    users: Collection[str] | None = None
    probability: float = 1.0
    times: int | None = None
    status: int = 500
    seconds: float = 1.0
    spread: float = 0.0
    """Up to how many seconds more a slow answer takes, evenly distributed."""
    revisions: int = 10

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


KINDS: Final = ("conflict", "throttle", "error", "expired", "drop", "stall", "slow", "stale")
_APPLIES: Final = {"conflict": ("create", "update", "patch", "delete"), "expired": ("list", "watch"),
                   "stall": ("watch",), "stale": _READING}  # fmt: skip


class FaultInjector:
    """Carries out faults, the first rule that concerns a request first."""

    def __init__(self, faults: Collection[Fault], clock: Clock, seed: int = 0) -> None:
        self.faults, self._clock, self._random = tuple(faults), clock, Random(seed)
        self.met: list[tuple[Fault, str]] = []
        """The faults that requests met, with the paths of the requests."""
        self._counts = [0] * len(self.faults)

    def before(self, engine: Any, context: RequestContext) -> Response | None:
        """The answer of a fault, None where there is none. Raises StatusError."""
        for number, fault in enumerate(self.faults):
            if self._happens(number, fault, context):
                self.met.append((fault, context.request.path))
                answer = self._carry_out(fault, engine, context)
                if answer is not None:
                    return answer
        return None

    def _happens(self, number: int, fault: Fault, context: RequestContext) -> bool:
        if not fault.concerns(context) or (fault.times is not None and self._counts[number] >= fault.times):
            return False
        if self._random.random() >= fault.probability:
            return False
        self._counts[number] += 1
        return True

    def _carry_out(self, fault: Fault, engine: Any, context: RequestContext) -> Response | None:
        info = context.info
        if fault.kind == "conflict":
            group = f".{info.group}" if info.group else ""
            raise StatusError(409, "Conflict", _CONFLICT.format(f"{info.resource}{group}", info.name))
        if fault.kind == "throttle":
            seconds = max(1, round(fault.seconds))
            told = "Too many requests, please try again later."
            raise StatusError(429, "TooManyRequests", told, details={"retryAfterSeconds": seconds})
        if fault.kind == "error":
            raise StatusError(fault.status, "InternalError", "Internal error occurred: injected by a test")
        if fault.kind == "expired":
            raise StatusError(410, "Expired", "The resourceVersion for the provided watch is too old.")
        if fault.kind == "drop":
            return Response(DROPPED)
        if fault.kind == "slow":
            self._wait(fault.seconds + self._random.random() * fault.spread)
        return _stale(fault, engine, context) if fault.kind == "stale" else None

    def _wait(self, seconds: float) -> None:
        if isinstance(self._clock, SimulatedClock):
            self._clock.advance(seconds)
        else:
            time.sleep(seconds)

    def stalls(self, context: RequestContext) -> bool:
        """True if a watch that was opened stays silent."""
        return any(
            fault.kind == "stall" and path == context.request.path for fault, path in self.met[-len(self.faults) :]
        )


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
