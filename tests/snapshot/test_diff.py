"""Differences between snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import GroupResource, Key
from simkit.snapshot.diff import ABSENT, FieldChange, difference, field_changes
from simkit.snapshot.memory import MemorySnapshot

MAPS = GroupResource("", "configmaps")
NODES = GroupResource("", "nodes")


def config(name: str, version: str = "1", **data: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "shop", "resourceVersion": version}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def test_objects_come_go_and_change() -> None:
    """A new resourceVersion alone is no change."""
    before = MemorySnapshot([config("a", x="1"), config("b"), config("c")])
    after = MemorySnapshot([config("a", x="2", y="3"), config("b", "2"), config("d")])
    found = difference(before, after)
    assert found.added == (Key(MAPS, "shop", "d"),)
    assert found.removed == (Key(MAPS, "shop", "c"),)
    assert found.changed == {
        Key(MAPS, "shop", "a"): (FieldChange("data.x", "1", "2"), FieldChange("data.y", ABSENT, "3")),
    }
    assert "data.y: absent -> '3'" in repr(found)
    assert difference(before, after, ignore=())
    assert not difference(before, before)


def test_only_resources_captured_in_both_are_compared() -> None:
    """A resource that one of them lacks is named, and a question about it is an error."""
    before, after = MemorySnapshot([config("a")]), MemorySnapshot([config("a")], captured=["configmaps", "nodes"])
    found = difference(before, after)
    assert not found
    assert found.not_compared == {NODES}
    with pytest.raises(IncompleteSnapshot):
        difference(before, after, resources=[NODES])


values = st.recursive(
    st.integers(0, 2) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "b", "x/y"]), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(values, values)
def test_no_change_means_equal(before: Any, after: Any) -> None:
    """There is a change exactly where the values differ, and none has equal sides."""
    changes = list(field_changes(before, after))
    assert bool(changes) == (repr(before) != repr(after)) or before == after
    assert all(repr(change.before) != repr(change.after) for change in changes)


def test_paths_quote_odd_keys() -> None:
    """Labels have dots and slashes in their keys."""
    (change,) = field_changes({"labels": {"app.example/x": "1"}}, {"labels": {"app.example/x": "2"}})
    assert change.path == "labels['app.example/x']"


def test_long_values_are_shortened_in_descriptions() -> None:
    """A line stays a line; the change itself keeps the whole value."""
    (change,) = field_changes({"x": "a" * 500}, {"x": "b"})
    assert len(str(change)) < 100
    assert change.before == "a" * 500
