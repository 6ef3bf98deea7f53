"""A server's store as a Snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from simkit.engine.seams import Store
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue


class StoreSnapshot:
    """What is stored, at one revision. Later writes are not seen.

    ``captured`` limits what the snapshot claims to know, for stores seeded from a dump that did not hold everything.
    """

    def __init__(self, store: Store, catalogue: Catalogue, captured: Collection[GroupResource] | None = None) -> None:
        self._store, self._catalogue = store, catalogue
        self.revision: Revision = store.revision
        self._captured = captured

    @property
    def release(self) -> str:
        return self._catalogue.release

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
        return [entry.object for entry in self._store.scan(resource, namespace, at=self.revision)]
