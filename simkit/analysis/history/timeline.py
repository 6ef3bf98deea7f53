"""The states of each object between the moments at which something is known of it."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from simkit.analysis.history.writes import UNKNOWN, RecordedWrite, State, deleted, patched, seconds_of
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, metadata

NEAR: Final = 300.0
"""Seconds before the first or after the last event of a log within which a dump counts as covered by it."""

_ROUNDED: Final = 1.0
"""Seconds by which the moment of a creation in the log may differ from the one that the object tells."""


@dataclass(frozen=True, slots=True)
class DumpedMoment:
    """The objects of a dump at a moment, in seconds since the epoch."""

    time: float
    objects: Mapping[Key, Object]
    captured: frozenset[GroupResource]


@dataclass(frozen=True, slots=True)
class Point:
    """What is known of one object at one moment: its state just before and just after."""

    time: float
    before: State
    after: State
    write: RecordedWrite | None = None
    knows_before: bool = True
    """False if the moment says nothing of the state before it."""


@dataclass(frozen=True)
class Timeline:
    """What is known of all objects over time.

    Attributes
    ----------
    points
        The points of each object, in order.
    dumps
        The moments at which everything is known.
    covered
        The first and the last moment between which every write is in the log; None without a log.
    """

    points: Mapping[Key, Sequence[Point]]
    dumps: tuple[DumpedMoment, ...]
    covered: tuple[float, float] | None
    _times: dict[Key, list[float]] = field(default_factory=dict, repr=False)

    def is_covered(self, time: float) -> bool:
        """True if a moment is that of a dump, or between moments of the log."""
        inside = self.covered is not None and self.covered[0] <= time <= self.covered[1]
        return inside or any(one.time == time for one in self.dumps)

    def state(self, key: Key, time: float) -> State:
        """The state of an object at a moment that is covered, after what happened at that moment."""
        points = self.points.get(key, ())
        times = self._times.setdefault(key, [point.time for point in points])
        place = bisect.bisect_right(times, time)
        earlier = points[place - 1] if place else None
        if earlier is not None and earlier.after is not UNKNOWN and self._runs(earlier.time, time):
            return earlier.after
        later = points[place] if place < len(points) else None
        if later is not None and later.knows_before and self._runs(time, later.time):
            return later.before
        return UNKNOWN

    def is_complete(self, resource: GroupResource, time: float) -> bool:
        """True if all objects of a resource are known at a moment, from a dump and what was written since or before."""
        return any(
            resource in dump.captured and self._runs(min(dump.time, time), max(dump.time, time)) for dump in self.dumps
        )

    def _runs(self, start: float, end: float) -> bool:
        return _holds(self.covered, start, end)

    def writes(self) -> Iterator[RecordedWrite]:
        """The writes, oldest first."""
        found = (point.write for points in self.points.values() for point in points if point.write is not None)
        yield from sorted(found, key=lambda write: write.time)


def timeline_of(
    dumps: Iterable[DumpedMoment], writes: Iterable[RecordedWrite], covered: tuple[float, float] | None
) -> Timeline:
    """The timeline of dumps and the writes of a log that holds all writes between two moments."""
    ordered = tuple(sorted(dumps, key=lambda dump: dump.time))
    logged = sorted(writes, key=lambda write: write.time)
    if covered is not None:
        covered = _extended(covered, ordered)
    keys = {key for dump in ordered for key in dump.objects} | {write.key for write in logged if write.key.name}
    unnamed = {write.key for write in logged if write.unnamed}
    by_key: dict[Key, list[Point]] = {key: _of_dumps(key, ordered, unnamed=key in unnamed) for key in keys}
    for write in logged:
        for key in [write.key] if write.key.name else _of_collection(write, keys):
            by_key[key].append(_of_write(write))
    if covered is not None:
        for dump in ordered:
            for key, obj in dump.objects.items():
                by_key[key].extend(_creation(obj, dump.time, covered, by_key[key]))
    return Timeline({key: _completed(points, covered) for key, points in by_key.items()}, ordered, covered)


def _extended(covered: tuple[float, float], dumps: Sequence[DumpedMoment]) -> tuple[float, float]:
    """The span of the log, up to dumps that were made shortly before or after it."""
    start, end = covered
    for dump in dumps:
        if start - NEAR <= dump.time <= end + NEAR:
            start, end = min(start, dump.time), max(end, dump.time)
    return start, end


def _of_dumps(key: Key, dumps: Iterable[DumpedMoment], *, unnamed: bool) -> list[Point]:
    """What dumps tell of an object; an unnamed one has another name in them."""
    found = []
    for dump in dumps:
        if key.resource in dump.captured:
            state = dump.objects.get(key)
            found.append(Point(dump.time, state, state, knows_before=not unnamed))
    return found


def _of_collection(write: RecordedWrite, keys: Iterable[Key]) -> list[Key]:
    """The objects that a deletion of many may have deleted."""
    where = write.key
    return [key for key in keys if key.resource == where.resource and key.namespace == where.namespace]


def _creation(obj: Object, dumped: float, covered: tuple[float, float], points: Iterable[Point]) -> Iterator[Point]:
    """The creation of a dumped object that the log does not name, as where its name was generated."""
    time = seconds_of(metadata(obj).get("creationTimestamp"))
    if time is None or not covered[0] < time < dumped or dumped > covered[1]:
        return
    logged = (point.time for point in points if point.write is not None and point.write.created)
    if not any(abs(moment - time) <= _ROUNDED for moment in logged):
        yield Point(time, None, UNKNOWN)


def _of_write(write: RecordedWrite) -> Point:
    if write.created:
        return Point(write.time, None, write.after, write)
    return Point(write.time, UNKNOWN, write.after, write, knows_before=False)


def _completed(points: list[Point], covered: tuple[float, float] | None) -> tuple[Point, ...]:
    """The points in order, with patches and deletions applied to what was known before them."""
    ordered = sorted(points, key=lambda point: (point.time, point.write is None))
    found: list[Point] = []
    for point in ordered:
        write = point.write
        if write is not None and write.after is UNKNOWN and found and _holds(covered, found[-1].time, point.time):
            before = found[-1].after
            if write.patch is not None:
                point = replace(point, after=patched(before, write.patch))
            elif write.verb == "delete":
                point = replace(point, after=deleted(before))
        found.append(point)
    return tuple(found)


def _holds(covered: tuple[float, float] | None, start: float, end: float) -> bool:
    """True if every write between two moments would be in a log that covers this time."""
    return start == end or (covered is not None and covered[0] <= start and end <= covered[1])
