"""Pictures, looked at as a reader does: messages that follow from the data, and texts that can be read."""

from __future__ import annotations

import inspect
import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from simkit.analysis import (
    access_graph,
    audit,
    blast_radius,
    causes,
    compare,
    escalations,
    exposure,
    plots,
    reach,
    remediation_plan,
    timeline,
)
from simkit.analysis.plots.style import fitted, inches, listed, wrapped
from simkit.meta.errors import SimkitError
from simkit.present.colours import TOKENS
from tests.analysis.escalation.scenes import ATTACKER, scene
from tests.analysis.plots_looked_at import assert_readable, message, texts, whole
from tests.analysis.worlds import binding, role, rule, world

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from simkit.snapshot.memory import MemorySnapshot

SMALL = world(
    role("secrets", rule("get,list", "secrets")),
    role("pods", rule("create", "pods", groups="*")),
    binding("b1", "secrets", "user:ann", "group:devs"),
    binding("b2", "pods", "sa:dev/app", namespace="dev"),
    binding("b3", "gone", "sa:dev/app", namespace="dev"),
)
ADMIN = (role("cluster-admin", rule("*", "*", groups="*")), binding("ops-admin", "cluster-admin", "sa:ops/admin"))
LONG = "a-name-that-somebody-made-as-long-as-they-could"
WIDE = "DejaVu Sans Mono"


