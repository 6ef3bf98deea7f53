"""A server's store as a Snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Final

from simkit.client.indexer import Indexer, IndexFunc, indexer_of
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from simkit.seams import Compacted, ListWatcher
from simkit.seams.authorization import OPENSHIFT, Authorization, stated
from simkit.snapshot.openshift import access_of

_KEY: Final = attrgetter("key")


class StoreSnapshot:
    """The stored objects at one revision. Later writes are not seen.

    ``captured`` limits what the snapshot claims to know, for stores seeded from a dump that did not hold everything.
    ``earlier`` is one of the same store, or of the store that this one is a fork of, as it was when it was forked.
    """

    def __init__(
        self,
        store: ListWatcher,
        catalogue: Catalogue,
        captured: Collection[GroupResource] | None = None,
        earlier: StoreSnapshot | None = None,
        *,
        authorization: Authorization | None = None,
    ) -> None:
        self._store, self._catalogue = store, catalogue
        self.revision: Revision = store.revision
        self._captured = captured
        self._earlier = earlier
        self._authorization = authorization or stated(("RBAC",))

    @cached_property
    def authorization(self) -> Authorization:
        """The authorizers; on OpenShift with the users and groups that are stored now."""
        found = self._authorization
        return replace(found, access=access_of(self)) if found.provider == OPENSHIFT else found

    @property
    def earlier(self) -> StoreSnapshot | None:
        """The snapshot before the writes in ``written``, while the store has their history."""
        known = self._earlier
        return known if known is not None and known.revision >= self._store.oldest else None

    def written(self) -> Iterable[tuple[Key, Object | None]]:
        """The objects written since the earlier snapshot, None for those deleted."""
        assert self._earlier is not None, "there is nothing that it could start from"
        found: dict[Key, Object | None] = {}
        for change in self._store.changes(after=self._earlier.revision):
            if change.revision > self.revision:
                break
            found[change.entry.key] = None if change.type == "DELETED" else change.entry.object
        return found.items()

    def forget(self) -> None:
        """Release the earlier snapshot."""
        self._earlier = None

    def shows(self, store: ListWatcher) -> bool:
        """True if it is this store that it shows."""
        return self._store is store

    def successor(self, store: ListWatcher, catalogue: Catalogue) -> StoreSnapshot:
        """A snapshot of the current revision, in the same store or a new fork of it, that starts from this one.

        It starts from this one's own start as long as that is kept: nothing was derived from this one then.
        """
        start = self if self._earlier is None else self._earlier
        return StoreSnapshot(store, catalogue, self._captured, start, authorization=self._authorization)

    @property
    def release(self) -> str:
        return self._catalogue.release

    @property
    def behaviour(self) -> ServedBehaviour:
        return self._catalogue.behaviour

    def captured(self) -> Collection[GroupResource]:
        if self._captured is not None:
            return self._captured
        return {resource.storage for resource in self._catalogue.stored()}

    def _check(self, resource: GroupResource) -> None:
        if self._captured is not None and resource not in self._captured:
            raise IncompleteSnapshot([resource])

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        self._check(resource)
        entry = self._store.get(Key(resource, namespace, name), at=self.revision)
        return entry.object if entry is not None else None

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        self._check(resource)
        found = self._store.scan(resource, namespace, at=self.revision)
        if namespace is None:
            # A store has "shop-a/x" before "shop/x", as etcd orders its keys; a snapshot goes by namespace first.
            found = sorted(found, key=_KEY)
        return [entry.object for entry in found]


# The objects of a store for controllers: at one revision, with indexers that go from one snapshot to the next.


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
