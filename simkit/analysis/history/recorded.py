"""The events of an audit log as questions about the past read them: the writes, and the permissions that were used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, Protocol

from simkit.analysis.audit_log.events import FirstStage
from simkit.analysis.history.timeline import RecordedWrite, event_time, seconds_of, writes_of
from simkit.analysis.least_privilege.audit_events import access_requests_of
from simkit.analysis.rbac.subject import text_of_identity
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object


class Use(NamedTuple):
    """One request that was allowed: the subject, and the permission that it needed.

    ``resource`` is written with its subresource: ``pods/exec``.
    """

    time: float
    subject: str
    verb: str
    resource: str


class RecordedEvents(Protocol):
    """What an audit log tells of the past.

    An implementation must give writes in the order of the log, and must leave none out.
    """

    @property
    def span(self) -> tuple[float, float] | None:
        """The moments of the first and of the last event; None for a log without any."""
        ...

    def writes(self, resources: Collection[GroupResource] | None = None) -> Iterator[RecordedWrite]:
        """The successful writes to objects of these resources; None: to all objects."""
        ...

    def uses(self, subject: str, verb: str, resource: str) -> list[float]:
        """The moments at which a subject used a permission."""
        ...


class ListedEvents:
    """The events of an audit log in memory."""

    def __init__(self, events: Iterable[Object]) -> None:
        self._events = list(events)
        self.span = span_of(filter(None, map(event_time, self._events)))

    def writes(self, resources: Collection[GroupResource] | None = None) -> Iterator[RecordedWrite]:
        """The successful writes."""
        found = writes_of(self._events)
        return found if resources is None else (write for write in found if write.key.resource in resources)

    def uses(self, subject: str, verb: str, resource: str) -> list[float]:
        """The moments at which a subject used a permission."""
        first = FirstStage()
        found = (use for event in self._events for use in uses_of(event, first))
        return [use.time for use in found if use[1:] == (subject, verb, resource)]


def uses_of(event: Object, first: FirstStage) -> Iterator[Use]:
    """The permissions on resources that an event shows in use; those of a request once, whatever its stages."""
    time = seconds_of(event.get("requestReceivedTimestamp") or event.get("stageTimestamp"))
    if time is None or event.get("stage") == "RequestReceived" or not first(event):
        return
    for use in access_requests_of(event):
        action = use.action
        if use.allowed and action.resource and (use.identity.user or use.identity.groups):
            resource = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
            yield Use(time, text_of_identity(use.identity), action.verb, resource)


def span_of(times: Iterable[float]) -> tuple[float, float] | None:
    """The earliest and the latest moment."""
    first, last = float("inf"), -float("inf")
    for time in times:
        first, last = min(first, time), max(last, time)
    return (first, last) if first <= last else None
