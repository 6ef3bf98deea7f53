"""Records Events about objects, as controllers do.

Upstream: k8s.io/client-go/tools/record, release 1.30.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from simkit.client.controller import Client
from simkit.client.event_limits import REMEMBERED, EventLimits, News
from simkit.client.event_names import EventNames
from simkit.client.lister import uid_of
from simkit.client.requests import path_of
from simkit.client.resources import EVENTS
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request
from simkit.meta.objects import Object, metadata, name_of, namespace_of


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
