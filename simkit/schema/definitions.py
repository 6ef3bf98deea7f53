"""Type definitions of a release by name, made into schema nodes at first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

import orjson

from simkit.meta.go_json import compact
from simkit.meta.names import GroupVersionKind
from simkit.schema.release_deltas import table_of
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
