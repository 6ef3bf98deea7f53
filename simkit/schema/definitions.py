"""Type definitions of a release by name, made into schema nodes at first use.

The table of a release is that of 1.30 with the changes of each release. Below 1.30 every difference is to the next
release, above it to the previous one; so a release reads only the tables between itself and 1.30, and a server of 1.30
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

import orjson

from simkit.meta import datasets
from simkit.meta.go_json import compact
from simkit.meta.names import GroupVersionKind
from simkit.schema.releases import BASE, minor_of
from simkit.schema.structural import Schema

Row = Mapping[str, Any]


class EncodedRows(Mapping[str, Row]):
    """Rows of a table, decoded each time one is taken: a server needs few of them, and takes each once.

    Examples
    --------
    >>> rows = EncodedRows({"Pod": {"fields": {}}})
    >>> rows["Pod"], list(rows)
    ({'fields': {}}, ['Pod'])
    """

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._encoded = {name: compact(orjson.dumps(row)) for name, row in rows.items()}

    def __getitem__(self, name: str) -> Row:
        row: Row = orjson.loads(self._encoded[name])
        return row

    def __contains__(self, name: object) -> bool:
        return name in self._encoded

    def __iter__(self) -> Iterator[str]:
        return iter(self._encoded)

    def __len__(self) -> int:
        return len(self._encoded)


class Definitions:
    """All definitions of one release. The table is read on demand, and nodes are made on first use."""

    def __init__(self, release: str) -> None:
        self.release = release
        self._nodes: dict[str, Schema] = {}

    @cached_property
    def _table(self) -> tuple[Mapping[str, str], EncodedRows]:
        table = table_of(self.release)
        return table["kinds"], EncodedRows(table["definitions"])

    @property
    def rows(self) -> Mapping[str, Row]:
        """The table's rows by definition name; they are decoded each time."""
        return self._table[1]

    def node(self, name: str) -> Schema:
        """The schema node of a definition; always the same object. Raises KeyError for an unknown name."""
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes.setdefault(name, Schema(self.rows[name], self.node, name))
        return node

    def name_of(self, gvk: GroupVersionKind) -> str | None:
        """The name of a kind's definition; None if it has none. DeleteOptions belong to every group version."""
        kinds = self._table[0]
        return kinds.get(f"{gvk.api_version}/{gvk.kind}") or kinds.get(f"*/{gvk.kind}")

    def kinds_of(self, name: str) -> Iterator[GroupVersionKind]:
        """The kinds of a definition; those of every group version have the group ``*``."""
        yield from self._kinds.get(name, ())

    @cached_property
    def _kinds(self) -> Mapping[str, list[GroupVersionKind]]:
        found: dict[str, list[GroupVersionKind]] = {}
        for text, name in self._table[0].items():
            head, _, kind = text.rpartition("/")
            group, _, version = ("*", "", "") if head == "*" else head.rpartition("/")
            found.setdefault(name, []).append(GroupVersionKind(group, version, kind))
        return found


@cache
def definitions(release: str) -> Definitions:
    """The definitions of a release, shared by all callers."""
    return Definitions(release)


Table = Mapping[str, Mapping[str, Any]]


def table_of(release: str) -> Table:
    """Kinds and definitions of a release, as ``schema.definitions`` reads them."""
    table: Table = datasets.load(f"api/{BASE}/schemas.json")
    base, wanted = minor_of(BASE), minor_of(release)
    step = 1 if wanted > base else -1
    for minor in range(base + step, wanted + step, step) if wanted != base else ():
        change = datasets.load(f"api/releases/schemas/1.{minor}.json.gz")
        table = {
            "kinds": _replaced(table["kinds"], change["kinds"]),
            "definitions": apply(table["definitions"], change["definitions"]),
        }
    return table


def _replaced(old: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The entries with replacements, or without those that the change sets to null."""
    return {name: value for name, value in {**old, **change}.items() if value is not None}


def apply(old: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The rows after a change is applied."""
    new = {name: row for name, row in old.items() if change.get(name, row) is not None}
    for name, value in change.items():
        if value is not None:
            new[name] = _row(old.get(name), value)
    return new


def _row(old: Mapping[str, Any] | None, change: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row: as given, or the old one replaced (``=``), or changed key by key and field by field (``~``)."""
    if "=" in change:
        whole: Mapping[str, Any] = change["="]
        return whole
    if "~" not in change:
        return change
    assert old is not None
    keys = dict(change["~"])
    fields = _replaced(old["fields"], keys.pop("fields", {}))
    return {**_replaced(old, keys), "fields": fields}
