"""Objects of a resource by values that are read from them, kept up to date by changes, and by labels that they select.

Upstream: client-go, tools/cache, where an informer's Indexer does this with functions of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from simkit.meta.labels import LabelSelector
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


class SelectorIndex:
    """Objects by a label that their selectors ask for.

    Parameters
    ----------
    objects
        Those with empty selectors are left out: they select nothing.
    selector_of
        Reads the selector of one.

    Notes
    -----
    A look costs O(labels, and the selectors that ask for one of them or for none in particular).

    Examples
    --------
    >>> from simkit.meta.labels import parse
    >>> index = SelectorIndex([{"kind": "a"}, {"kind": "b"}], lambda obj: parse(f"app={obj['kind']}"))
    >>> index.selecting({"app": "b", "tier": "x"})
    [{'kind': 'b'}]
    """

    def __init__(self, objects: Iterable[Object], selector_of: Callable[[Object], LabelSelector]) -> None:
        self._by_label: dict[tuple[str, str] | None, list[tuple[int, Object, LabelSelector]]] = {}
        for number, obj in enumerate(objects):
            selector = selector_of(obj)
            if selector:
                pair = next(iter(equalities(selector).items()), None)
                self._by_label.setdefault(pair, []).append((number, obj, selector))

    def selecting(self, labels: Mapping[str, str]) -> list[Object]:
        """The objects that select something with these labels, in their order."""
        if not self._by_label:
            return []
        pairs = [None, *(pair for pair in labels.items() if isinstance(pair[1], str))]
        asked = (each for pair in pairs for each in self._by_label.get(pair, ()))
        found = {number: obj for number, obj, selector in asked if selector.matches(labels)}
        return [found[number] for number in sorted(found)]


def equalities(selector: LabelSelector) -> dict[str, str]:
    """The labels that whatever is selected must have with one value.

    Examples
    --------
    >>> from simkit.meta.labels import parse
    >>> equalities(parse("a=b,c in (d),e!=f,g in (h,i)"))
    {'a': 'b', 'c': 'd'}
    """
    wanted = (each for each in selector.requirements if each.operator == "in" and len(each.values) == 1)
    return {each.key: each.values[0] for each in wanted if isinstance(each.values[0], str)}
