"""Watchers: what each has still to read of the shared events, and who wakes it."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

from simkit.meta.names import GroupResource, Revision
from simkit.seams import Change, Compacted, Entry

# The buffer of recent changes of one resource, shared by all its watchers.
# Upstream: k8s.io/apiserver/pkg/storage/cacher/watch_cache.go, release 1.30.

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

    __slots__ = ("_segment", "dropped")

    def __init__(self, dropped: Revision) -> None:
        self.dropped = dropped
        self._segment = _Segment([], [])

    def __len__(self) -> int:
        return len(self._segment.revisions)

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
            self._segment = _Segment(segment.revisions[count:], segment.changes[count:])

    def between(self, after: Revision, through: Revision) -> list[Change]:
        """The changes after one revision up to another. Raises Compacted where some of them were dropped."""
        segment = self._segment
        first = bisect_right(segment.revisions, after)
        found = segment.changes[first : bisect_right(segment.revisions, through, first)]
        if after < self.dropped:
            raise Compacted(after, self.dropped)
        return found


# Notification of event loops and threads, once per batch of changes

OnChange = Callable[[], None]
"""A callback in the writer's thread for possible news. It must return at once and must not write."""


class Notifier:
    """One callback. It is armed when a reader looks and fires once, so that a batch of writes calls it once."""

    __slots__ = ("armed", "news", "watchers")

    def __init__(self, news: OnChange) -> None:
        self.news, self.armed = news, True
        self.watchers: Counter[GroupResource] = Counter()

    def notify(self) -> None:
        """Call back, unless that was done since a reader last polled."""
        if self.armed:
            self.armed = False
            self.news()


class Notifiers:
    """The notifiers of a watch cache, by the resources that their watchers read."""

    def __init__(self) -> None:
        self._notifiers: dict[OnChange, Notifier] = {}
        self._by_resource: dict[GroupResource, tuple[Notifier, ...]] = {}
        self._lock = threading.Lock()

    def add(self, resource: GroupResource, news: OnChange) -> Notifier:
        """The notifier of a callback (equal callbacks share one), also for this resource."""
        with self._lock:
            notifier = self._notifiers.setdefault(news, Notifier(news))
            notifier.watchers[resource] += 1
            if notifier.watchers[resource] == 1:
                self._by_resource[resource] = (*self._by_resource.get(resource, ()), notifier)
        return notifier

    def remove(self, resource: GroupResource, notifier: Notifier) -> None:
        """Remove one watcher of the notifier on a resource."""
        with self._lock:
            notifier.watchers[resource] -= 1
            if notifier.watchers[resource]:
                return
            del notifier.watchers[resource]
            left = tuple(other for other in self._by_resource[resource] if other is not notifier)
            self._by_resource[resource] = left
            if not left:
                del self._by_resource[resource]
            if not notifier.watchers:
                del self._notifiers[notifier.news]

    def notify(self, resources: Iterable[GroupResource]) -> None:
        """Fire every notifier with a watcher on one of the resources."""
        for resource in resources:
            for notifier in self._by_resource.get(resource, ()):
                notifier.notify()


# One watcher: a position in the changes of one resource.
# Upstream: k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go, release 1.30.


class WatchSource(Protocol):
    """The part of a watch cache that a watcher reads."""

    @property
    def revision(self) -> Revision: ...

    def buffer(self, resource: GroupResource) -> EventBuffer: ...


@dataclass(frozen=True, slots=True)
class WatchReader:
    """The user of a watch, and whether its selectors match an object."""

    user: str
    matches: Callable[[Entry], bool]


