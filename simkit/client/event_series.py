"""Records Events in the newer form: with an action, and a series for what happens again.

Upstream: k8s.io/client-go/tools/events, release 1.30.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.client.controller import Client
from simkit.client.event_recorder import REMEMBERED, EventNames
from simkit.client.requests import path_of
from simkit.client.resources import EVENTS
from simkit.meta.clock import Clock, micro_time
from simkit.meta.message import Request
from simkit.meta.objects import Object, metadata, name_of, namespace_of

_ENDS_AFTER: Final = 360.0
"""Seconds after which something that happens again is new."""
_TOLD_AFTER: Final = 1800.0
"""Seconds after which the number of a series that goes on is written again."""
_MERGE: Final = "application/merge-patch+json"
_FORGETS_EVERY: Final = 1.0
"""Seconds between two looks for series that have ended: there may be thousands."""


class SeriesEvent(NamedTuple):
    """The facts of one event; those with equal ones are a series, whatever their notes say."""

    reason: str
    action: str
    warning: bool = False


@dataclass(slots=True)
class _Series:
    """An event that was written, how often it was seen, and what was written of that."""

    namespace: str
    name: str
    last: float
    written: float
    count: int = 1
    told: int = 1

    @property
    def due(self) -> float:
        """The time of the next step: the end, or that the number has to be written again."""
        end = self.last + _ENDS_AFTER
        return end if self.told == self.count else min(end, self.written + _TOLD_AFTER)


class EventSeriesRecorder:
    """Records the Events of one component. The second one of a series is written; the number of the others later.

    Parameters
    ----------
    component
        The name of the component. Its instance is on a host named ``host``.
    """

    def __init__(self, clock: Clock, component: str, host: str) -> None:
        self._clock, self._component, self._instance = clock, component, f"{component}-{host}"
        self._known: OrderedDict[tuple[Any, ...], _Series] = OrderedDict()
        self._untold: dict[tuple[Any, ...], _Series] = {}
        """Those of them whose number has still to be written."""
        self._forgotten = 0.0
        """The time of the last look at the others for series that have ended."""
        self._names = EventNames(clock)

    @property
    def next_time(self) -> float | None:
        """The time at which the number of a series has to be written."""
        return min((each.due for each in self._untold.values()), default=None)

    def event(
        self, client: Client, about: Object, event: SeriesEvent, note: str, *, related: Object | None = None
    ) -> None:
        """Write an event about an object. That it cannot be written, as in a namespace that goes, harms nothing."""
        self.finish(client)
        now = self._clock.now()
        regarding = _reference(about)
        key = (event, *regarding.values(), *(_reference(related).values() if related else ()))
        known = self._known.get(key)
        if known is None or known.last + _ENDS_AFTER <= now:
            self._known.pop(key, None)
            self._first(client, key, regarding, self._made(event, regarding, note, related))
            return
        known.count, known.last = known.count + 1, now
        if known.count == 2:
            self._write_count(client, known)
        else:
            self._untold[key] = known

    def finish(self, client: Client) -> None:
        """Write the numbers of the series that have ended or went on for long; forget what has ended."""
        now = self._clock.now()
        for key, series in [each for each in self._untold.items() if each[1].due <= now]:
            del self._untold[key]
            self._write_count(client, series)
        if now >= self._forgotten + _FORGETS_EVERY:
            self._forgotten = now
            for key in [key for key, series in self._known.items() if series.last + _ENDS_AFTER <= now]:
                del self._known[key]

    def _first(self, client: Client, key: tuple[Any, ...], regarding: dict[str, str], made: dict[str, Any]) -> None:
        namespace = regarding.get("namespace") or "default"
        name = self._names.create(client, namespace, regarding.get("name", ""), made)
        if name is None:
            return
        self._known[key] = _Series(namespace, name, self._clock.now(), self._clock.now())
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _write_count(self, client: Client, series: _Series) -> None:
        series.told, series.written = series.count, self._clock.now()
        change = {"series": {"count": series.count, "lastObservedTime": micro_time(series.last)}}
        path = path_of(EVENTS, series.namespace, series.name)
        client.perform(Request.of("PATCH", path, change, content_type=_MERGE))

    def _made(self, event: SeriesEvent, regarding: dict[str, str], note: str, related: Object | None) -> dict[str, Any]:
        made = {
            "apiVersion": "v1",
            "kind": "Event",
            "involvedObject": regarding,
            "eventTime": micro_time(self._clock.now()),
            "reason": event.reason,
            "action": event.action,
            "message": note,
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "type": "Warning" if event.warning else "Normal",
        }
        return made if related is None else {**made, "related": _reference(related)}


def _reference(about: Object) -> dict[str, str]:
    meta = metadata(about)
    found = {
        "kind": about.get("kind"),
        "namespace": namespace_of(about),
        "name": name_of(about),
        "uid": meta.get("uid"),
        "apiVersion": about.get("apiVersion"),
        "resourceVersion": meta.get("resourceVersion"),
    }
    return {key: value for key, value in found.items() if value}
