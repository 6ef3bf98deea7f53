"""One state of any store, held fast: it stays readable while the store changes and forgets."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Sequence

from simkit.engine.seams import Change, Compacted, Entry, Store
from simkit.engine.storage.layer import Cell, cell_of, covered, entry_of
from simkit.engine.storage.state import order
from simkit.engine.storage.table import Table
from simkit.meta.names import GroupResource, Key


class Pinned:
    """The state that a store has now, to be read for as long as the view is held.

    The view listens to the store and keeps what a change replaces, the first time that it is replaced. A read takes
    the store's state at the last change that was heard, and puts what was kept over it.

    Notes
    -----
    Made in constant time; holds as many entries as have been replaced since. The store only knows a weak reference:
    when the last holder drops the view, nothing is kept any more. A change that can be read but was not announced
    yet does no harm, since the store is not read at revisions that were not heard of.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[GroupResource, Table[Cell]] = {}
        self._added: Counter[GroupResource] = Counter()  # how many more there are in the store than in this state
        self._counts: dict[GroupResource, int] = {}
        self._early: list[Change] | None = []
        # A writer in the store takes the lock to tell us; under it the store is asked for nothing but its revision.
        self._lock = threading.Lock()
        # The interpreter may run a finalizer at any point of any thread, so stopping to listen must wait for nothing.
        weakref.finalize(self, store.listen(_teller(weakref.ref(self)))).atexit = False
        with self._lock:
            self.revision = self._heard = store.revision
            early, self._early = self._early, None
            self._keep(early)

    def _hear(self, changes: Sequence[Change]) -> None:
        with self._lock:
            if self._early is not None:
                self._early += changes
            else:
                self._keep(changes)

    def _keep(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.revision <= self._heard:
                continue
            key = change.entry.key
            table: Table[Cell] = self._kept.get(key.resource) or Table.of()
            if table.get(order(key)) is None:
                self._kept[key.resource] = table.put(order(key), cell_of(change.previous))
            self._added[key.resource] += (change.type == "ADDED") - (change.type == "DELETED")
            self._heard = change.revision

    def get(self, key: Key) -> Entry | None:
        try:
            entry = self._store.get(key, at=self._heard)
        except Compacted:
            entry = self._older(self._store.get(key))
        table = self._kept.get(key.resource)
        cell = table.get(order(key)) if table is not None else None
        return entry if cell is None else entry_of(cell)

    def _older(self, entry: Entry | None) -> Entry | None:
        """What is left of an entry of a store that was seeded after the view was made: not what the seed brought."""
        return entry if entry is not None and entry.revision <= self.revision else None

    def scan(
        self, resource: GroupResource, namespace: str | None, *, after: Key | None = None, limit: int | None = None
    ) -> Sequence[Entry]:
        def fetch(behind: Key | None, most: int | None) -> Sequence[Entry]:
            try:
                return self._store.scan(resource, namespace, at=self._heard, after=behind, limit=most)
            except Compacted:
                present = self._store.scan(resource, namespace, after=behind)
                return [entry for entry in present if self._older(entry)][:most]

        return covered(fetch, lambda: self._kept.get(resource), namespace, after, limit)

    def count(self, resource: GroupResource) -> int:
        """How many objects of a resource the state holds; only a count in the middle of a write has to list them."""
        if resource not in self._counts:
            self._counts[resource] = self._counted(resource)
        return self._counts[resource]

    def _counted(self, resource: GroupResource) -> int:
        heard, now, added = self._heard, self._store.count(resource), self._added[resource]
        if self._store.revision == heard == self._heard:
            return now - added
        return len(self.scan(resource, None))


def _teller(view: Callable[[], Pinned | None]) -> Callable[[Sequence[Change]], None]:
    """A listener that tells a view, as long as somebody holds it."""

    def tell(changes: Sequence[Change]) -> None:
        if (held := view()) is not None:
            held._hear(changes)

    return tell
