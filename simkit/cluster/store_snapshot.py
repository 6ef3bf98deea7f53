"""A server's store as a Snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from simkit.seams import ListWatcher
from simkit.seams.authorization import Authorization, stated

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
        self.authorization = authorization or stated(("RBAC",))

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
        return StoreSnapshot(store, catalogue, self._captured, start, authorization=self.authorization)

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
