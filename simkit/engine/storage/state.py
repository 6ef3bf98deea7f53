"""Everything a store holds at one revision, as a value that never changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from simkit.engine.seams import Entry
from simkit.engine.storage.table import Table
from simkit.meta.names import GroupResource, Key, Revision


def order(key: Key) -> str:
    """Where a key stands among those of its resource: the text by which lists are sorted.

    The real server keeps objects under ``<namespace>/<name>``, so namespace ``a-b`` comes before ``a``.

    Examples
    --------
    >>> pods = GroupResource("", "pods")
    >>> sorted(order(Key(pods, namespace, "x")) for namespace in ("a", "a-b"))
    ['a-b/x', 'a/x']
    """
    return f"{key.namespace}/{key.name}"


class Span(NamedTuple):
    """The part of a resource that a scan asks for: orders from ``start`` to before ``stop``."""

    start: str
    stop: str | None

    @classmethod
    def of(cls, namespace: str | None, after: Key | None) -> Span:
        """The span of one namespace (None: all of them), beginning behind a key where one is given."""
        # "0" follows "/" in every alphabet that counts here; no text stands between "x" and "x" followed by NUL.
        start, stop = ("", None) if namespace is None else (f"{namespace}/", f"{namespace}0")
        return cls(max(start, order(after) + "\0") if after is not None else start, stop)


class View(Protocol):
    """One state, to be read. It must answer the same for ever, whatever happens to the store it was taken from."""

    @property
    def revision(self) -> Revision: ...

    def get(self, key: Key) -> Entry | None: ...

    def scan(
        self, resource: GroupResource, namespace: str | None, *, after: Key | None = None, limit: int | None = None
    ) -> Sequence[Entry]: ...

    def count(self, resource: GroupResource) -> int: ...


class State(View, Protocol):
    """A view that gives the next state. Making one must not cost more than one write into a small block."""

    def replaced(self, revision: Revision, key: Key, old: Entry | None, new: Entry | None) -> State:
        """The state at another revision in which a key has ``new`` instead of ``old``; None stands for nothing."""
        ...

    def seeded(self, revision: Revision, entries: Iterable[Entry]) -> State:
        """The state at another revision that holds these entries too, of resources of which it held none."""
        ...


class Tables:
    """A state that holds every entry itself: one table for each resource."""

    __slots__ = ("_tables", "revision")

    def __init__(self, revision: Revision, tables: Mapping[GroupResource, Table[Entry]]) -> None:
        self.revision, self._tables = revision, tables

    def get(self, key: Key) -> Entry | None:
        table = self._tables.get(key.resource)
        return table.get(f"{key.namespace}/{key.name}") if table is not None else None

    def scan(
        self, resource: GroupResource, namespace: str | None, *, after: Key | None = None, limit: int | None = None
    ) -> Sequence[Entry]:
        table = self._tables.get(resource)
        return table.between(*Span.of(namespace, after), limit) if table is not None else []

    def count(self, resource: GroupResource) -> int:
        table = self._tables.get(resource)
        return table.size if table is not None else 0

    def replaced(self, revision: Revision, key: Key, old: Entry | None, new: Entry | None) -> Tables:
        table = self._tables.get(key.resource) or Table.of()
        changed = table.without(order(key)) if new is None else table.put(order(key), new)
        return Tables(revision, {**self._tables, key.resource: changed})

    def seeded(self, revision: Revision, entries: Iterable[Entry]) -> Tables:
        return Tables(revision, {**self._tables, **tables_of(entries)})


def tables_of(entries: Iterable[Entry]) -> dict[GroupResource, Table[Entry]]:
    """The tables of entries in any order, by resource; of two with the same key the last one counts."""
    found: dict[GroupResource, dict[str, Entry]] = {}
    for entry in entries:
        found.setdefault(entry.key.resource, {})[order(entry.key)] = entry
    return {resource: Table.of([(name, rows[name]) for name in sorted(rows)]) for resource, rows in found.items()}
