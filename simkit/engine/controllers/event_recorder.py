"""Records Events about objects, as controllers do.

Upstream: k8s.io/client-go/tools/record, release 1.30.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from simkit.engine.controllers.client_requests import create, path_of
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.resources import EVENTS
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request
from simkit.meta.objects import Object, metadata, name_of, namespace_of

_LOG: Final = logging.getLogger("simkit.controllers")
_REMEMBERED: Final = 4096
"""The number of different events that are remembered."""
_TRIES: Final = 1000
"""The number of events of an object that may have the same moment in their names."""
_NANOS: Final = 1_000_000_000

_News = tuple[str, str, str, str, str]
"""The object's uid, type, reason, message and the part of it: what makes two events the same news."""


@dataclass(slots=True)
class _RecordedEvent:
    """An event that was written."""

    name: str
    count: int


class EventRecorder:
    """Records the Events of one controller. The same message about the same object raises the count of its Event.

    Notes
    -----
    What was told is remembered here only: a fork tells as if for the first time. kube-apiserver's limits on how
    often one controller may speak of one object are left out.
    """

    def __init__(self, clock: Clock, component: str) -> None:
        self._clock, self._component = clock, component
        self._told: OrderedDict[_News, _RecordedEvent] = OrderedDict()
        self._last: OrderedDict[tuple[str, str], int] = OrderedDict()
        """The moment in the name of the last event about each object: while the clock stands still, names do not."""

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
        news = (metadata(about).get("uid") or "", kind, reason, message, field_path)
        known = self._told.get(news)
        namespace = namespace_of(about) or "default"
        if known is not None and self._again(client, namespace, known):
            self._told.move_to_end(news)
            return
        told = self._first(client, namespace, about, news)
        if told is not None:
            self._told[news] = told
            if len(self._told) > _REMEMBERED:
                self._told.popitem(last=False)

    def _again(self, client: Client, namespace: str, known: _RecordedEvent) -> bool:
        known.count += 1
        change = {"count": known.count, "lastTimestamp": timestamp(self._clock.now())}
        path = path_of(EVENTS, namespace, known.name)
        content_type = "application/strategic-merge-patch+json"
        return client.perform(Request.of("PATCH", path, change, content_type=content_type)).succeeded

    def _first(self, client: Client, namespace: str, about: Object, news: _News) -> _RecordedEvent | None:
        whose = (namespace, name_of(about))
        first = max(int(self._clock.now() * _NANOS), self._last.pop(whose, -1) + 1)
        for moment in range(first, first + _TRIES):
            name = f"{name_of(about)}.{moment:x}"
            response = create(client, EVENTS, namespace, self._event(about, news, namespace, name))
            if response.succeeded:
                self._last[whose] = moment
                if len(self._last) > _REMEMBERED:
                    self._last.popitem(last=False)
                return _RecordedEvent(name, 1)
            if response.status != 409:
                _LOG.debug("event %s in %s: %s", name, namespace, response.body)
                return None
        return None

    def _event(self, about: Object, news: _News, namespace: str, name: str) -> dict[str, Any]:
        _, kind, reason, message, field_path = news
        now = timestamp(self._clock.now())
        regarding = {"kind": about.get("kind"), "namespace": namespace_of(about), "name": name_of(about)}
        meta = metadata(about)
        regarding |= {"uid": meta.get("uid"), "apiVersion": about.get("apiVersion")}
        regarding["fieldPath"] = field_path
        regarding["resourceVersion"] = meta.get("resourceVersion")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {key: value for key, value in regarding.items() if value},
            "reason": reason,
            "message": message,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
        }
