"""The buffer of recent changes of one resource, shared by all its watchers.

Upstream: k8s.io/apiserver/pkg/storage/cacher/watch_cache.go, release 1.30.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from simkit.engine.seams import Change, Compacted
from simkit.meta.names import Revision

SLACK: Final = 256
"""Dropped changes are freed when there are this many of them, and at least a sixteenth of those that remain."""


class _Segment:
    """Changes with their revisions for searching. It only grows: readers keep the one they have."""

    __slots__ = ("changes", "revisions")

    def __init__(self, revisions: list[Revision], changes: list[Change]) -> None:
        self.revisions, self.changes = revisions, changes


class EventBuffer:
    """Recent changes of one resource. One thread appends and drops at a time; readers take no lock.

    ``dropped`` is the revision of the latest change that is no longer here.
    """

    __slots__ = ("_freed", "_segment", "dropped")

    def __init__(self, dropped: Revision) -> None:
        self.dropped = dropped
        self._segment = _Segment([], [])
        self._freed = 0

    def __len__(self) -> int:
        return len(self._segment.revisions)

    @property
    def received(self) -> int:
        """The number of all changes that came, dropped ones included."""
        return self._freed + len(self._segment.revisions)

    @property
    def latest(self) -> Revision:
        """The revision of the latest change."""
        revisions = self._segment.revisions
        return revisions[-1] if revisions else self.dropped

    def append(self, change: Change) -> None:
        """Append a change, which is younger than all others."""
        # The revision comes last: a reader takes only changes whose revision it has seen.
        self._segment.changes.append(change)
        self._segment.revisions.append(change.entry.revision)

    def drop(self, through: Revision, *, at_once: bool = False) -> None:
        """Drop the changes up to a revision, as soon as it is worth the copying, or at once."""
        segment = self._segment
        count = bisect_right(segment.revisions, through)
        left = len(segment.revisions) - count
        if count and (at_once or not left or count >= max(SLACK, left // 16)):
            # First say it: a reader looks at the changes, then whether some that it should have seen were dropped.
            self.dropped = segment.revisions[count - 1]
            self._freed += count
            self._segment = _Segment(segment.revisions[count:], segment.changes[count:])

    def between(self, after: Revision, through: Revision) -> list[Change]:
        """The changes after one revision up to another. Raises Compacted where some of them were dropped."""
        segment = self._segment
        first = bisect_right(segment.revisions, after)
        found = segment.changes[first : bisect_right(segment.revisions, through, first)]
        if after < self.dropped:
            raise Compacted(after, self.dropped)
        return found
