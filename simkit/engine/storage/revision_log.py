"""The history of a store: its changes by revision, from which earlier states are restored.

Changes stand in chapters. A chapter keeps the state in which it began, so a state is found by going at most half a
chapter forwards from a beginning or backwards from the next::

    chapter from 1                chapter from 513
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

from simkit.engine.seams import Change, Compacted
from simkit.engine.storage.state import State
from simkit.meta.names import Revision

LENGTH: Final = 512
"""Changes per chapter: more make old states slower to restore, fewer keep more copies of blocks alive."""

REMEMBERED: Final = 4
"""The number of restored states that are cached, since a paged list reads the same one repeatedly."""


class _Chapter:
    """Consecutive changes with their revisions and times, and the state before the first of them."""

    __slots__ = ("changes", "revisions", "state", "times")

    def __init__(self, state: State) -> None:
        self.state = state
        self.changes: list[Change] = []
        self.revisions = array("q")
        self.times = array("d")

    @property
    def start(self) -> Revision:
        return self.state.revision

    def append(self, change: Change, now: float) -> None:
        """Take in the next change. Its revision comes last: a reader takes only changes whose revision it has seen."""
        self.changes.append(change)
        self.times.append(now)
        self.revisions.append(change.revision)

    def count(self, through: Revision) -> int:
        """The number of its changes up to a revision."""
        return bisect_right(self.revisions, through)


class RevisionLog:
    """All changes of a store that are not compacted. One thread writes at a time; readers take no lock."""

    def __init__(self, state: State) -> None:
        self._chapters: tuple[_Chapter, ...] = (_Chapter(state),)
        self._floor = state.revision
        self._remembered: tuple[State, ...] = ()

    @classmethod
    def restored(cls, current: State, changes: Sequence[Change], times: Sequence[float]) -> RevisionLog:
        """The log of a reopened store: its last changes, oldest first, with their times."""
        chapters: list[_Chapter] = []
        state, end = current, len(changes)
        while end:
            start = (end - 1) // LENGTH * LENGTH
            state = _undone(state, changes[start:end])
            chapter = _Chapter(state)
            for change, moment in zip(changes[start:end], times[start:end], strict=True):
                chapter.append(change, moment)
            chapters.append(chapter)
            end = start
        log = cls(state)
        if chapters:
            log._chapters = tuple(reversed(chapters))
        return log

    def append(self, change: Change, now: float, before: State, cutoff: float) -> None:
        """Append a change, with its time and state; compact what was superseded before ``cutoff``."""
        chapter = self._chapters[-1]
        if len(chapter.changes) >= LENGTH and chapter.revisions[-1] < change.revision:
            chapter = _Chapter(before)
            self._chapters = (*self._chapters, chapter)
            self._forget(self.oldest(cutoff))
        chapter.append(change, now)

    def oldest(self, cutoff: float) -> Revision:
        """The latest revision at a time, or the oldest available one if that is later."""
        chapters = self._chapters
        index = bisect_right(chapters, cutoff, key=_first_time) - 1
        if index < 0:
            return self._floor
        chapter = chapters[index]
        count = bisect_right(chapter.times, cutoff)
        return max(self._floor, Revision(chapter.revisions[count - 1]) if count else chapter.start)

    def compact(self, through: Revision, current: State) -> None:
        """Compact the states before a revision."""
        self._floor = max(self._floor, through)
        if self._floor == current.revision:
            self._chapters, self._remembered = (_Chapter(current),), ()
        else:
            self._forget(self._floor)

    def _forget(self, oldest: Revision) -> None:
        keep = max(bisect_right(self._chapters, oldest, key=_start) - 1, 0)
        if keep:
            self._chapters = self._chapters[keep:]
            self._floor = max(self._floor, self._chapters[0].start)
            self._remembered = ()

    def between(self, after: Revision, through: Revision) -> Iterator[Change]:
        """The changes after one revision up to another, oldest first."""
        chapters = self._chapters
        first = _chapter_index(chapters, after)
        return _slices(chapters[first:], after, through)

    def state_at(self, revision: Revision, current: State) -> State:
        """The state at an earlier revision. Raises Compacted if it is not available."""
        for state in self._remembered:
            if state.revision == revision:
                return state
        found = self._find(revision, current).labelled(revision)
        self._remembered = (found, *self._remembered[: REMEMBERED - 1])
        return found

    def _find(self, revision: Revision, current: State) -> State:
        chapters = self._chapters
        index = _chapter_index(chapters, revision)
        chapter = chapters[index]
        end = chapters[index + 1].state if index + 1 < len(chapters) else current
        steps, last = chapter.count(revision), chapter.count(end.revision)
        if steps <= last - steps:
            return _made(chapter.state, chapter.changes[:steps])
        return _undone(end, chapter.changes[steps:last])


def _start(chapter: _Chapter) -> Revision:
    return chapter.start


def _first_time(chapter: _Chapter) -> float:
    return chapter.times[0] if chapter.times else float("inf")


def _chapter_index(chapters: Sequence[_Chapter], revision: Revision) -> int:
    index = bisect_right(chapters, revision, key=_start) - 1
    if index < 0:
        raise Compacted(revision, chapters[0].start)
    return index


def _slices(chapters: Sequence[_Chapter], after: Revision, through: Revision) -> Iterator[Change]:
    for chapter in chapters:
        yield from chapter.changes[chapter.count(after) : chapter.count(through)]


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
