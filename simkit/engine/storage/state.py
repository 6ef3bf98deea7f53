"""The content of a store at one revision, as an immutable value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from simkit.engine.seams import Entry
from simkit.engine.storage.table import Table
from simkit.meta.names import GroupResource, Key, Revision


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
