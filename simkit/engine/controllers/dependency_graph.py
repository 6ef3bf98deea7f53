"""The graph of owners and dependents by uid.

Upstream: pkg/controller/garbagecollector/graph.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simkit.engine.controllers.lister import is_terminating
from simkit.meta.names import Key
from simkit.meta.objects import Object, metadata


def owners_of(obj: Object) -> Sequence[Mapping[str, Any]]:
    """``metadata.ownerReferences``."""
    return metadata(obj).get("ownerReferences") or ()


_NOBODY: frozenset[Key] = frozenset()


class DependencyGraph:
    """The dependents of each uid, and the owners that wait for their dependents before they are deleted.

    Examples
    --------
    >>> from simkit.meta.names import GroupResource
    >>> key = Key(GroupResource("", "pods"), "a", "b")
    >>> known = DependencyGraph.of([(key, {"metadata": {"name": "b", "ownerReferences": [{"uid": "1"}]}})])
    >>> known.dependents("1") == {key}
    True
    """

    def __init__(self) -> None:
        self._dependents: dict[str, frozenset[Key]] = {}
        self._owners: dict[Key, tuple[str, ...]] = {}
        self._waiting: dict[str, Key] = {}
        """Owners that are going and held by finalizers, by uid."""

    @classmethod
    def of(cls, objects: Iterable[tuple[Key, Object]]) -> DependencyGraph:
        """The ownership among all objects of a cluster."""
        made = cls()
        for key, obj in objects:
            made.note(key, obj)
        return made

    def copy(self) -> DependencyGraph:
        """Another one that knows the same, and changes for itself."""
        made = DependencyGraph()
        made._dependents, made._owners = dict(self._dependents), dict(self._owners)
        made._waiting = dict(self._waiting)
        return made

    def note(self, key: Key, obj: Object) -> None:
        """An object is as it is now."""
        meta = obj["metadata"]
        owners = (owner.get("uid") for owner in meta.get("ownerReferences") or ())
        self._set(key, tuple(dict.fromkeys(filter(None, owners))))
        if is_terminating(obj) and meta.get("finalizers") and meta.get("uid"):
            self._waiting[meta["uid"]] = key

    def forget(self, key: Key, uid: str) -> None:
        """An object is gone."""
        self._set(key, ())
        self._waiting.pop(uid, None)

    def _set(self, key: Key, owners: tuple[str, ...]) -> None:
        before = self._owners.get(key, ())
        if before == owners:
            return
        for uid in before:
            left = self._dependents[uid] - {key}
            if left:
                self._dependents[uid] = left
            else:
                del self._dependents[uid]
        for uid in owners:
            self._dependents[uid] = self._dependents.get(uid, _NOBODY) | {key}
        if owners:
            self._owners[key] = owners
        else:
            self._owners.pop(key, None)

    def dependents(self, uid: str) -> set[Key]:
        """The objects that an object owns."""
        return set(self._dependents.get(uid, _NOBODY))

    def owned(self) -> set[Key]:
        """Everything that has an owner."""
        return set(self._owners)

    def waiting(self) -> set[Key]:
        """Everything that is going and held by a finalizer."""
        return set(self._waiting.values())

    def holding_back(self, obj: Object) -> set[Key]:
        """The owners of an object that wait for it."""
        uids = [owner.get("uid", "") for owner in owners_of(obj)]
        return {self._waiting[uid] for uid in uids if uid in self._waiting}
