"""The pictures of paths and of a blast radius."""

from __future__ import annotations

from simkit.analysis.escalation import blast_radius, escalations
from simkit.analysis.plots.paths import paths_figure
from tests.analysis.escalation.scenes import ATTACKER, scene
from tests.analysis.worlds import binding, role, rule, world

SNAPSHOT = world(
    role("cluster-admin", rule("*", "*", groups="*")),
    binding("ops-admin", "cluster-admin", "sa:ops/admin"),
    *scene(rule("create", "serviceaccounts/token"), rule("create", "pods"), place="ops"),
)


def texts(figure: object) -> str:
    """All that is written in a figure."""
    return " ".join(text.get_text() for axes in figure.axes for text in (*axes.texts, axes.title, axes._left_title))  # type: ignore[attr-defined]


def test_paths_are_drawn_once_with_their_primitives() -> None:
    """Places in columns, common ones once, arrows with ids."""
    paths = escalations(SNAPSHOT, ATTACKER, goal="cluster-admin", ways="each")
    shown = texts(paths.plot())
    assert shown.count("sa:ops/admin") == 1
    assert "C5" in shown
    assert "D1" in shown
    assert "An escalation path" in texts(paths[0].plot())
    assert "0 escalation paths" in texts(paths_figure([]))


def test_every_place_lies_on_the_paper() -> None:
    """Boxes and labels stand within the limits of the axes, so that a notebook does not blow the picture up."""
    radius = blast_radius(SNAPSHOT, ATTACKER)
    for figure in (escalations(SNAPSHOT, ATTACKER, ways="each").plot(), radius.plot()):
        [axes] = figure.axes
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        positions = [text.get_position() for text in axes.texts]
        assert positions
        assert all(left <= x <= right and low <= y <= high for x, y in positions)


def test_a_blast_radius_is_drawn_in_rings() -> None:
    """By hops; also of somebody who reaches nothing."""
    radius = blast_radius(SNAPSHOT, ATTACKER)
    assert "cluster-admin" in texts(radius.plot())
    assert "reaches 0 places" in texts(blast_radius(world(), "alice").plot()) or radius.cluster_admin
