"""The pictures of paths and of a blast radius."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from simkit.analysis.escalation import blast_radius, escalations
from simkit.analysis.plots.blast import blast_figure
from simkit.analysis.plots.paths import paths_figure
from tests.analysis.escalation.scenes import ATTACKER, scene
from tests.analysis.worlds import binding, role, rule, world

if TYPE_CHECKING:
    from matplotlib.axes import Axes

pytestmark = pytest.mark.slow

ADMIN = binding("ops-admin", "cluster-admin", "sa:ops/admin")
SNAPSHOT = world(
    role("cluster-admin", rule("*", "*", groups="*")),
    binding("ops-admin", "cluster-admin", "sa:ops/admin"),
    *scene(rule("create", "serviceaccounts/token"), rule("create", "pods"), place="ops"),
)


def texts(axes: Axes) -> str:
    """All that is written in a picture."""
    written = [text.get_text() for text in axes.texts]
    return " ".join(text.replace("\n", " ") for text in (*written, axes.get_title(), axes.get_title(loc="left")))


def test_paths_are_drawn_once_with_their_steps() -> None:
    """Shared endings once, each step in words, the binding that a path begins with in bold."""
    paths = escalations(SNAPSHOT, ATTACKER, goal="cluster-admin", ways="each")
    axes = paths.plot()
    shown = texts(axes)
    assert shown.count("sa:ops/admin") == 1
    assert "C5 Requests tokens of service accounts" in shown
    assert "D1 " in shown
    assert "RoleBinding ops/attack" in {text.get_text() for text in axes.texts if text.get_fontweight() == "bold"}
    assert "An escalation path" in texts(paths[0].plot())
    assert "0 escalation paths" in texts(paths_figure([]))


@pytest.mark.parametrize("count", [30, 300, 3000])
def test_many_paths_are_a_page(count: int) -> None:
    """Like starts, and like bindings, are one box each; nothing is written twice over the same place."""
    binders = [binding(f"b{number}", "rules", f"user:u{number}", namespace="ops") for number in range(count // 3)]
    crowd = binding("crowd", "rules", *(f"group:g{number}" for number in range(count // 3)), namespace="ops")
    all_of_it = role("cluster-admin", rule("*", "*", groups="*"))
    attack = scene(rule("create", "serviceaccounts/token"), place="ops")
    axes = escalations(world(*attack, all_of_it, ADMIN, *binders, crowd), goal="cluster-admin").plot()
    assert f"{count // 3:,} groups" in texts(axes)
    assert len(axes.texts) < 70
    figure = axes.get_figure(root=True)
    assert figure is not None
    assert figure.get_figheight() < 12
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]


def test_every_place_lies_on_the_paper() -> None:
    """Boxes and labels stand within the limits of the axes, so that a notebook does not blow the picture up."""
    radius = blast_radius(SNAPSHOT, ATTACKER)
    for axes in (escalations(SNAPSHOT, ATTACKER, ways="each").plot(), radius.plot()):
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        positions = [text.get_position() for text in axes.texts]
        assert positions
        assert all(left <= x <= right and low <= y <= high for x, y in positions)


def test_a_blast_radius_is_drawn_in_rings() -> None:
    """By hops; also of somebody who reaches nothing. Of many places of a kind their number is written."""
    radius = blast_radius(SNAPSHOT, ATTACKER)
    assert "cluster-admin" in texts(radius.plot())
    assert "reaches 0 places" in texts(blast_radius(world(), "alice").plot()) or radius.cluster_admin
    rows = [(f"sa:ns/{number}", "ServiceAccount", str(number), "ns", 1, 1.0, ()) for number in range(3000)]
    many = pd.DataFrame(rows, columns=["place", "kind", "name", "namespace", "hops", "cost", "primitives"])
    shown = texts(blast_figure("user:ann", many))
    assert "3,000 service accounts" in shown
    assert "1 hop" in shown
