"""A snapshot with some objects added, replaced or removed, over an unchanged one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property
from heapq import merge
from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.seams.authorization import OPENSHIFT, Authorization
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.openshift import access_of, names_people
from simkit.snapshot.resources import ResourceIndex, index_of

FEW: Final = 64
"""The number of covered objects of a resource up to which their positions are searched, instead of merging all."""


class OverlaySnapshot:
    """A snapshot with some objects put and others removed.

    Putting an object of a resource that was not captured does not make it captured: there may be others.

    Parameters
    ----------
    base
        The snapshot underneath; it is read, never copied.
    put
        Objects that are added, or take the place of those with the same key.
    remove
        Keys that are there no more. What is both put and removed is there.

    Examples
    --------
    >>> account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "shop"}}
    >>> accounts = GroupResource("", "serviceaccounts")
    >>> base = MemorySnapshot([account])
    >>> OverlaySnapshot(base, remove=[Key(accounts, "shop", "robot")]).get(accounts, "robot", "shop") is None
    True
    """

    def __init__(self, base: Snapshot, put: Iterable[Object] = (), remove: Iterable[Key] = ()) -> None:
        objects = list(put)
        self._base, self._release = base, base.release
        self._lowest: Snapshot = base._lowest if isinstance(base, OverlaySnapshot) else base
        self._index = index_of(base, objects)
        self._put = MemorySnapshot(objects, index=self._index)
        self._scanned: dict[tuple[GroupResource, str | None], tuple[Object, ...]] = {}
        self._hidden: dict[GroupResource, set[tuple[str, str]]] = {}
        gone = [Key(self._index.stored(key.resource), key.namespace, key.name) for key in remove]
        self._covered = frozenset((*gone, *(key for key, _ in self._put.items())))
        self._names_people: bool = getattr(base, "_names_people", False) or any(map(names_people, self._covered))
        for key in self._covered:
            for view in self._index.views(key.resource):
                self._hidden.setdefault(view, set()).add((key.namespace, key.name))

    @property
    def release(self) -> str:
        return self._release

    @cached_property
    def authorization(self) -> Authorization:
        found = self._lowest.authorization
        if found.provider == OPENSHIFT and self._names_people:
            return replace(found, access=access_of(self))
        return found

    @property
    def behaviour(self) -> ServedBehaviour:
        return self._lowest.behaviour

    @property
    def index(self) -> ResourceIndex:
        """The resources of the kinds in this snapshot."""
        return self._index

    @property
    def covered(self) -> Collection[Key]:
        """The keys of what was put or removed."""
        return self._covered

    def captured(self) -> Collection[GroupResource]:
        return self._lowest.captured()

    def put_of(self, resource: GroupResource) -> list[Object]:
        """The objects of a resource that this snapshot and those underneath put, by namespace and name; for resources
        that were not captured, and so cannot be scanned.
        """
        keys: set[Key] = set()
        layer: Snapshot = self
        while isinstance(layer, OverlaySnapshot):
            keys.update(key for key in layer._covered if key.resource == resource)
            layer = layer._base
        found = (self._get_put(key) for key in sorted(keys))
        return [obj for obj in found if obj is not None]

    def _get_put(self, key: Key) -> Object | None:
        layer: Snapshot = self
        while isinstance(layer, OverlaySnapshot):
            if key in layer._covered:
                return layer.get(key.resource, key.name, key.namespace)
            layer = layer._base
        return None

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        if (namespace, name) in self._hidden.get(resource, ()):
            return self._put.get(resource, name, namespace) if resource in self._put.captured() else None
        below = self._base
        while isinstance(below, OverlaySnapshot) and (namespace, name) not in below._hidden.get(resource, ()):
            below = below._base
        return below.get(resource, name, namespace)

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        hidden = self._hidden.get(resource)
        if not hidden:
            below = self._base
            while isinstance(below, OverlaySnapshot) and not below._hidden.get(resource):
                below = below._base
            return below.scan(resource, namespace)
        known = self._scanned.get((resource, namespace))
        if known is None:
            known = self._scanned[resource, namespace] = self._merged(resource, namespace, hidden)
        return known

    def _merged(
        self, resource: GroupResource, namespace: str | None, hidden: Collection[tuple[str, str]]
    ) -> tuple[Object, ...]:
        """The objects underneath that are not covered, and those on top, by namespace and name."""
        below = self._base.scan(resource, namespace)
        above = self._put.scan(resource, namespace) if resource in self._put.captured() else ()
        if len(hidden) > FEW:
            kept = (obj for obj in below if _names(obj) not in hidden)
            return tuple(merge(kept, above, key=_names))
        found = list(below)
        for names in hidden:
            position = bisect_left(found, names, key=_names)
            if position < len(found) and _names(found[position]) == names:
                del found[position]
        for obj in above:
            found.insert(bisect_left(found, _names(obj), key=_names), obj)
        return tuple(found)

    def __repr__(self) -> str:
        hidden = sum(map(len, self._hidden.values()))
        return f"<OverlaySnapshot: {len(self._put):,} objects put, {hidden:,} keys covered, over {self._base!r}>"


def _names(obj: Object) -> tuple[str, str]:
    return namespace_of(obj), name_of(obj)