class Watcher:
    """The changes of a resource after a position, which moves on as they are read. It belongs to one reader.

    ``revision`` is the place: everything up to it has been read or does not concern this cursor, so that it can be
    given out as a bookmark. A cursor is overtaken when changes that it has not read are let go: from then on it
    raises Compacted. Turning the clock alone does not do that: as with a real connection, what has happened since
    the watch began is delivered, unless the reader falls behind by more than the ring holds.
    """

    def __init__(
        self,
        source: WatchSource,
        wakers: Notifiers,
        resource: GroupResource,
        namespace: str | None,
        name: str | None,
        after: Revision,
        reader: WatchReader | None = None,
    ) -> None:
        self.reader = reader
        """Name of the user who reads it; None for a reader inside the server."""
        self.resource, self.namespace, self.name = resource, namespace, name
        self.revision = after
        self.closed = False
        self._source, self._wakers, self._ring = source, wakers, source.buffer(resource)
        self._mine: list[Notifier] = []
        self._event: threading.Event | None = None

    def __repr__(self) -> str:
        return f"<Cursor on {self.resource} at {self.revision}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pending(self) -> bool:
        """True if the resource changed after this place; a change of another namespace or name counts too."""
        return self._ring.latest > self.revision and not self.closed

    def poll(self, limit: int | None = None, room: int | None = None) -> list[Change]:
        """The next changes, oldest first, at most ``limit``; an empty list when there are none. Never blocks.

        ``room`` are bytes of objects after which no further change is taken.

        Raises Compacted when the cursor has been overtaken. Gives nothing after ``close``. Whoever is woken must
        poll until nothing is ``pending``: what a limit left over does not wake again.
        """
        if self.closed:
            return []
        for waker in self._mine:
            waker.armed = True  # before looking: what comes in between wakes again
        # The store's revision is read first: all changes up to it are in the ring by then.
        through = self._source.revision
        found = self._matching(through)
        most = len(found) if limit is None else limit
        if room is not None:
            most = min(most, _fitting(found, room))
        if len(found) > most:
            found = found[:most]
            through = found[-1].revision if found else self.revision
        self.revision = max(self.revision, through)
        return found

    def _matching(self, through: Revision) -> list[Change]:
        changes = self._ring.between(self.revision, through)
        if self.namespace is None and self.name is None:
            return changes
        return [change for change in changes if self._concerns(change)]

    def gets(self, change: Change) -> bool:
        """True if a change is sent to its reader."""
        if change.entry.key.resource != self.resource or not self._concerns(change):
            return False
        if self.reader is None:
            return True
        return self.reader.matches(change.entry) or (
            change.previous is not None and self.reader.matches(change.previous)
        )

    def _concerns(self, change: Change) -> bool:
        key = change.entry.key
        return self.namespace in (None, key.namespace) and self.name in (None, key.name)

    def wait(self, timeout: float | None = None) -> bool:
        """Block until there is something to poll (or to raise), at most the given seconds; True if there is.

        For readers with a thread of their own: an event loop uses ``on_change``.
        """
        if self._event is None:
            self._event = threading.Event()
            self.on_change(self._event.set)
        end = None if timeout is None else time.monotonic() + timeout
        while not self.closed:
            self._event.clear()
            for waker in self._mine:
                waker.armed = True
            if self._ready():
                return True
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            self._event.wait(left)
        return False

    def _ready(self) -> bool:
        """True if a poll would give or raise something; moves on over changes that do not concern this cursor."""
        through = self._source.revision
        try:
            found = self._matching(through)
        except Compacted:
            return True
        if found:
            return True
        self.revision = max(self.revision, through)
        return False

    def on_change(self, callback: OnChange) -> Callable[[], None]:
        """Register a callback, in the writer's thread, for when there may be something to poll; returns its removal.

        Cursors with equal callbacks share one waker: after a batch of writes it is called once, and not again before
        one of them has been polled. So an event loop registers the same callback for all of its cursors and, when
        it is called, polls those that are ``pending``.
        """
        waker = self._wakers.add(self.resource, callback)
        self._mine.append(waker)

        def stop() -> None:
            if waker in self._mine:
                self._mine.remove(waker)
                self._leave(waker)

        if self.pending:
            waker.notify()
        return stop

    def close(self) -> None:
        """Stop reading. A thread that waits for the watcher returns."""
        self.closed = True
        mine, self._mine = self._mine, []
        for waker in mine:
            self._leave(waker)
        if self._event is not None:
            self._event.set()

    def _leave(self, waker: Notifier) -> None:
        self._wakers.remove(self.resource, waker)
        waker.armed = True  # it may have fired for this cursor alone, and the others must not wait for its poll


def _fitting(changes: Sequence[Change], room: int) -> int:
    """The number of changes whose objects fit into some bytes, with the one that no longer does."""
    for number, change in enumerate(changes, start=1):
        room -= change.entry.size or (change.previous.size if change.previous is not None else 0)
        if room < 0:
            return number
    return len(changes)
