"""Saving: what is written is read as the same, and is the same bytes each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simkit.meta.errors import SimkitError
from simkit.snapshot.load import load
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.save import rendered, save

KINDS = (
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("v1", "Node"),
    ("zoo.example/v1", "Mouse"),
)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
names = st.text("abc-.", min_size=1, max_size=4)
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | words
fields = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6
)


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    api_version, kind = draw(st.sampled_from(KINDS))
    metadata: dict[str, Any] = {"name": draw(names)}
    if kind not in ("Node", "Mouse"):
        metadata["namespace"] = draw(names)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "data": draw(fields)}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(objects(), max_size=5),
    st.lists(st.sampled_from(["pods", "roles", "nodes", "events"])),
    st.sampled_from(["json", "yaml", "json.gz", "yml.gz"]),
)
def test_a_dump_survives(tmp_path: Path, values: list[dict[str, Any]], captured: list[str], ending: str) -> None:
    """Objects, what was captured, and resources without objects."""
    dump = load(values, captured=captured, secrets=True)
    path = save(dump, tmp_path / f"dump.{ending}")
    again = load(path, secrets=True)
    assert dict(again.keyed) == dict(dump.keyed)
    assert again.captured == dump.captured
    assert not again.lost
    first = path.read_bytes()
    assert save(again, path).read_bytes() == first
    assert save(load(list(reversed(dump.objects)), captured=captured, secrets=True), path).read_bytes() == first


def test_resources_that_were_not_captured_stay_so() -> None:
    """A list that broke off does not become whole by being saved."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r", "namespace": "x"}}
    page = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleList",
        "metadata": {"continue": "x"},
        "items": [role],
    }
    again = load(rendered(load(page)))
    assert again.objects == (role,)
    assert not again.captured


def test_a_snapshot_and_plain_objects_can_be_saved() -> None:
    """A snapshot keeps what it captured; of plain objects the later duplicate counts."""
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    snapshot = MemorySnapshot([node], captured=["nodes", "events"])
    again = load(rendered(snapshot, "yaml"))
    assert again.objects == (node,)
    assert again.captured == snapshot.captured()
    assert load(rendered([node, {**node, "spec": {}}])).objects == ({**node, "spec": {}},)


def test_the_ending_says_how_to_write(tmp_path: Path) -> None:
    """An unknown one is an error that names those there are."""
    with pytest.raises(SimkitError, match=r"\.json, \.yaml"):
        save([], tmp_path / "dump.toml")
