"""Changes of fields within a served version, found by comparing the schemas of releases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

from simkit.logic.lifecycle.calendar import Track, track_of
from simkit.logic.lifecycle.document import Change, Element
from simkit.meta.names import GroupVersionKind
from simkit.schema.definitions import Definitions, definitions
from simkit.schema.releases import RELEASES

Row = Mapping[str, Any]


def changes(groups: Collection[str]) -> Iterator[Element]:
    """Fields of stable and beta versions that were removed, changed type or became required in a later release.

    Types that several kinds share are told once, under the first kind that has them.
    """
    for before, after in pairwise(RELEASES):
        yield from _between(definitions(before), definitions(after), groups, after)


def _between(old: Definitions, new: Definitions, groups: Collection[str], release: str) -> Iterator[Element]:
    owners = _owners(old, groups)
    for name, row in old.rows.items():
        owner, later = owners.get(name), new.rows.get(name)
        if owner is None or later is None or row == later or track_of(owner.version) is Track.ALPHA:
            continue
        if name.endswith("List"):
            continue
        for field, was in row.get("fields", {}).items():
            yield from _field(owner, name, field, was, later, release)
        fresh = set(later.get("required", ())) - set(row.get("required", ()))
        for field in sorted(fresh & row.get("fields", {}).keys()):
            text = "became required, as the schema says"
            yield _element(owner, name, field, changes=(Change(release=release, what=text),))


def _field(owner: GroupVersionKind, name: str, field: str, was: Row, later: Row, release: str) -> Iterator[Element]:
    now = later.get("fields", {}).get(field)
    if now is None:
        yield _element(owner, name, field, removed=release)
    elif _type(was) != _type(now):
        text = f"{_shown(was)} became {_shown(now)}"
        yield _element(owner, name, field, changes=(Change(release=release, what=text),))


def _element(owner: GroupVersionKind, name: str, field: str, **more: Any) -> Element:
    part = name.rpartition(".")[2]
    path = f"{owner.kind}.{field}" if part == owner.kind else f"{owner.kind}: {part}.{field}"
    return Element(sort="field", name=path, group=owner.group, version=owner.version, **more)


def _type(row: Row) -> tuple[Any, ...]:
    """The type of a field; renamed definitions with the same content are equal."""
    inner = tuple(_type(row[part]) for part in ("items", "values") if part in row)
    return ("object" if "ref" in row else row.get("type"), *inner)


def _shown(row: Row) -> str:
    if "ref" in row:
        return str(row["ref"]).rpartition(".")[2]
    if "items" in row:
        return f"list of {_shown(row['items'])}"
    return str(row.get("type", "anything"))


def _owners(table: Definitions, groups: Collection[str]) -> Mapping[str, GroupVersionKind]:
    """The first kind, by name, that each definition is part of."""
    found: dict[str, GroupVersionKind] = {}
    kinds = {name: kind for name in table.rows for kind in table.kinds_of(name) if kind.group in groups}
    for name, kind in sorted(kinds.items(), key=lambda pair: (not pair[1].version.startswith("v1"), pair[0])):
        pending = [name]
        while pending:
            current = pending.pop()
            if current not in found and current in table.rows:
                found[current] = kind
                pending += _references(table.rows[current])
    return found


def _references(row: Row) -> Iterator[str]:
    if "ref" in row:
        yield row["ref"]
    for child in (*row.get("fields", {}).values(), *(row[part] for part in ("items", "values") if part in row)):
        yield from _references(child)
