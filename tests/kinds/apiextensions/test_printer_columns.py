"""Printer columns: paths into objects and cells."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.kinds.apiextensions.printer_columns import BadPath, cell, find_values, parse_json_path

OBJ: dict[str, Any] = {
    "metadata": {"name": "w", "creationTimestamp": "1970-01-01T00:00:00Z", "labels": {"a.b/c": "x"}},
    "spec": {"n": 3, "f": 1.5, "b": True, "l": ["p", "q"], "o": {"k": 1}, "dash-ed": "-"},
    "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Synced", "status": "True", "n": 2}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.n", [3]),
        (".spec.dash-ed", ["-"]),
        (".spec.l[1]", ["q"]),
        (".spec.l[-1]", ["q"]),
        (".spec.l[0:1]", ["p"]),
        (".spec.l[*]", ["p", "q"]),
        (".spec.none.deeper", []),
        (".metadata.labels['a\\.b/c']", ["x"]),
        (".metadata.labels.a\\.b/c", ["x"]),
        ('.status.conditions[?(@.type=="Synced")].status', ["True"]),
        (".status.conditions[?(@.type == 'Ready')].status", ["False"]),
        (".status.conditions[?(@.n > 1)].type", ["Synced"]),
        (".status.conditions[?(@.n)].type", ["Synced"]),
        (".spec.o.*", [1]),
    ],
)
def test_paths(path: str, found: list[Any]) -> None:
    """A path leads to values, or to none."""
    assert list(find_values(OBJ, path)) == found


@pytest.mark.parametrize("path", [".spec.l[?(x)]", ".spec.l[a]", "spec n]", ".a[", ".spec.l[?(@.a=~/x/)]"])
def test_broken_paths(path: str) -> None:
    """A malformed path gives an empty cell."""
    with pytest.raises(BadPath):
        parse_json_path(path)
    assert cell(OBJ, {"jsonPath": path, "type": "string"}, 0) is None


@pytest.mark.parametrize(
    ("kind", "path", "shown"),
    [
        ("integer", ".spec.n", 3),
        ("integer", ".spec.f", 1),
        ("integer", ".spec.b", None),
        ("number", ".spec.f", 1.5),
        ("boolean", ".spec.b", True),
        ("boolean", ".spec.n", None),
        ("string", ".spec.n", "3"),
        ("string", ".spec.b", "true"),
        ("string", ".spec.o", '{"k":1}'),
        ("string", ".spec.l", '["p","q"]'),
        ("date", ".metadata.creationTimestamp", "50s"),
        ("date", ".spec.dash-ed", "<invalid>"),
        ("date", ".spec.n", None),
        ("string", ".spec.none", None),
    ],
)
def test_cells(kind: str, path: str, shown: Any) -> None:
    """A value of the column's type, a text for any value, an age for a time."""
    assert cell(OBJ, {"jsonPath": path, "type": kind}, 50) == shown
