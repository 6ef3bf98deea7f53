"""Records Events about objects, as controllers do.

Upstream: k8s.io/client-go/tools/record, release 1.30.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.client.controller import Client
from simkit.client.lister import uid_of
from simkit.client.requests import create, path_of
from simkit.client.resources import EVENTS
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request
from simkit.meta.objects import Object, metadata, name_of, namespace_of

REMEMBERED: Final = 4096
"""The number of different events, and of objects, that are remembered."""
_BURST: Final = 25.0
"""The number of events about one object that are written at once."""
_PER_SECOND: Final = 1 / 300
"""The events about one object that may be written in each second after that."""


class News(NamedTuple):
    """The facts that make two events the same: the object's uid, type, reason, message and the part of the object."""

    uid: str
    kind: str
    reason: str
    message: str
    field_path: str


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


class EventRecorder:
    """Records the Events of one controller. The same message about the same object raises the count of its Event.

    About one object it records 25 of them, and then one every five minutes.

    Notes
    -----
    What was told is remembered here only: a fork tells as if for the first time.
    """

    def __init__(self, clock: Clock, component: str) -> None:
        self._clock, self._component = clock, component
        self._told: OrderedDict[News, _RecordedEvent] = OrderedDict()
        self._allowed: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """The number of events about each object, by uid, that may still be written, and when that was counted."""
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
        if not self._allows(news.uid):
            return
        known = self._told.get(news)
        namespace = namespace_of(about) or "default"
        if known is not None and self._again(client, namespace, known):
            self._told.move_to_end(news)
            return
        name = self._names.create(client, namespace, name_of(about), self._event(about, news))
        if name is not None:
            self._told[news] = _RecordedEvent(name, 1)
            if len(self._told) > REMEMBERED:
                self._told.popitem(last=False)

    def _allows(self, uid: str) -> bool:
        now = self._clock.now()
        left, since = self._allowed.pop(uid, (_BURST, now))
        left = min(_BURST, left + max(0.0, now - since) * _PER_SECOND)
        self._allowed[uid] = (left - 1 if left >= 1 else left), now
        if len(self._allowed) > REMEMBERED:
            self._allowed.popitem(last=False)
        return left >= 1

    def _again(self, client: Client, namespace: str, known: _RecordedEvent) -> bool:
        known.count += 1
        change = {"count": known.count, "lastTimestamp": timestamp(self._clock.now())}
        path = path_of(EVENTS, namespace, known.name)
        content_type = "application/strategic-merge-patch+json"
        return client.perform(Request.of("PATCH", path, change, content_type=content_type)).succeeded

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
