"""The pictures of paths and of a blast radius."""

from __future__ import annotations

import pytest

from simkit.analysis.escalation import blast_radius, escalations
from simkit.analysis.plots import paths_figure
from tests.analysis.escalation.scenes import ATTACKER, scene
from tests.analysis.plots_looked_at import assert_readable, message, texts
from tests.analysis.worlds import binding, role, rule, world

pytestmark = pytest.mark.slow

ADMIN = (role("cluster-admin", rule("*", "*", groups="*")), binding("ops-admin", "cluster-admin", "sa:ops/admin"))
SNAPSHOT = world(*ADMIN, *scene(rule("create", "serviceaccounts/token"), rule("create", "pods"), place="ops"))


def test_paths_are_drawn_once_with_their_steps() -> None:
    """Shared endings once, each step in words and without its code, the binding that a path begins with."""
    paths = escalations(SNAPSHOT, ATTACKER, goal="cluster-admin", ways="each")
    axes = paths.plot()
    shown = texts(axes)
    assert [text.get_text() for text in axes.texts].count("sa:ops/admin") == 1
    assert "Requests tokens of service accounts" in shown
    assert "C5" not in shown
    assert "by RoleBinding ops/attack" in shown
    assert message(paths[0].plot()).startswith("sa:dev/attacker can reach cluster-admin through ")
    assert message(paths_figure([])) == "No escalation path was found"


@pytest.mark.parametrize("count", [30, 3000])
def test_many_paths_are_a_page(count: int) -> None:
    """Like starts are one box; the others are counted below."""
    binders = [binding(f"b{number}", "rules", f"user:u{number}", namespace="ops") for number in range(count // 3)]
    crowd = binding("crowd", "rules", *(f"group:g{number}" for number in range(count // 3)), namespace="ops")
    attack = scene(rule("create", "serviceaccounts/token"), place="ops")
    axes = escalations(world(*attack, *ADMIN, *binders, crowd), goal="cluster-admin").plot()
    assert f"{count // 3:,} groups" in texts(axes)
    assert "of them through sa:ops/admin" in message(axes)
    assert_readable(axes)


def test_a_blast_radius_is_bars_by_kind() -> None:
    """By hops, with the names of the nearest, and harm in words."""
    radius = blast_radius(SNAPSHOT, ATTACKER)
    assert message(radius.plot()).startswith("sa:dev/attacker can reach cluster-admin in 1 hop and act as ")
    assert "Service accounts: " in texts(radius.plot())
    assert "impact" not in texts(radius.plot())
    assert message(blast_radius(world(), "user:alice").plot()) == "user:alice can act as nobody else"
