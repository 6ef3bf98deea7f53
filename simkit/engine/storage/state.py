"""The content of a store at one revision, as an immutable sorted map."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from simkit.meta.names import GroupResource, Key, Revision
from simkit.seams import Entry

# An immutable sorted map: every write gives a new one that shares all but one small block with the old

Value = TypeVar("Value")

LARGEST: Final = 256
SMALLEST: Final = 64
"""The sizes at which a block is split, and below which it is joined with its neighbour if both fit."""

FILL: Final = 192
"""The size of blocks made from a sorted sequence: room for some more names before the first split."""


class _Block(Generic[Value]):
    """Names in order, with their values. Neither list changes once the block is part of a table."""

    __slots__ = ("names", "values")

    def __init__(self, names: list[str], values: list[Value]) -> None:
        self.names, self.values = names, values

    def holds(self, index: int, name: str) -> bool:
        return index < len(self.names) and self.names[index] == name

    def put(self, name: str, value: Value) -> _Block[Value]:
        index = bisect_left(self.names, name)
        values = self.values.copy()
        if self.holds(index, name):
            values[index] = value
            return _Block(self.names, values)
        names = self.names.copy()
        names.insert(index, name)
        values.insert(index, value)
        return _Block(names, values)

    def without(self, index: int) -> _Block[Value]:
        names, values = self.names.copy(), self.values.copy()
        del names[index], values[index]
        return _Block(names, values)

    def joined(self, other: _Block[Value]) -> _Block[Value]:
        return _Block(self.names + other.names, self.values + other.values)

    def parts(self) -> list[_Block[Value]]:
        """The block itself, or its two halves if it is too large."""
        if len(self.names) <= LARGEST:
            return [self]
        middle = len(self.names) // 2
        return [_Block(self.names[:middle], self.values[:middle]), _Block(self.names[middle:], self.values[middle:])]


class Table(Generic[Value]):
    """A sorted map from names to values, which any thread may read without a lock.

    Notes
    -----
    A lookup is two binary searches, a range costs O(log n + answer), a write copies one block of at most 256 names
    and the list of blocks.

    Examples
    --------
    >>> old = Table.of([("a", 1), ("c", 3)])
    >>> new = old.put("b", 2)
    >>> old.between("a"), new.between("a")
    ([1, 3], [1, 2, 3])
    """

    __slots__ = ("_blocks", "_firsts", "size")

    def __init__(self, blocks: list[_Block[Value]], firsts: list[str], size: int) -> None:
        self._blocks, self._firsts, self.size = blocks, firsts, size

    @classmethod
    def of(cls, rows: Sequence[tuple[str, Value]] = ()) -> Table[Value]:
        """The table of rows, sorted by unique names."""
        names, values = [name for name, _ in rows], [value for _, value in rows]
        starts = range(0, len(names), FILL)
        blocks = [_Block(names[start : start + FILL], values[start : start + FILL]) for start in starts]
        return cls(blocks, [names[start] for start in starts], len(names))

    def get(self, name: str) -> Value | None:
        """The value of a name, or None."""
        position = bisect_right(self._firsts, name) - 1
        if position < 0:
            return None
        block = self._blocks[position]
        index = bisect_left(block.names, name)
        return block.values[index] if block.holds(index, name) else None

    def put(self, name: str, value: Value) -> Table[Value]:
        """The table with this value of the name."""
        if not self._blocks:
            return Table([_Block([name], [value])], [name], 1)
        position = max(bisect_right(self._firsts, name) - 1, 0)
        old = self._blocks[position]
        new = old.put(name, value)
        return self._with(position, position + 1, new.parts(), self.size + len(new.names) - len(old.names))

    def without(self, name: str) -> Table[Value]:
        """The table without the name; the same table if it is not in it."""
        position = bisect_right(self._firsts, name) - 1
        if position < 0:
            return self
        block = self._blocks[position]
        index = bisect_left(block.names, name)
        if not block.holds(index, name):
            return self
        return self._shrunk(position, block.without(index))

    def _shrunk(self, position: int, block: _Block[Value]) -> Table[Value]:
        """The table with a block that lost a name, joined with its right neighbour if both are small."""
        end = position + 1
        if len(block.names) < SMALLEST and end < len(self._blocks):
            neighbour = self._blocks[end]
            if len(block.names) + len(neighbour.names) <= FILL:
                block, end = block.joined(neighbour), end + 1
        return self._with(position, end, [block] if block.names else [], self.size - 1)

    def _with(self, start: int, end: int, blocks: list[_Block[Value]], size: int) -> Table[Value]:
        all_blocks, firsts = self._blocks.copy(), self._firsts
        all_blocks[start:end] = blocks
        if end - start != len(blocks) or firsts[start] != blocks[0].names[0]:
            firsts = firsts.copy()
            firsts[start:end] = [block.names[0] for block in blocks]
        return Table(all_blocks, firsts, size)

    def between(self, start: str, stop: str | None = None, limit: int | None = None) -> list[Value]:
        """The values of the names from ``start`` to before ``stop``, in order, at most ``limit``."""
        found: list[Value] = []
        for block, first, last in self._spans(start, stop):
            found += block.values[first:last]
            if limit is not None and len(found) >= limit:
                return found[:limit]
        return found

    def rows(self, start: str, stop: str | None = None) -> Iterator[tuple[str, Value]]:
        """Names and values from ``start`` to before ``stop``, in order, one at a time."""
        for block, first, last in self._spans(start, stop):
            yield from zip(block.names[first:last], block.values[first:last])

    def _spans(self, start: str, stop: str | None) -> Iterator[tuple[_Block[Value], int, int]]:
        position = max(bisect_right(self._firsts, start) - 1, 0)
        for index in range(position, len(self._blocks)):
            block = self._blocks[index]
            names = block.names
            first = bisect_left(names, start) if index == position else 0
            ends_here = stop is not None and names[-1] >= stop
            yield block, first, bisect_left(names, stop) if ends_here and stop is not None else len(names)
            if ends_here:
                return


# The content of a store at one revision, as an immutable value


def order(key: Key) -> str:
    """The sort key of the objects of a resource.

    kube-apiserver keeps objects in etcd under ``<namespace>/<name>``, so namespace ``a-b`` comes before ``a``.

    Examples
    --------
    >>> pods = GroupResource("", "pods")
    >>> sorted(order(Key(pods, namespace, "x")) for namespace in ("a", "a-b"))
    ['a-b/x', 'a/x']
    """
    return f"{key.namespace}/{key.name}"


class KeyRange(NamedTuple):
    """The range of a scan: keys from ``start`` to before ``stop``."""

    start: str
    stop: str | None

    @classmethod
    def of(cls, namespace: str | None, after: Key | None) -> KeyRange:
        """The range of one namespace (None: all of them), after a key if given."""
        # "0" follows "/" in every alphabet that counts here; no text stands between "x" and "x" followed by NUL.
        start, stop = ("", None) if namespace is None else (f"{namespace}/", f"{namespace}0")
        return cls(max(start, order(after) + "\0") if after is not None else start, stop)


class State:
    """The entries of a store at one revision: one immutable table for each resource.

    A write makes the next state, which shares all but one small block of one table with the last. So a fork is a
    second store over the same state: it is pinned at its revision for as long as somebody holds it.
    """

    __slots__ = ("_tables", "revision")

    def __init__(self, revision: Revision, tables: Mapping[GroupResource, Table[Entry]]) -> None:
        self.revision, self._tables = revision, tables

    def get(self, key: Key) -> Entry | None:
        """The entry of a key, or None."""
        table = self._tables.get(key.resource)
        return table.get(f"{key.namespace}/{key.name}") if table is not None else None

    def scan(
        self, resource: GroupResource, namespace: str | None, *, after: Key | None = None, limit: int | None = None
    ) -> Sequence[Entry]:
        """The entries of a resource in order, after a key if given, at most ``limit``."""
        table = self._tables.get(resource)
        return table.between(*KeyRange.of(namespace, after), limit) if table is not None else []

    def count(self, resource: GroupResource) -> int:
        """The number of objects of a resource."""
        table = self._tables.get(resource)
        return table.size if table is not None else 0

    def replaced(self, revision: Revision, key: Key, old: Entry | None, new: Entry | None) -> State:
        """The state at another revision with ``new`` instead of ``old`` at a key; None for no entry."""
        table = self._tables.get(key.resource) or Table.of()
        changed = table.without(order(key)) if new is None else table.put(order(key), new)
        return State(revision, {**self._tables, key.resource: changed})

    def resources(self) -> frozenset[GroupResource]:
        """The resources of which it holds objects, or held some before."""
        return frozenset(self._tables)

    def labelled(self, revision: Revision) -> State:
        """The same content as that of another revision, up to which nothing changed."""
        return self if revision == self.revision else State(revision, self._tables)

    def seeded(self, revision: Revision, entries: Iterable[Entry]) -> State:
        """The state at another revision with these entries added, of resources that had none."""
        return State(revision, {**self._tables, **tables_of(entries)})


def tables_of(entries: Iterable[Entry]) -> dict[GroupResource, Table[Entry]]:
    """The tables of entries in any order, by resource; of two with the same key the last one counts."""
    found: dict[GroupResource, dict[str, Entry]] = {}
    for entry in entries:
        found.setdefault(entry.key.resource, {})[order(entry.key)] = entry
    return {resource: Table.of([(name, rows[name]) for name in sorted(rows)]) for resource, rows in found.items()}
