"""Objects of a resource by values that are read from them, kept up to date by changes.

Upstream: client-go, tools/cache, where an informer's Indexer does this with functions of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Protocol, runtime_checkable

from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.seams.snapshot import Snapshot

IndexFunc = Callable[[Object], Iterable[Hashable]]
"""Reads from an object the values under which it is found."""


class Indexer:
    """The keys of objects by the values that one function reads from them.

    Costs O(values of an object) for each change, and some hundred bytes for each object.

    Examples
    --------
    >>> pods, one = GroupResource("", "pods"), {"spec": {"nodeName": "a"}}
    >>> index = Indexer(lambda pod: [pod["spec"]["nodeName"]])
    >>> index.put(Key(pods, "shop", "web"), one)
    >>> [key.name for key in index.keys("a")], index.count("b")
    (['web'], 0)
    """

    def __init__(self, index_func: IndexFunc) -> None:
        self._index_func = index_func
        self._keys: dict[Hashable, dict[Key, None]] = {}
        self._values: dict[Key, Sequence[Hashable]] = {}

    def put(self, key: Key, obj: Object | None) -> None:
        """Take in the present object of a key; None: there is none any more."""
        known = self._values.pop(key, ())
        values = tuple(self._index_func(obj)) if obj is not None else ()
        if values:
            self._values[key] = known if values == known else values
        if values == known:
            return
        for value in known:
            found = self._keys[value]
            found.pop(key, None)
            if not found:
                del self._keys[value]
        for value in values:
            self._keys.setdefault(value, {})[key] = None

    def keys(self, value: Hashable) -> list[Key]:
        """The keys of the objects that have a value, by namespace and name."""
        return sorted(self._keys.get(value, ()))

    def count(self, value: Hashable) -> int:
        """The number of objects that have a value."""
        return len(self._keys.get(value, ()))


def indexer_of(snapshot: Snapshot, resource: GroupResource, index_func: IndexFunc) -> Indexer:
    """An indexer of all objects of a resource in a snapshot."""
    made = Indexer(index_func)
    for obj in snapshot.scan(resource):
        made.put(Key(resource, namespace_of(obj), name_of(obj)), obj)
    return made


@runtime_checkable
class Indexed(Protocol):
    """A snapshot whose indexers outlive it: the next one starts from where they are."""

    def indexer(self, resource: GroupResource, index_func: IndexFunc) -> Indexer:
        """The objects of a resource by their values, as they are in this snapshot."""
        ...
