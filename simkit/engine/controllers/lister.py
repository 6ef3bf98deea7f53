"""Cached reads of a snapshot for one sync of a controller."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from simkit.engine.controllers.resources import PODS
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, labels_of, metadata
from simkit.snapshot.protocol import Snapshot

Made = TypeVar("Made")


class Lister:
    """A snapshot whose lists are read once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._lists: dict[tuple[GroupResource, str | None], Sequence[Object]] = {}
        self._placed: dict[str, list[Object]] | None = None
        self._owned: dict[tuple[GroupResource, str], dict[str, list[Object]]] = {}
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
        owned = self._owned.get((resource, namespace))
        if owned is None:
            owned = self._owned[resource, namespace] = {}
            for obj in self.scan(resource, namespace):
                owned.setdefault((controller_of(obj) or {}).get("uid", ""), []).append(obj)
        return owned.get(uid, ())

    def labelled(self, resource: GroupResource, namespace: str, labels: Mapping[str, str]) -> Sequence[Object]:
        """The objects of a namespace that have all of some labels, by name; all objects for no labels.

        O(objects with the rarest of these labels), beside the index that is made the first time.
        """
        if not labels:
            return self.scan(resource, namespace)
        index = self.once((resource, namespace, "labels"), lambda: _by_label(self.scan(resource, namespace)))
        fewest = min((index.get(pair, ()) for pair in labels.items()), key=len)
        return [obj for obj in fewest if labels.items() <= labels_of(obj).items()]

    def pods_on(self, node: str) -> Sequence[Object]:
        """The pods of a node."""
        if self._placed is None:
            self._placed = {}
            for pod in self.scan(PODS):
                self._placed.setdefault(at(pod, "spec", "nodeName") or "", []).append(pod)
        return self._placed.get(node, ())


def _by_label(objects: Iterable[Object]) -> Mapping[tuple[str, str], Sequence[Object]]:
    found: dict[tuple[str, str], list[Object]] = {}
    for obj in objects:
        for name, value in labels_of(obj).items():
            if isinstance(value, str):  # in a dump, anything may stand there
                found.setdefault((name, value), []).append(obj)
    return found


def controller_of(obj: Object) -> Mapping[str, Any] | None:
    """The owner that controls an object, None where there is none."""
    owners = metadata(obj).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def uid_of(obj: Object) -> str:
    """``metadata.uid``."""
    return metadata(obj).get("uid") or ""


def is_terminating(obj: Object) -> bool:
    """True if an object is under deletion."""
    return bool(metadata(obj).get("deletionTimestamp"))
