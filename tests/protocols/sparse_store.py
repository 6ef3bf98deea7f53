"""A store whose revisions have gaps and whose entries are made anew at every read, as those of a store elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object, metadata
from simkit.seams import ABSENT, Change, Compacted, Entry, Future, Stale, Store

STEP: Final = 3
"""How far apart two revisions are."""


class SparseStore:
    """Another store with its revisions spread: those after the first one are ``STEP`` apart."""

    leaves_process: Final = False
    number_ranges: Final = None

    def __init__(self, inner: Store) -> None:
        self._inner, self._first, self._floor = inner, inner.revision, Revision(0)

    def _out(self, revision: Revision) -> Revision:
        return Revision(self._first + max(revision - self._first, 0) * STEP + min(revision - self._first, 0))

    def _in(self, revision: Revision) -> Revision:
        """The inner revision of which a revision shows the state."""
        ahead = revision - self._first
        return Revision(self._first + (ahead // STEP if ahead > 0 else ahead))

    def _at(self, revision: Revision | None) -> Revision | None:
        return None if revision is None else self._reachable(revision)

    def _reachable(self, revision: Revision) -> Revision:
        if revision > self.revision:
            raise Future(revision, self.revision)
        if revision < (oldest := self.oldest):
            raise Compacted(revision, oldest)
        return self._in(revision)

    def _entry(self, entry: Entry) -> Entry:
        revision = self._out(entry.revision)
        if revision == entry.revision:
            return Entry(entry.key, revision, entry.object)
        stamped = {**entry.object, "metadata": {**metadata(entry.object), "resourceVersion": str(revision)}}
        return Entry(entry.key, revision, stamped)

    def _change(self, change: Change) -> Change:
        previous = self._entry(change.previous) if change.previous else None
        return Change(change.type, self._entry(change.entry), previous)

    def _expected(self, expect: Revision | None) -> Revision | None:
        if expect is None or expect == ABSENT:
            return expect
        inner = self._in(expect)
        return inner if self._out(inner) == expect else Revision(0)

    @property
    def revision(self) -> Revision:
        return self._out(self._inner.revision)

    @property
    def oldest(self) -> Revision:
        return max(self._out(self._inner.oldest), self._floor)

    def refresh(self) -> None:
        self._inner.refresh()

    def get(self, key: Key, *, at: Revision | None = None) -> Entry | None:
        entry = self._inner.get(key, at=self._at(at))
        return self._entry(entry) if entry is not None else None

    def scan(
        self,
        resource: GroupResource,
        namespace: str | None = None,
        *,
        at: Revision | None = None,
        after: Key | None = None,
        limit: int | None = None,
    ) -> Sequence[Entry]:
        found = self._inner.scan(resource, namespace, at=self._at(at), after=after, limit=limit)
        return [self._entry(entry) for entry in found]

    def count(self, resource: GroupResource) -> int:
        return self._inner.count(resource)

    def put(self, key: Key, value: Object, *, expect: Revision | None) -> Entry:
        try:
            return self._entry(self._inner.put(key, value, expect=self._expected(expect)))
        except Stale as stale:
            raise Stale(key, self._entry(stale.current) if stale.current else None) from stale

    def delete(self, key: Key, *, expect: Revision | None) -> Change:
        try:
            return self._change(self._inner.delete(key, expect=self._expected(expect)))
        except Stale as stale:
            raise Stale(key, self._entry(stale.current) if stale.current else None) from stale

    def seed(self, objects: Iterable[tuple[Key, Object]]) -> None:
        if self._inner.revision != self._first:
            self._inner.seed(objects)  # refuses, or has nothing to do
            return
        self._inner.seed(objects)
        self._first = self._inner.revision

    def changes(self, *, after: Revision) -> Iterator[Change]:
        return map(self._change, self._inner.changes(after=self._reachable(after)))

    def listen(
        self, listener: Callable[[Sequence[Change]], None], resources: Collection[GroupResource] | None = None
    ) -> Callable[[], None]:
        return self._inner.listen(lambda changes: listener([self._change(change) for change in changes]), resources)

    def compact(self, *, through: Revision) -> None:
        if through > self.revision:
            raise Future(through, self.revision)
        self._floor = max(self._floor, through)
        self._inner.compact(through=self._in(through))

    def unreadable(self, resource: GroupResource, namespace: str | None = None) -> Sequence[Key]:
        return self._inner.unreadable(resource, namespace)

    def close(self) -> None:
        self._inner.close()

    def fork(self, *, clock: Clock | None = None) -> SparseStore:
        """A fork whose revisions go on from this one's; those that both share keep their numbers."""
        return _Forked(self, clock)


class _Forked(SparseStore):
    """A fork, which knows how the revisions of its origin were spread."""

    def __init__(self, origin: SparseStore, clock: Clock | None) -> None:
        self._inner, self._first, self._floor = origin._inner.fork(clock=clock), origin._first, Revision(0)
