"""Schema table of a release, computed from that of 1.30 and the changes of each release.

Below 1.30 every difference is to the next release, above it to the previous one; so a release reads only the tables
between itself and 1.30, and a server of 1.30 none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.meta import datasets
from simkit.schema.releases import BASE, minor_of

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
