"""Records Events about objects, as controllers do.

Upstream: k8s.io/client-go/tools/record, release 1.30.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from simkit.client.controller import Client
from simkit.client.lister import uid_of
from simkit.client.requests import create, path_of
from simkit.client.resources import EVENTS
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request
from simkit.meta.objects import Object, metadata, name_of, namespace_of

# Limits of Events before they are written: many alike are combined, and one object is not spoken of too often.
# Upstream: ``EventCorrelator`` of k8s.io/client-go/tools/record/events_cache.go, release 1.30.

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

REMEMBERED: Final = 4096
"""The number of different events, of groups of alike events and of objects that are remembered."""
_MOST_ALIKE: Final = 10
"""The number of different messages with one reason from which on they are combined."""
_ALIKE_WITHIN: Final = 600.0
"""Seconds without such an event after which messages are counted anew."""
_BURST: Final = 25.0
"""The number of events about one object that are written at once."""
_PER_SECOND: Final = 1 / 300
"""The events about one object that may be written in each second after that."""
_COMBINED: Final = "(combined from similar events): "


class News(NamedTuple):
    """The facts that make two events the same: the object's uid, type, reason, message and the part of the object."""

    uid: str
    kind: str
    reason: str
    message: str
    field_path: str


@dataclass(slots=True)
class _Alike:
    """The messages that were told with one reason about one object."""

    last: float
    messages: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Allowance:
    """The number of events about one object that may still be written."""

    tokens: float
    since: float


class EventLimits:
    """Combines alike events of one controller, and drops those beyond the limit for one object."""

    def __init__(self) -> None:
        self._alike: OrderedDict[News, _Alike] = OrderedDict()
        self._allowed: OrderedDict[str, _Allowance] = OrderedDict()

    def passed(self, news: News, now: float) -> tuple[News, News] | None:
        """The identity and the content of the event to write; None if it is one too many.

        Of ten different messages with one reason within ten minutes, the tenth and later ones are one event, whose
        message is the last one.
        """
        identity, content = self._combined(news, now)
        return (identity, content) if self._allows(news.uid, now) else None

    def _combined(self, news: News, now: float) -> tuple[News, News]:
        group = news._replace(message="", field_path="")
        alike = self._alike.pop(group, None)
        if alike is None or now - alike.last > _ALIKE_WITHIN:
            alike = _Alike(now)
        alike.last = now
        alike.messages.add(news.message)
        _remember(self._alike, group, alike)
        if len(alike.messages) < _MOST_ALIKE:
            return news, news
        alike.messages.pop()
        return group, news._replace(message=_COMBINED + news.message)

    def _allows(self, uid: str, now: float) -> bool:
        known = self._allowed.pop(uid, None) or _Allowance(_BURST, now)
        known.tokens = min(_BURST, known.tokens + max(0.0, now - known.since) * _PER_SECOND)
        known.since = now
        _remember(self._allowed, uid, known)
        if known.tokens < 1:
            return False
        known.tokens -= 1
        return True


def _remember(known: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    known[key] = value
    if len(known) > REMEMBERED:
        known.popitem(last=False)


# Creates Events under names of their own: the name of an object and a moment.
# Upstream: ``makeEvent`` of k8s.io/client-go/tools/record and tools/events, release 1.30.

_LOG: Final = logging.getLogger("simkit.controllers")
_TRIES: Final = 1000
"""The number of events of an object that may have the same moment in their names."""
_NANOS: Final = 1_000_000_000


class EventNames:
    """The moments in the names of events: while the clock stands still, names do not."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: OrderedDict[tuple[str, str], int] = OrderedDict()

    def create(self, client: Client, namespace: str, about: str, event: Mapping[str, Any]) -> str | None:
        """The name under which an event about an object was created, None if it could not be."""
        whose = (namespace, about)
        first = max(int(self._clock.now() * _NANOS), self._last.pop(whose, -1) + 1)
        for moment in range(first, first + _TRIES):
            name = f"{about}.{moment:x}"
            made = {**event, "metadata": {"name": name, "namespace": namespace}}
            response = create(client, EVENTS, namespace, made)
            if response.succeeded:
                self._last[whose] = moment
                if len(self._last) > REMEMBERED:
                    self._last.popitem(last=False)
                return name
            if response.status != 409:
                _LOG.debug("event %s in %s: %s", name, namespace, response.body)
                return None
        return None


@dataclass(slots=True)
class _RecordedEvent:
    """An event that was written."""

    name: str
    count: int
    message: str


class EventRecorder:
    """Records the Events of one controller. The same message about the same object raises the count of its Event.

    Many alike events are combined, and those about one object are limited.

    Notes
    -----
    What was told is remembered here only: a fork tells as if for the first time.
    """

    def __init__(self, clock: Clock, component: str) -> None:
        self._clock, self._component = clock, component
        self._limits = EventLimits()
        self._told: OrderedDict[News, _RecordedEvent] = OrderedDict()
        self._names = EventNames(clock)

    def event(
        self,
        client: Client,
        about: Object,
        reason: str,
        message: str,
        *,
        warning: bool = False,
        field_path: str = "",
    ) -> None:
        """Write an event about an object. That it cannot be written, as in a namespace that goes, harms nothing.

        ``field_path`` is the part of the object that it is about.
        """
        kind = "Warning" if warning else "Normal"
        news = News(metadata(about).get("uid") or "", kind, reason, message, field_path)
        passed = self._limits.passed(news, self._clock.now())
        if passed is None:
            return
        identity, content = passed
        known = self._told.get(identity)
        namespace = namespace_of(about) or "default"
        if known is not None and self._again(client, namespace, known, content):
            self._told.move_to_end(identity)
            return
        told = self._first(client, namespace, about, content)
        if told is not None:
            self._told[identity] = told
            if len(self._told) > REMEMBERED:
                self._told.popitem(last=False)

    def _again(self, client: Client, namespace: str, known: _RecordedEvent, content: News) -> bool:
        known.count += 1
        change: dict[str, Any] = {"count": known.count, "lastTimestamp": timestamp(self._clock.now())}
        if content.message != known.message:
            change["message"] = known.message = content.message
        path = path_of(EVENTS, namespace, known.name)
        content_type = "application/strategic-merge-patch+json"
        return client.perform(Request.of("PATCH", path, change, content_type=content_type)).succeeded

    def _first(self, client: Client, namespace: str, about: Object, news: News) -> _RecordedEvent | None:
        name = self._names.create(client, namespace, name_of(about), self._event(about, news))
        return None if name is None else _RecordedEvent(name, 1, news.message)

    def _event(self, about: Object, news: News) -> dict[str, Any]:
        now = timestamp(self._clock.now())
        regarding = {"kind": about.get("kind"), "namespace": namespace_of(about), "name": name_of(about)}
        meta = metadata(about)
        regarding |= {"uid": meta.get("uid"), "apiVersion": about.get("apiVersion")}
        regarding["fieldPath"] = news.field_path
        regarding["resourceVersion"] = meta.get("resourceVersion")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "involvedObject": {key: value for key, value in regarding.items() if value},
            "reason": news.reason,
            "message": news.message,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": news.kind,
        }


def node_reference(node: Object) -> Object:
    """A node as its events name it."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name_of(node), "uid": uid_of(node)}}
