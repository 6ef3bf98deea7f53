"""Table column definitions of built-in kinds, as data. The kinds' strategies fill them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from simkit.meta import datasets
from simkit.meta.names import GroupVersionResource


class Column(NamedTuple):
    """One column. Priority 0 is always shown, 1 only in wide output."""

    name: str
    type: str
    format: str
    priority: int

    def definition(self, description: str = "") -> dict[str, Any]:
        """The entry of ``columnDefinitions``."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": description,
            "priority": self.priority,
        }


@cache
def _table(release: str) -> dict[str, Any]:
    resources: dict[str, Any] = datasets.load(f"api/{release}/columns.json")["resources"]
    return resources


def _of_other_version(table: Mapping[str, Any], resource: GroupVersionResource) -> Any:
    """The row of the resource in another version of its group."""
    start, end = f"{resource.group}/" if resource.group else "", f"/{resource.resource}"
    return next((row for name, row in table.items() if name.startswith(start) and name.endswith(end)), None)


@cache
def columns_of(resource: GroupVersionResource, release: str = "1.30") -> tuple[Column, ...]:
    """The columns of a resource, in order; empty if the release has no table for it."""
    table = _table(release)
    row = table.get(f"{resource.group_version}/{resource.resource}")
    if row is None:
        later = datasets.load("api/releases/columns.json")
        row = later.get(f"{resource.group}/{resource.resource}") or _of_other_version(table, resource)
    return tuple(Column(*column) for column in row["columns"]) if row else ()
