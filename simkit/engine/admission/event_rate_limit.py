"""EventRateLimit limits the rate of Events by server, namespace, user or source.

Upstream: plugin/pkg/admission/eventratelimit, release 1.30.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from simkit.engine.admission.plugin_attributes import WRITES, written
from simkit.engine.seams import Operation, Review
from simkit.meta.clock import Clock
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.errors import StatusError
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.names import GroupResource

_EVENTS: Final = frozenset({GroupResource("", "events"), GroupResource(EVENTS_GROUP, "events")})


@dataclass(frozen=True, slots=True)
class Limit:
    """Events per second and burst for one type of limit."""

    type: Literal["Server", "Namespace", "User", "SourceAndObject"]
    qps: float
    burst: int
    cache_size: int = 4096

    def key(self, review: Review) -> str:
        """The key under which the event is counted."""
        match self.type:
            case "Server":
                return ""
            case "Namespace":
                return review.namespace
            case "User":
                return review.identity.user
            case _:
                return _source(written(review))


def _source(event: Any) -> str:
    source, about = event.get("source") or {}, event.get("involvedObject") or event.get("regarding") or {}
    parts = [source.get("component"), source.get("host"), about.get("kind"), about.get("namespace")]
    return "".join(part or "" for part in (*parts, about.get("name"), about.get("uid"), about.get("apiVersion")))


class _Buckets:
    """The remaining budget of each key; the least recently used keys are dropped."""

    def __init__(self, limit: Limit, clock: Clock) -> None:
        self.limit, self._clock = limit, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> bool:
        now, limit = self._clock.now(), self.limit
        with self._lock:
            left, when = self._left.pop(key, (float(limit.burst), now))
            left = min(limit.burst, left + (now - when) * limit.qps)
            allowed = left >= 1
            self._left[key] = (left - 1 if allowed else left, now)
            if len(self._left) > limit.cache_size:
                self._left.popitem(last=False)
        return allowed


class EventRateLimit:
    """Counts an Event by all limits; each that is exceeded is reported."""

    name = "EventRateLimit"
    leaves_process: Final = False
    resources = _EVENTS

    def __init__(self, clock: Clock, limits: Sequence[Limit]) -> None:
        self._buckets = [_Buckets(limit, clock) for limit in limits]

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def validate(self, review: Review) -> None:
        """Raises 429 where a limit is reached."""
        if review.dry_run:
            return
        keys = [(buckets, buckets.limit.key(review)) for buckets in self._buckets]
        told = [
            f"limit reached on type {buckets.limit.type} for key {key}"
            for buckets, key in keys
            if not buckets.take(key)
        ]
        if told:
            raise StatusError(429, "TooManyRequests", f"Too many requests: {aggregate_errors(told)}")
