"""Debug pages of priority and fairness, under ``/debug/api_priority_and_fairness``.

References
----------
The documentation of flow control, section "Debug endpoints". Requests that have room belong to no queue here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.flowcontrol.priority_level import PriorityLevel, Ticket
from simkit.meta.names import GroupVersion

FOLDER: Final = "/debug/api_priority_and_fairness/"
_LEVELS: Final = (
    *("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests"),
    *("DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests"),
)
_QUEUES: Final = (
    *("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR"),
    *("InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"),
)
_REQUESTS: Final = (
    *("PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime"),
    *("InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"),
)
_DETAILS: Final = ("UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
_NARROWEST: Final = 8
_NEVER: Final = "0001-01-01T00:00:00Z"
_TURN: Final = 0.003
"""The assumed seconds of a request, by which the order of queues becomes one of work."""
Row = Sequence[str]


def page(control: FlowControl, name: str, *, details: bool = False) -> str | None:
    """A page by the end of its path; None if there is none.

    Parameters
    ----------
    details
        Whether requests are shown with who asks for what.
    """
    make = _PAGES.get(name)
    return None if make is None else control.look(lambda levels: aligned(make(control, _sorted(levels), details)))


def aligned(rows: Iterable[Row]) -> str:
    """Rows as lines, with comma-separated cells as wide as their columns.

    Examples
    --------
    >>> print(aligned([["Name", "N"], ["catch-all", "12"]]), end="")
    Name,      N
    catch-all, 12
    """
    cells = [[*(f"{cell}," for cell in row[:-1]), row[-1]] for row in rows]
    widths = [max(_NARROWEST, *(len(cell) + 1 for cell in column)) for column in zip(*cells, strict=True)]
    lines = (
        "".join(cell.ljust(width) for cell, width in zip(row, widths[:-1], strict=False)) + row[-1] for row in cells
    )
    return "".join(f"{line}\n" for line in lines)


def _sorted(levels: Mapping[str, PriorityLevel]) -> Sequence[PriorityLevel]:
    return [levels[name] for name in sorted(levels)]


def _levels(control: FlowControl, levels: Sequence[PriorityLevel], details: bool) -> Iterator[Row]:
    yield _LEVELS
    for level in levels:
        active = sum(bool(queue.waiting) for _, queue in level.queues.each()) if level.queues else 0
        idle = not (level.running or level.waiting)
        dispatched = sum(count for labels, count in control.dispatched.items() if labels[0] == level.name)
        counts = [active, _word(idle), _word(not level.known), level.waiting, len(level.running), dispatched]
        refused = [
            sum(count for (name, _, why), count in control.rejected.items() if name == level.name and why in reasons)
            for reasons in (("queue-full", "concurrency-limit"), ("time-out",), ("cancelled",))
        ]
        yield [level.name, *map(str, counts), *map(str, refused)]


def _word(value: bool) -> str:
    return "true" if value else "false"


def _queues(control: FlowControl, levels: Sequence[PriorityLevel], details: bool) -> Iterator[Row]:
    yield _QUEUES
    for level in levels:
        for number, queue in level.queues.each() if level.queues else ():
            start = queue.waiting[0][0] if queue.waiting else queue.finish
            sums = [f"{start * _TURN:.8f}ss", queue.seats, queue.seats, f"{queue.seats * _TURN:.8f}ss"]
            yield [level.name, *map(str, (number, len(queue.waiting), 0, 0)), *map(str, sums)]


def _requests(control: FlowControl, levels: Sequence[PriorityLevel], details: bool) -> Iterator[Row]:
    yield (*_REQUESTS, *_DETAILS) if details else _REQUESTS
    for level in levels:
        places = [(-1, -1, ticket) for ticket in level.running]
        for number, queue in level.queues.each() if level.queues else ():
            places += [(number, index, ticket) for index, (_, _, ticket) in enumerate(queue.waiting)]
        for number, index, ticket in places:
            row = [level.name, ticket.flow.schema.name, str(number), str(index), ticket.flow.distinguisher]
            row += [_moment(ticket.arrived), str(ticket.seats), "0", "0s", _moment(ticket.started)]
            yield [*row, *_detailed(ticket)] if details else row


def _detailed(ticket: Ticket) -> Row:
    info, identity = ticket.context.info, ticket.context.actor()
    version = str(GroupVersion(info.group, info.version)) if info.is_resource else ""
    path = (info.path, info.namespace, info.name, version, info.resource, info.subresource)
    return [identity.user, info.verb, *path]


def _moment(seconds: float | None) -> str:
    """A time with fractions of a second, without trailing zeros."""
    if seconds is None:
        return _NEVER
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return f"{text.rstrip('0').rstrip('.')}Z"


_PAGES: Final[Mapping[str, Callable[[FlowControl, Sequence[PriorityLevel], bool], Iterator[Row]]]] = {
    "dump_priority_levels": _levels,
    "dump_queues": _queues,
    "dump_requests": _requests,
}
