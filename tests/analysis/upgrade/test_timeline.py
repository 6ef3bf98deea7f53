"""Lanes and calendars of versions, and their figure."""

from __future__ import annotations

from datetime import date
from typing import Any

from matplotlib.patches import Rectangle

from simkit import Cluster
from simkit.analysis.plots.timeline import timeline as drawn
from simkit.analysis.upgrade.timeline import calendar, timeline
from simkit.logic.lifecycle import read_history
from tests.analysis.plots_looked_at import message, texts

OWN = """
releases: [{name: r0, date: 2024-01-01}, {name: r1, date: 2024-05-01}, {name: r2, date: 2024-09-01}]
groups:
- name: shop.example.com
  versions:
  - {name: v1beta1, introduced: r0, deprecated: r1, removed: r4, replacement: v1}
  - {name: v1, introduced: r1}
"""
FLOW = "flowcontrol.apiserver.k8s.io"


def event(user: str, api_version: str, resource: str, number: int) -> dict[str, Any]:
    group, _, version = api_version.rpartition("/")
    return {
        "auditID": f"{number}",
        "verb": "list",
        "user": {"username": user},
        "userAgent": "tool/1",
        "requestURI": f"/apis/{api_version}/{resource}",
        "objectRef": {"apiGroup": group, "apiVersion": version, "resource": resource},
    }


def test_lanes_of_a_groups_versions() -> None:
    """Each phase has its first release and the one that ends it."""
    lanes = timeline([FLOW], kinds=["FlowSchema"])
    rows = lanes[lanes["api_version"] == f"{FLOW}/v1beta3"][["phase", "first", "until"]].values.tolist()
    assert rows == [["beta", "1.26", "1.29"], ["deprecated", "1.29", "1.32"]]
    assert lanes[lanes["api_version"] == f"{FLOW}/v1"]["until"].tolist() == [""]


def test_lanes_count_who_is_still_there() -> None:
    """Objects by the version that their managers wrote, callers by user and program."""
    cluster = Cluster(seed=1)
    version = f"{FLOW}/v1beta3"
    cluster.create(
        {
            "apiVersion": version,
            "kind": "FlowSchema",
            "metadata": {"name": "mine"},
            "spec": {"priorityLevelConfiguration": {"name": "global-default"}},
        }
    )
    requests = [event(user, version, "flowschemas", number) for number, user in enumerate(["ann", "bob", "ann"])]
    lanes = timeline([FLOW], snapshot=cluster.snapshot(), audit_log=requests)
    row = lanes[(lanes["api_version"] == version) & (lanes["kind"] == "FlowSchema")].iloc[0]
    assert (row["objects"], row["callers"]) == (1, 2)


def test_ones_own_history_has_lanes_and_a_calendar() -> None:
    """Releases that are still to come are expected ones."""
    history = read_history(OWN)
    assert timeline(history=history)["lane"].tolist() == ["shop.example.com/v1beta1"] * 2 + ["shop.example.com/v1"]
    events = calendar(history=history)
    assert events[["release", "event", "api_version", "expected"]].values.tolist() == [
        ["r0", "introduced", "shop.example.com/v1beta1", False],
        ["r1", "deprecated", "shop.example.com/v1beta1", False],
        ["r1", "introduced", "shop.example.com/v1", False],
        ["r4", "removed", "shop.example.com/v1beta1", True],
    ]


def test_removals_that_are_planned() -> None:
    """A version whose end is announced has one on its lane, and in the calendar as an expected event."""
    lanes = timeline(["resource.k8s.io"], kinds=["ResourceClaim"])
    until = {row.api_version: row.until for row in lanes.itertuples() if row.phase == "deprecated"}
    assert (until["resource.k8s.io/v1beta1"], until["resource.k8s.io/v1beta2"]) == ("1.38", "1.39")
    events = calendar(["resource.k8s.io"], first="1.38", last="1.38")
    rows = events[events["kind"] == "ResourceClaim"][["event", "expected", "api_version", "replacement"]]
    assert rows.values.tolist() == [["removed", True, "resource.k8s.io/v1beta1", "resource.k8s.io/v1"]]


def test_replacements_are_served() -> None:
    """What was recommended at first may be gone itself by now."""
    events = calendar(["autoscaling"])
    old = events[events["api_version"] == "autoscaling/v2beta1"]
    assert old[["event", "replacement"]].values.tolist() == [
        ["introduced", ""], ["deprecated", "autoscaling/v2"], ["removed", "autoscaling/v2"]
    ]  # fmt: skip


def test_a_calendar_can_be_cut() -> None:
    """From one release to another."""
    events = calendar(["batch"], first="1.21", last="1.25")
    assert set(events["release"]) == {"1.21", "1.25"}
    assert events[events["event"] == "removed"]["api_version"].tolist() == ["batch/v2alpha1", "batch/v1beta1"]


def test_the_figure_has_a_lane_a_version() -> None:
    """Kinds with the same versions share lanes, unused alphas are left out, releases and today are marked."""
    axes = drawn(timeline([FLOW]), now="1.30", target="1.33", today=date(2025, 1, 1))
    shown = [text.get_text() for text in axes.texts]
    assert "FlowSchema, PriorityLevelConfiguration" in shown
    assert [text for text in shown if text.startswith("v")] == [
        *("v1beta1, gone in 1.26", "v1beta2, gone in 1.29", "v1beta3, gone in 1.32", "v1"),
    ]
    assert {"1.30 now", "1.33 target", "today"} <= set(shown)
    assert message(axes) == "6 of 10 versions are gone at 1.30; 2 more by 1.33"
    assert "2 versions left out" in texts(axes)


def test_planned_ends_are_hatched_and_users_come_first() -> None:
    """Of many lanes, as many are drawn as wanted: those with users before those that go late."""
    lanes = timeline(["apps", "resource.k8s.io"])
    lanes["objects"] = [3 if row.lane == "apps/v1beta1 StatefulSet" else 0 for row in lanes.itertuples()]
    axes = drawn(lanes, lanes=7, today=date(2026, 1, 1))
    assert "v1beta1, gone in 1.16, 3 objects" in texts(axes)
    assert message(drawn(lanes, now="1.15", target="1.16")).endswith("more by 1.16, 1 in use")
    assert any(bar.get_hatch() and bar.get_width() > 0 for bar in axes.patches if isinstance(bar, Rectangle))
    assert len({round(bar.get_y(), 3) for bar in axes.patches if isinstance(bar, Rectangle)}) <= 7


def test_ones_own_alpha_versions_are_drawn() -> None:
    """Only those of Kubernetes are left out."""
    history = read_history(OWN.replace("v1beta1", "v1alpha1"))
    axes = drawn(timeline(history=history), calendar=history.calendar, today=date(2024, 6, 1))
    assert "v1alpha1, gone in r4" in texts(axes)
