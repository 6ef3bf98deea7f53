"""The watch cache: recent changes by resource, for all watchers of a store.

Upstream: k8s.io/apiserver/pkg/storage/cacher/watch_cache.go, release 1.30.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final
from weakref import WeakSet

from simkit.engine.storage.revision_log import PORTION, held_by
from simkit.engine.watch.watcher import EventBuffer, Notifiers, Watcher, WatchReader
from simkit.meta.names import GroupResource, Revision
from simkit.seams import Change, ChangeLog, Compacted

SWEEP: Final = 1024
"""The number of changes after which every buffer drops those that the store has compacted."""


class WatchCache:
    """The recent changes of a store by resource.

    Nothing is queued for a watcher: each has a position in a shared buffer.

    Notes
    -----
    A change costs the same whatever the number of watchers: it is appended to the ring of its resource, and each
    waker (one for each event loop, one for each thread that waits) with a watcher of that resource is called at most
    once until one of its watchers reads again. A read costs O(log changes + changes since the last one).

    Examples
    --------
    >>> from simkit.engine.storage.memory import MemoryStore
    >>> from simkit.meta.clock import SimulatedClock
    >>> from simkit.meta.names import Key
    >>> store, pods = MemoryStore(SimulatedClock()), GroupResource("", "pods")
    >>> cursor = WatchCache(store).watch(pods, namespace="default", after=store.revision)
    >>> _ = store.put(Key(pods, "default", "a"), {}, expect=None)
    >>> [change.type for change in cursor.poll()]
    ['ADDED']
    """

    def __init__(self, store: ChangeLog) -> None:
        self._store = store
        self._rings: dict[GroupResource, EventBuffer] = {}
        self._wakers = Notifiers()
        self._since_sweep = self._bytes_since = 0
        self._lock = threading.Lock()  # a writer in the store takes it to tell us; the store is only read under it
        self._watchers: WeakSet[Watcher] = WeakSet()
        self._stop = store.listen(self._hear)
        with self._lock:
            self._start = self.revision = store.oldest
            self._take(list(store.changes(after=self._start)))

    def __repr__(self) -> str:
        return f"<Hub of {len(self._rings)} resources at {self.revision}>"

    @property
    def oldest(self) -> Revision:
        """The oldest revision from which a watch can start."""
        return max(self._start, self._store.oldest)

    def watch(
        self,
        resource: GroupResource,
        namespace: str | None = None,
        name: str | None = None,
        *,
        after: Revision,
        reader: WatchReader | None = None,
    ) -> Watcher:
        """A watcher of the changes of a resource after a revision, in one namespace or of one name if given.

        ``reader`` says who reads it, and which objects its selectors match.

        Raises Compacted where the changes after the revision are not all known any more. A revision that has not
        come yet is waited for.
        """
        if after < (oldest := self.oldest):
            raise Compacted(after, oldest)
        watcher = Watcher(self, self._wakers, resource, namespace, name, after, reader)
        with self._lock:
            self._watchers.add(watcher)
        return watcher

    def informed_of(self, change: Change) -> list[Watcher]:
        """The open watchers that get a change; one with selectors gets it where the object matched or matches now.

        O(watchers).
        """
        with self._lock:
            watchers = list(self._watchers)
        return [each for each in watchers if not each.closed and each.gets(change)]

    def begin(self, revision: Revision) -> None:
        """Refuse watches from before a revision, since the cache of a started server was listed at that one."""
        with self._lock:
            self._start = max(self._start, revision)

    def buffer(self, resource: GroupResource) -> EventBuffer:
        """The recent changes of a resource."""
        ring = self._rings.get(resource)
        return ring if ring is not None else self._rings.setdefault(resource, EventBuffer(self._start))

    def close(self) -> None:
        """Stop listening to the store; the watchers keep what there is."""
        self._stop()

    def _hear(self, changes: Sequence[Change]) -> None:
        """Take the store's changes, or an empty batch after a compaction."""
        with self._lock:
            heard = self._take(changes)
            if not changes:
                self._drop(at_once=True)
        self._wakers.notify(heard)

    def _take(self, changes: Sequence[Change]) -> set[GroupResource]:
        """Append changes to their buffers; returns the resources with news."""
        if len(changes) == 1:  # the usual case
            change = changes[0]
            if change.entry.revision <= self.revision:
                return set()
            resource = change.entry.key.resource
            self.buffer(resource).append(change)
            self.revision = change.entry.revision
            self._sweep(1, held_by(change))
            return {resource}
        fresh = [change for change in changes if change.revision > self.revision]
        for change in fresh:
            self.buffer(change.entry.key.resource).append(change)
        if fresh:
            self.revision = fresh[-1].revision
            self._sweep(len(fresh), sum(map(held_by, fresh)))
        return {change.entry.key.resource for change in fresh}

    def _sweep(self, count: int, held: int) -> None:
        self._since_sweep += count
        self._bytes_since += held
        if self._since_sweep >= SWEEP or self._bytes_since > PORTION:
            self._drop(at_once=self._since_sweep < SWEEP)

    def _drop(self, *, at_once: bool = False) -> None:
        self._since_sweep = self._bytes_since = 0
        oldest = self._store.oldest
        for ring in list(self._rings.values()):
            ring.drop(oldest, at_once=at_once)
