"""Cached reads of a snapshot for one sync of a controller."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from simkit.client.indexer import Indexed, Indexer, IndexFunc, indexer_of
from simkit.client.resources import PODS
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, controller_of, labels_of, metadata, namespace_of
from simkit.seams.snapshot import Snapshot

Made = TypeVar("Made")


class Lister:
    """A snapshot whose lists are read once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._lists: dict[tuple[GroupResource, str | None], Sequence[Object]] = {}
        self._indexers: dict[tuple[GroupResource, IndexFunc], Indexer] = {}
        self._looked_up: dict[tuple[GroupResource, IndexFunc, Hashable], Sequence[Object]] = {}
        self._made: dict[Hashable, Any] = {}

    def get(self, key: Key) -> Object | None:
        """The object of a key."""
        return self.snapshot.get(key.resource, key.name, key.namespace)

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Sequence[Object]:
        """All objects of a resource, or those of one namespace."""
        found = self._lists.get((resource, namespace))
        if found is None:
            found = self._lists[resource, namespace] = tuple(self.snapshot.scan(resource, namespace))
        return found

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The value made the first time for a key, such as an index of the lists; the same one later."""
        if key not in self._made:
            self._made[key] = make()
        found: Made = self._made[key]
        return found

    def controlled(self, resource: GroupResource, namespace: str, uid: str) -> Sequence[Object]:
        """The objects of a namespace whose controller has a uid; those without a controller for the empty one."""
        return self._indexed(resource, _by_controller, (namespace, uid))

    def labelled(self, resource: GroupResource, namespace: str, labels: Mapping[str, str]) -> Sequence[Object]:
        """The objects of a namespace that have all of some labels, by name; all objects for no labels.

        O(objects with the rarest of these labels).
        """
        if not labels:
            return self.scan(resource, namespace)
        index = self._indexer(resource, _by_label)
        rarest = min(((namespace, *pair) for pair in labels.items()), key=index.count)
        found = self._indexed(resource, _by_label, rarest)
        return [obj for obj in found if labels.items() <= labels_of(obj).items()]

    def pods_on(self, node: str) -> Sequence[Object]:
        """The pods of a node; those without one for the empty name."""
        return self._indexed(PODS, _by_node, node)

    def _indexed(self, resource: GroupResource, index_func: IndexFunc, value: Hashable) -> Sequence[Object]:
        """The objects that have a value, by namespace and name; O(objects found)."""
        found = self._looked_up.get((resource, index_func, value))
        if found is None:
            objects = map(self.get, self._indexer(resource, index_func).keys(value))
            found = self._looked_up[resource, index_func, value] = [obj for obj in objects if obj is not None]
        return found

    def _indexer(self, resource: GroupResource, index_func: IndexFunc) -> Indexer:
        found = self._indexers.get((resource, index_func))
        if found is None:
            made = self.snapshot.indexer if isinstance(self.snapshot, Indexed) else partial(indexer_of, self.snapshot)
            found = self._indexers[resource, index_func] = made(resource, index_func)
        return found


def _by_controller(obj: Object) -> Iterable[Hashable]:
    uid = (controller_of(obj) or {}).get("uid", "")
    return ((namespace_of(obj), uid),) if isinstance(uid, str) else ()


def _by_label(obj: Object) -> Iterable[Hashable]:
    namespace = namespace_of(obj)  # in a dump, anything may stand for a value
    return ((namespace, name, value) for name, value in labels_of(obj).items() if isinstance(value, str))


def _by_node(pod: Object) -> Iterable[Hashable]:
    node = at(pod, "spec", "nodeName") or ""
    return (node,) if isinstance(node, str) else ()


def uid_of(obj: Object) -> str:
    """``metadata.uid``."""
    return metadata(obj).get("uid") or ""


def is_terminating(obj: Object) -> bool:
    """True if an object is under deletion."""
    return bool(metadata(obj).get("deletionTimestamp"))
