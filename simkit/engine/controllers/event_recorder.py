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
from simkit.engine.controllers.event_limits import REMEMBERED, EventLimits, News
from simkit.engine.controllers.resources import EVENTS
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request
from simkit.meta.objects import Object, metadata, name_of, namespace_of

_LOG: Final = logging.getLogger("simkit.controllers")
_TRIES: Final = 1000
"""The number of events of an object that may have the same moment in their names."""
_NANOS: Final = 1_000_000_000


@dataclass(slots=True)
class _RecordedEvent:
    """An event that was written."""

    name: str
    count: int
    message: str


class EventRecorder:
    """Records the Events of one controller. The same message about the same object raises the count of its Event.

    Parameters
    ----------
    limited
        Whether many alike events are combined, and those about one object limited. The scheduler's are not.

    Notes
    -----
    What was told is remembered here only: a fork tells as if for the first time.
    """

    def __init__(self, clock: Clock, component: str, *, limited: bool = True) -> None:
        self._clock, self._component = clock, component
        self._limits = EventLimits() if limited else None
        self._told: OrderedDict[News, _RecordedEvent] = OrderedDict()
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
        news = News(metadata(about).get("uid") or "", kind, reason, message, field_path)
        passed = (news, news) if self._limits is None else self._limits.passed(news, self._clock.now())
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
        whose = (namespace, name_of(about))
        first = max(int(self._clock.now() * _NANOS), self._last.pop(whose, -1) + 1)
        for moment in range(first, first + _TRIES):
            name = f"{name_of(about)}.{moment:x}"
            response = create(client, EVENTS, namespace, self._event(about, news, namespace, name))
            if response.succeeded:
                self._last[whose] = moment
                if len(self._last) > REMEMBERED:
                    self._last.popitem(last=False)
                return _RecordedEvent(name, 1, news.message)
            if response.status != 409:
                _LOG.debug("event %s in %s: %s", name, namespace, response.body)
                return None
        return None

    def _event(self, about: Object, news: News, namespace: str, name: str) -> dict[str, Any]:
        now = timestamp(self._clock.now())
        regarding = {"kind": about.get("kind"), "namespace": namespace_of(about), "name": name_of(about)}
        meta = metadata(about)
        regarding |= {"uid": meta.get("uid"), "apiVersion": about.get("apiVersion")}
        regarding["fieldPath"] = news.field_path
        regarding["resourceVersion"] = meta.get("resourceVersion")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
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
