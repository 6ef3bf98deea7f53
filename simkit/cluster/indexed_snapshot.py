"""The objects of a store for controllers: at one revision, with indexers that go from one snapshot to the next."""

from __future__ import annotations

from collections.abc import Callable

from simkit.client.indexer import Indexer, IndexFunc, indexer_of
from simkit.cluster.store_snapshot import StoreSnapshot
from simkit.meta.names import GroupResource, Revision
from simkit.schema.catalogue import Catalogue
from simkit.seams import Compacted, ListWatcher


class Indexers:
    """The indexers of one store, each at the revision at which it was last asked for.

    One thread at a time uses them, and revisions may only grow.
    """

    def __init__(self, store: ListWatcher, catalogue: Callable[[], Catalogue]) -> None:
        self._store, self._catalogue = store, catalogue
        self._known: dict[tuple[GroupResource, IndexFunc], tuple[Revision, Indexer]] = {}

    def snapshot(self) -> IndexedSnapshot:
        """The current objects of all resources."""
        return IndexedSnapshot(self._store, self._catalogue(), self)

    def at(self, snapshot: StoreSnapshot, resource: GroupResource, index_func: IndexFunc) -> Indexer:
        """An indexer as of a snapshot. The first one reads all objects; later ones, what has changed since."""
        known = self._known.get((resource, index_func))
        found = self._advanced(*known, resource, snapshot.revision) if known is not None else None
        if found is None:
            found = indexer_of(snapshot, resource, index_func)
        self._known[resource, index_func] = snapshot.revision, found
        return found

    def _advanced(
        self, seen: Revision, indexer: Indexer, resource: GroupResource, revision: Revision
    ) -> Indexer | None:
        """The indexer with the changes up to a revision; None if these are not known any more."""
        try:
            for change in self._store.changes(after=seen):
                if change.revision > revision:
                    break
                if change.entry.key.resource == resource:
                    indexer.put(change.entry.key, None if change.type == "DELETED" else change.entry.object)
        except Compacted:
            return None
        return indexer


class IndexedSnapshot(StoreSnapshot):
    """The stored objects at one revision; its indexers are those of the store."""

    def __init__(self, store: ListWatcher, catalogue: Catalogue, indexers: Indexers) -> None:
        super().__init__(store, catalogue)
        self._indexers = indexers

    def indexer(self, resource: GroupResource, index_func: IndexFunc) -> Indexer:
        """The objects of a resource by their values, as they are in this snapshot."""
        return self._indexers.at(self, resource, index_func)
