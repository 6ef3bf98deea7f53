"""Overlays: put and removed objects over a base that stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import GroupResource, Key
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.overlay import OverlaySnapshot

MAPS = GroupResource("", "configmaps")
ROLES = GroupResource("rbac.authorization.k8s.io", "roles")
Names = tuple[str, str]
names = st.tuples(st.sampled_from("xy"), st.sampled_from("abc"))


def config(where: Names, value: str) -> dict[str, Any]:
    meta = {"namespace": where[0], "name": where[1]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"v": value}}


@pytest.mark.parametrize("few", [0, 64])
@given(st.sets(names), st.sets(names), st.sets(names))
def test_an_overlay_is_a_snapshot_of_the_result(
    few: int, base: set[Names], put: set[Names], removed: set[Names]
) -> None:
    """It answers as a snapshot made of the resulting objects would, however many objects it covers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simkit.snapshot.overlay.FEW", few)
        _is_the_result(base, put, removed)


def _is_the_result(base: set[Names], put: set[Names], removed: set[Names]) -> None:
    below = MemorySnapshot([config(where, "old") for where in base], captured=["configmaps"])
    overlay: Snapshot = OverlaySnapshot(
        below, [config(where, "new") for where in put], [Key(MAPS, *where) for where in removed]
    )
    wanted = dict.fromkeys(base - removed, "old") | dict.fromkeys(put, "new")
    result = MemorySnapshot([config(where, value) for where, value in wanted.items()], captured=["configmaps"])
    assert tuple(overlay.scan(MAPS)) == result.scan(MAPS)
    assert tuple(overlay.scan(MAPS, "x")) == result.scan(MAPS, "x")
    for where in base | put | removed:
        assert overlay.get(MAPS, where[1], where[0]) == result.get(MAPS, where[1], where[0])
    assert overlay.captured() == result.captured()
    assert len(below) == len(base)


def test_putting_does_not_capture() -> None:
    """One role does not tell which other roles there are."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r", "namespace": "x"}}
    overlay = OverlaySnapshot(MemorySnapshot([config(("x", "a"), "1")]), [role])
    assert overlay.captured() == {MAPS}
    assert overlay.get(ROLES, "r", "x") == role
    with pytest.raises(IncompleteSnapshot):
        overlay.scan(ROLES)
    with pytest.raises(IncompleteSnapshot):
        overlay.get(ROLES, "s", "x")


def test_overlays_can_be_stacked_and_show_both_views_of_events() -> None:
    """An overlay is a base for another one."""
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "x"}, "message": "old"}
    first = OverlaySnapshot(MemorySnapshot([event]), [{**event, "message": "new"}])
    views = GroupResource("events.k8s.io", "events")
    assert [each["note"] for each in first.scan(views)] == ["new"]
    second = OverlaySnapshot(first, remove=[Key(views, "x", "e")])
    assert list(second.scan(GroupResource("", "events"))) == list(second.scan(views)) == []
