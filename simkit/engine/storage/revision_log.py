"""The history of a store: its changes by revision, from which earlier states are restored.

Changes stand in segments. A segment keeps the state in which it began, so a state is found by going at most half a
segment forwards from a beginning or backwards from the next::

    segment from 1                segment from 513
    state 1, changes 2 to 513     state 513, changes 514 ...

    at 3   = state 1 with changes 2 and 3 made
    at 511 = state 513 with changes 513 and 512 undone

Revisions may have gaps, and several changes may share one, as where a lease of etcd ends: a state is searched by the
revisions that stand beside the changes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from simkit.engine.storage.state import State
from simkit.meta.names import Revision
from simkit.seams import Change, Compacted

LENGTH: Final = 512
"""Changes per segment: more make old states slower to restore, fewer keep more copies of blocks alive."""

MOST_BYTES: Final = 128 * 1024 * 1024
"""JSON of replaced and removed objects that is kept: a client that writes large objects again and again would fill all
memory within the time for which changes are kept. The objects take some times as much."""
PORTION: Final = MOST_BYTES // 8
"""Bytes of a segment, since whole segments are let go, and those after which buffers of watches let go too."""

REMEMBERED: Final = 4
"""The number of restored states that are cached, since a paged list reads the same one repeatedly."""


class _Segment:
    """Consecutive changes with their revisions and times, and the state before the first of them."""

    __slots__ = ("changes", "held", "revisions", "state", "times")

    def __init__(self, state: State) -> None:
        self.state = state
        self.held = 0
        """Bytes of the objects that only its changes still hold."""
        self.changes: list[Change] = []
        self.revisions = array("q")
        self.times = array("d")

    @property
    def start(self) -> Revision:
        return self.state.revision

    def append(self, change: Change, now: float) -> None:
        """Take in the next change. Its revision comes last: a reader takes only changes whose revision it has seen."""
        self.changes.append(change)
        self.held += held_by(change)
        self.times.append(now)
        self.revisions.append(change.entry.revision)

    def count(self, through: Revision) -> int:
        """The number of its changes up to a revision."""
        return bisect_right(self.revisions, through)


class RevisionLog:
    """All changes of a store that are not compacted. One thread writes at a time; readers take no lock."""

    def __init__(self, state: State) -> None:
        self._segments: tuple[_Segment, ...] = (_Segment(state),)
        self._floor = state.revision
        self._remembered: tuple[State, ...] = ()

    @classmethod
    def restored(cls, current: State, changes: Sequence[Change], times: Sequence[float]) -> RevisionLog:
        """The log of a reopened store: its last changes, oldest first, with their times."""
        segments: list[_Segment] = []
        state, end = current, len(changes)
        while end:
            start = (end - 1) // LENGTH * LENGTH
            state = _undone(state, changes[start:end])
            segment = _Segment(state)
            for change, moment in zip(changes[start:end], times[start:end], strict=True):
                segment.append(change, moment)
            segments.append(segment)
            end = start
        log = cls(state)
        if segments:
            log._segments = tuple(reversed(segments))
        return log

    def append(self, change: Change, now: float, before: State, cutoff: float) -> None:
        """Append a change, with its time and state; compact what was superseded before ``cutoff``."""
        segment = self._segments[-1]
        full = len(segment.changes) >= LENGTH or segment.held > PORTION
        if full and segment.revisions[-1] < change.revision:
            segment = _Segment(before)
            self._segments = (*self._segments, segment)
            self._forget(max(self.oldest(cutoff), self._oldest_that_fits()))
        segment.append(change, now)

    def _oldest_that_fits(self) -> Revision:
        """The revision from which on the changes hold no more bytes than are kept."""
        held = 0
        for segment in reversed(self._segments):
            held += segment.held
            if held > MOST_BYTES:
                return Revision(segment.revisions[-1])
        return self._floor

    def oldest(self, cutoff: float) -> Revision:
        """The latest revision at a time, or the oldest available one if that is later."""
        segments = self._segments
        index = bisect_right(segments, cutoff, key=lambda each: each.times[0] if each.times else float("inf")) - 1
        if index < 0:
            return self._floor
        segment = segments[index]
        count = bisect_right(segment.times, cutoff)
        return max(self._floor, Revision(segment.revisions[count - 1]) if count else segment.start)

    def compact(self, through: Revision, current: State) -> None:
        """Compact the states before a revision."""
        self._floor = max(self._floor, through)
        if self._floor == current.revision:
            self._segments, self._remembered = (_Segment(current),), ()
        else:
            self._forget(self._floor)

    def _forget(self, oldest: Revision) -> None:
        keep = max(bisect_right(self._segments, oldest, key=_start) - 1, 0)
        if keep:
            self._segments = self._segments[keep:]
            self._floor = max(self._floor, self._segments[0].start)
            self._remembered = ()

    def between(self, after: Revision, through: Revision) -> Iterator[Change]:
        """The changes after one revision up to another, oldest first."""
        segments = self._segments
        first = _chapter_index(segments, after)
        return _slices(segments[first:], after, through)

    def state_at(self, revision: Revision, current: State) -> State:
        """The state at an earlier revision. Raises Compacted if it is not available."""
        for state in self._remembered:
            if state.revision == revision:
                return state
        found = self._find(revision, current).labelled(revision)
        self._remembered = (found, *self._remembered[: REMEMBERED - 1])
        return found

    def _find(self, revision: Revision, current: State) -> State:
        segments = self._segments
        index = _chapter_index(segments, revision)
        segment = segments[index]
        end = segments[index + 1].state if index + 1 < len(segments) else current
        steps, last = segment.count(revision), segment.count(end.revision)
        if steps <= last - steps:
            return _made(segment.state, segment.changes[:steps])
        return _undone(end, segment.changes[steps:last])


def held_by(change: Change) -> int:
    """The bytes of the objects of a change that are in no later state."""
    gone = change.entry.size if change.type == "DELETED" else 0
    return gone + (change.previous.size if change.previous is not None else 0)


def _start(segment: _Segment) -> Revision:
    return segment.start


def _chapter_index(segments: Sequence[_Segment], revision: Revision) -> int:
    index = bisect_right(segments, revision, key=_start) - 1
    if index < 0:
        raise Compacted(revision, segments[0].start)
    return index


def _slices(segments: Sequence[_Segment], after: Revision, through: Revision) -> Iterator[Change]:
    for segment in segments:
        yield from segment.changes[segment.count(after) : segment.count(through)]


def _made(state: State, changes: Sequence[Change]) -> State:
    for change in changes:
        new = None if change.type == "DELETED" else change.entry
        state = state.replaced(change.revision, change.entry.key, change.previous, new)
    return state


def _undone(state: State, changes: Sequence[Change]) -> State:
    for change in reversed(changes):
        old = None if change.type == "DELETED" else change.entry
        state = state.replaced(Revision(change.revision - 1), change.entry.key, old, change.previous)
    return state