def crowd(count: int) -> MemorySnapshot:
    """A cluster in which so many subjects with long names can reach cluster-admin."""
    roles = [role(f"{LONG}-{number}", rule("create", "serviceaccounts/token")) for number in range(count // 20)]
    bound = [
        binding(f"b-{number}", f"{LONG}-{number % (count // 20)}", f"user:{LONG}-{number}", namespace="ops")
        for number in range(count)
    ]
    places = [binding("wide", "secrets", f"sa:ns-{number}/{LONG}", namespace=f"ns-{number}") for number in range(40)]
    risky = role("secrets", rule("*", "secrets,pods,nodes,serviceaccounts/token,pods/exec"))
    return world(*ADMIN, risky, *roles, *bound, *places, *scene(rule("create", "pods"), place="ops"))


@cache
def drawings(kind: str) -> dict[str, Callable[[], Axes]]:
    """How to draw each picture of an empty cluster, a small one, and one with a thousand subjects."""
    snapshot = SMALL if kind == "small" else crowd(1000) if kind == "huge" else world()
    before, who = (SMALL, "user:ann") if kind == "small" else (world(), ATTACKER)
    found, ways, plan = audit(snapshot), escalations(snapshot, goal="cluster-admin"), remediation_plan(snapshot, best=2)
    radius, drift, made = blast_radius(snapshot, who), compare(before, snapshot), causes(snapshot)
    pods = [("ns", f"Deployment/{LONG}-{number}", 3, number % 3, 2, 3) for number in range(len(found))]
    columns = ["namespace", "workload", "ready_before", "ready_least", "ready_after", "wanted"]
    workloads, matrix, held = pd.DataFrame(pods, columns=columns), exposure(snapshot), reach(snapshot)
    lanes = timeline(None if kind == "huge" else ["batch"]).head(0 if kind == "empty" else 1000)
    return {
        "findings": found.plot,
        "reach": lambda: plots.subjects_by_reach(held),
        "exposure": lambda: plots.access_heat_map(matrix),
        "roles": lambda: plots.subjects_by_role(access_graph(snapshot)),
        "causes": made.plot,
        "plan": plan.plot,
        "paths": ways.plot,
        "radius": radius.plot,
        "drift": lambda: plots.access_drift(drift),
        "operation": lambda: plots.operation_bars(workloads),
        "timeline": lambda: plots.version_timeline(lanes, now="1.30", target="1.33"),
        "lanes": lanes.plot,
        "past": lambda: plots.access_over_time(past_lanes({"empty": 0, "small": 1, "huge": 30}[kind])),
    }


def past_lanes(count: int) -> dict[str, pd.DataFrame]:
    """So many permissions that were granted and taken away within two days, by names as long as they can be."""
    day = pd.Timestamp("2026-03-03T00:00:00Z")
    columns = ["from", "to", "verdict", "changed_by", "object"]
    lanes = {}
    for number in range(count):
        moments = [day + pd.Timedelta(hours=hours) for hours in (0, 5 + number, 40, 48)]
        rows = zip(moments, moments[1:], ("no", "yes", "unknown"), ("", f"user:{LONG}", ""), ("", f"Role {LONG}", ""))
        lanes[f"user:{LONG}-{number}: get secrets"] = pd.DataFrame(list(rows), columns=columns)
    return lanes


def test_messages_about_the_past() -> None:
    """They say how much was held, and what is still held; who granted it stands beside the name."""
    [(name, rows)] = past_lanes(1).items()
    assert message(plots.access_over_time({name: rows})) == f"{name} was allowed for 73% of the time"
    assert message(plots.access_over_time({name: rows[:2]})).endswith("88% of the time, and still is at the end")
    assert "granted by user:" in texts(plots.access_over_time({name: rows}))
    assert message(plots.access_over_time(past_lanes(3))) == "3 of 3 permissions were held at some time, 0 at the end"
    assert (
        message(plots.access_over_time({name: rows[2:]})) == "None of the permissions was held at a time that is known"
    )
    assert "21 lanes left out" in texts(plots.access_over_time(past_lanes(30)))


@pytest.mark.parametrize(
    ("kind", "paper", "font"),
    [
        *(("empty", "light", "DejaVu Sans"), ("small", "dark", WIDE)),
        *(pytest.param("huge", *look, marks=pytest.mark.slow) for look in (("light", WIDE), ("dark", ""))),
    ],
)
def test_every_text_can_be_read(kind: str, paper: Any, font: str) -> None:
    """Large enough, whole and apart, of no, few and a thousand subjects, on both papers and in a wide font."""
    for draw in drawings(kind).values():
        with plots.theme(paper), matplotlib.rc_context({"font.family": font} if font else {}):
            axes = draw()
            assert_readable(axes)
        assert to_hex(whole(axes).get_facecolor()).upper() == TOKENS["paper"][paper == "dark"]
        assert message(axes)


def test_messages_say_what_the_data_say() -> None:
    """Each is computed; numbers have their nouns."""
    said = {name: message(draw()) for name, draw in drawings("small").items()}
    assert said["roles"] == "The role with the most subjects is ClusterRole secrets, with 2 subjects"
    assert said["exposure"] == "2 subjects can list or watch secrets in the whole cluster"
    assert said["drift"] == "Nobody's access changed"
    assert "1 bound role does not exist" in texts(drawings("small")["roles"]())
    assert message(drawings("empty")["causes"]()) == "No root cause was found"
    steps = pd.DataFrame([("a", 60, 3, 9), ("b", 55, 3, 9)], columns=["change", "remaining", "subjects", "findings"])
    planned = plots.plan_bars(steps, before=(100, 4, 12), diminishing_after=1)
    assert message(planned) == "One change closes 40% of the escalation paths; 1 more closes another 5%"
    rows = pd.DataFrame(
        [("x", "mistake", 9, 0), ("y", "unused", 1, 2)], columns=["cause", "nature", "paths", "through"]
    )
    assert message(plots.causes_bars(rows)) == "One root cause starts 9 of 10 escalation paths (90%)"


def test_workloads_without_a_ready_pod_are_no_bars() -> None:
    """An operation takes nothing from them; a key names only the colours that are drawn."""
    columns = ["namespace", "workload", "ready_before", "ready_least", "ready_after"]
    pods = pd.DataFrame([("a", "Deployment/idle", 0, 0, 1), ("a", "Deployment/web", 2, 1, 2)], columns=columns)
    axes = plots.operation_bars(pods, name="drain of one")
    assert message(axes) == "Every workload keeps a ready pod during the drain of one"
    assert "1 more had none before" in texts(axes)
    assert "are lost" not in texts(axes)
    assert message(plots.operation_bars(pods[:1])) == "No workload has a ready pod during the operation"


def test_a_matrix_of_resources_names_none_of_many_alike() -> None:
    """Its message counts them, and numbers fit into their fields."""
    names = [f"resource-{number}.a-group-of-its-own.{LONG}.example" for number in range(40)]
    matrix = pd.DataFrame(
        [[1285] * 40], index=pd.Index(["*"], name="namespace"), columns=pd.Index(names, name="resource")
    )
    axes = plots.access_heat_map(matrix)
    assert message(axes) == "1,285 subjects can use each of 40 kinds of resources in the whole cluster"
    assert_readable(axes)


def test_who_gained_and_lost() -> None:
    """Whoever gained everything is named first."""
    roles = [*ADMIN[:1], role("few", rule("get", "pods")), role("many", rule("get,list,watch", "pods,secrets"))]
    before = world(*roles, binding("a", "few", "user:ann", "sa:dev/app"))
    after = world(*roles, binding("a", "many", "user:bob", "user:ann"), binding("b", "cluster-admin", "user:eve"))
    axes = plots.access_drift(compare(before, after))
    assert message(axes) == "user:eve gained everything; 2 subjects gained 11 permissions; sa:dev/app lost 1 permission"
    assert {"everything gained", "6 gained", "1 lost"} <= {text.get_text() for text in axes.texts}


def test_every_plot_draws_into_axes_that_are_given() -> None:
    """And gives those axes back, as matplotlib's own functions do; each is listed in the gallery with a picture."""
    gallery = (Path(__file__).resolve().parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name in {*plots.__all__} - {"theme"}:
        assert "ax" in inspect.signature(getattr(plots, name)).parameters
        assert f"`{name}`" in gallery
    mine: Axes = Figure(figsize=(4, 3)).subplots()
    for draw in (audit(SMALL).plot, blast_radius(SMALL, "user:ann").plot, escalations(SMALL).plot):
        assert draw(ax=mine) is mine
    assert plots.version_timeline(timeline(["batch"]), ax=mine) is mine
    assert plots.access_heat_map(exposure(SMALL), ax=mine) is mine
    assert mine.get_title(loc="left")


def test_there_are_two_themes() -> None:
    """A wrong name is no light picture."""
    with pytest.raises(SimkitError, match="'drak'; the themes are light and dark"):
        plots.theme("drak")  # type: ignore[arg-type]


def test_a_notebook_shows_a_figure_without_a_magic() -> None:
    """IPython finds a picture of every figure in the axes, and those can be saved."""
    from IPython.core.formatters import DisplayFormatter

    formatter: Any = DisplayFormatter()
    formats, _ = formatter.format(audit(SMALL).plot())
    assert formats["image/png"].startswith(b"\x89PNG")
    saved = io.BytesIO()
    drawings("small")["drift"]().savefig(saved, format="svg")  # type: ignore[attr-defined]
    assert b"<svg" in saved.getvalue()


def test_names_that_are_too_long_keep_both_ends() -> None:
    """Texts are broken at spaces, then within names, and cut only where nothing else is left."""
    assert wrapped("one two", inches("one tw")) == ["one", "two"]
    assert wrapped("user:ann/bob", inches("user:ann/")) == ["user:ann/", "bob"]
    cut = fitted(LONG, 2)
    assert (cut[:5], cut[-5:], "…" in cut) == ("a-nam", "could", True)
    assert inches(cut) <= 2
    assert listed(["somebody", "nobody", "anybody"], inches("somebody and 2 more")) == "somebody and 2 more"
