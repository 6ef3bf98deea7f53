"""Figures, looked at by their content."""

from __future__ import annotations

import inspect
import io
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from simkit.analysis import access_graph, audit, blast_radius, causes, compare, exposure, plots, reach, remediation_plan
from simkit.analysis.plots import (
    access_drift,
    access_heat_map,
    binding_graph,
    causes_bars,
    findings_by_severity,
    paths_figure,
    plan_curve,
    subjects_by_reach,
)
from simkit.analysis.plots.style import SEVERITY_COLOURS
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role, rule, world

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = world(
    role("secrets", rule("get,list", "secrets")),
    role("pods", rule("create", "pods", groups="*")),
    binding("b1", "secrets", "user:ann", "group:devs"),
    binding("b2", "pods", "sa:dev/app", namespace="dev"),
    binding("b3", "gone", "sa:dev/app", namespace="dev"),
)


def texts(figure: Figure) -> list[str]:
    """All texts of the first axes: labels of ticks, and what is written between them."""
    axes = figure.axes[0]
    ticks = [label.get_text() for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    return [*ticks, *(text.get_text().strip() for text in axes.texts)]


def whole(axes: Axes) -> Figure:
    """The figure of some axes."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def drawn(figure: Figure) -> bytes:
    """The figure as a PNG."""
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def test_a_bar_per_check() -> None:
    """Each check with findings has a bar with its number, in the colours of severity."""
    found = audit(SMALL).to_frame()
    figure = whole(findings_by_severity(found))
    axes, legend = figure.axes[0], figure.axes[0].get_legend()
    assert legend is not None
    assert {label.get_text() for label in axes.get_yticklabels()} == set(found["check"])
    assert axes.get_xlabel() == "findings"
    assert axes.get_title(loc="left") == f"{len(found)} findings by check and severity"
    assert [text.get_text() for text in legend.get_texts()] == [
        level for level in SEVERITY_COLOURS if level in set(found["severity"])
    ]
    assert sum(patch.get_width() for patch in axes.patches if isinstance(patch, Rectangle)) == len(found)
    assert drawn(figure).startswith(b"\x89PNG")


def test_a_bar_per_subject() -> None:
    """Each subject has two bars, the longest reach on top."""
    table = reach(SMALL)
    axes = subjects_by_reach(table)
    assert [label.get_text() for label in axes.get_yticklabels()] == list(table["subject"][::-1])
    assert len(axes.patches) == 2 * len(table)
    assert len(subjects_by_reach(table, top=1).patches) == 2


def test_a_field_per_namespace_and_power() -> None:
    """Fields hold the numbers of the table; nothing is written where nobody can."""
    matrix = exposure(SMALL)
    figure = whole(access_heat_map(matrix))
    shown = texts(figure)
    assert {"(whole cluster)", "dev", "secrets-list", "pod-create"} <= set(shown)
    assert len(figure.axes[0].texts) == int((matrix.to_numpy() > 0).sum())
    assert figure.axes[1].get_ylabel() == "subjects"


def test_a_line_per_subject_and_role() -> None:
    """Subjects and roles are labelled, missing roles marked, cluster-wide bindings drawn apart."""
    figure = whole(binding_graph(access_graph(SMALL)))
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert {"user:ann", "group:devs", "sa:dev/app", "ClusterRole gone (missing)"} <= set(shown)
    assert [len(lines.get_paths()) for lines in figure.axes[0].collections[:2]] == [2, 2]


def test_five_hundred_nodes_can_be_read() -> None:
    """On a big graph no two labels of a column overlap."""
    objects = [role(f"role-{number}") for number in range(250)]
    objects += [
        binding(f"b{number}", f"role-{number}", f"user:u{number}", f"user:u{number // 2}") for number in range(250)
    ]
    figure = whole(binding_graph(access_graph(MemorySnapshot(objects, captured=["*"])), fold=False))
    figure.draw_without_rendering()
    for left in (True, False):
        boxes = [text.get_window_extent() for text in figure.axes[0].texts if (text.get_position()[0] < 0.5) is left]
        heights = sorted((box.y0, box.y1) for box in boxes)
        assert all(upper[0] >= lower[1] - 1 for lower, upper in pairwise(heights))


@pytest.mark.parametrize(
    "axes",
    [
        findings_by_severity(audit(world()).to_frame()),
        subjects_by_reach(reach(world())),
        access_heat_map(exposure(world())),
        binding_graph(access_graph(world())),
        causes_bars(causes(world()).to_frame()),
        plan_curve(remediation_plan(world()).to_frame(), before=(0, 0, 0)),
        paths_figure([]),
    ],
)
def test_empty_results_can_be_drawn(axes: Axes) -> None:
    """An empty cluster gives an empty figure, not an error."""
    assert drawn(whole(axes)).startswith(b"\x89PNG")


def test_every_plot_draws_into_axes_that_are_given() -> None:
    """And gives those axes back, as matplotlib's own functions do; each is listed in the gallery with a picture."""
    gallery = (Path(__file__).resolve().parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name in plots.__all__:
        function = getattr(plots, name)
        assert "ax" in inspect.signature(function).parameters
        assert f"`{name}`" in gallery
    mine: Axes = Figure().subplots()
    assert findings_by_severity(audit(SMALL).to_frame(), ax=mine) is mine
    assert blast_radius(SMALL, "user:ann").plot(ax=mine) is mine
    assert binding_graph(access_graph(SMALL), ax=mine) is mine


def test_one_role_is_no_roles() -> None:
    """Numbers have their nouns."""
    axes = binding_graph(access_graph(MemorySnapshot([role("r"), binding("b", "r", "user:ann")], captured=["*"])))
    assert axes.get_title(loc="left").startswith("1 subject, 1 binding to 1 role")


def test_like_ends_of_bindings_are_folded() -> None:
    """A big graph has a row for the accounts of a namespace, for people with the same roles, for roles of a product."""
    objects = [role(f"shop-{number}", rule("get", "pods")) for number in range(60)]
    objects += [binding(f"b{number}", f"shop-{number}", f"sa:shop/app-{number}") for number in range(60)]
    objects += [binding(f"p{number}", "shop-0", f"user:u{number}", namespace="dev") for number in range(30)]
    axes = binding_graph(access_graph(MemorySnapshot(objects, captured=["*"])))
    shown = {text.get_text() for text in axes.texts}
    assert "60 service accounts shop/app-*" in shown
    assert "59 roles shop-*" in shown
    assert any(text.startswith("30 users") for text in shown)
    assert "folded into" in axes.get_title(loc="left")
    assert "90 subjects, 90 bindings to 60 roles" in axes.get_title(loc="left")


def test_more_rows_than_a_page_are_folded_over_namespaces() -> None:
    """Two hundred namespaces with two accounts each, which all have the same role, are one row."""
    objects = [role("agent", rule("get", "pods"))]
    subjects = [f"sa:team-{number}/agent-{one}" for number in range(201) for one in range(2)]
    objects.append(binding("agents", "agent", *subjects))
    axes = binding_graph(access_graph(MemorySnapshot(objects, captured=["*"])))
    assert "402 service accounts team-*" in {text.get_text() for text in axes.texts}
    assert "folded into 2 rows" in axes.get_title(loc="left")


def test_folded_ends_with_the_same_text_stay_apart() -> None:
    """Teams of the same size, whose people are named alike, have different roles."""
    objects = [role("dev", rule("get", "pods"), namespace=f"team-{number}") for number in range(20)]
    for number in range(200):
        team = f"team-{number % 20}"
        objects.append(binding(f"b{number}", "dev", f"user:person-{number:03}", namespace=team, local=True))
    axes = binding_graph(access_graph(MemorySnapshot(objects, captured=["*"])))
    assert "200 subjects, 200 bindings to 20 roles" in axes.get_title(loc="left")
    assert [text.get_text() for text in axes.texts].count("10 users person-*") == 20


def test_a_bar_each_way_per_subject() -> None:
    """Gains point to the right, losses to the left; the most changed subject is on top."""
    roles = [role("few", rule("get", "pods")), role("many", rule("get,list,watch", "pods,secrets"))]
    before = world(*roles, binding("a", "few", "user:ann", "sa:dev/app"))
    after = world(*roles, binding("a", "many", "user:bob", "user:ann"))
    axes = access_drift(compare(before, after))
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["sa:dev/app", "user:ann", "user:bob"]
    widths = sorted(bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle) and bar.get_width())
    assert widths == [-1, 5, 6]
    assert "3 subjects" in axes.get_title(loc="left")
    assert drawn(whole(access_drift(compare(before, before))))
    admin = world(
        *roles,
        role("all", rule("*", "*", groups="*")),
        binding("a", "many", "user:bob"),
        binding("b", "all", "user:eve"),
    )
    shown = texts(whole(access_drift(compare(before, admin))))
    assert "everything" in shown
    assert [text for text in shown if text.startswith(("user:", "sa:"))][-1] == "user:eve"


def test_pictures_of_large_clusters_stay_bounded() -> None:
    """The widest bindings and the fullest namespaces are drawn, and the title says of how many."""
    objects = [role("r", rule("list", "secrets"))]
    objects += [binding(f"b-{number}", "r", f"user:u-{number}", namespace=f"ns-{number}") for number in range(700)]
    objects += [binding("wide", "r", "user:widest")]
    snapshot = MemorySnapshot(objects, captured=["*"])
    figure = whole(binding_graph(access_graph(snapshot), most=20, fold=False))
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert "user:widest" in texts
    assert len(texts) == 20
    assert figure.axes[0].get_title(loc="left").endswith("the widest of 701")
    heat = whole(access_heat_map(exposure(snapshot), top=5))
    assert len(heat.axes[0].get_yticklabels()) == 6
    assert "node-proxy" not in texts_of_columns(heat), "nobody holds it"
    assert "secrets-list" in texts_of_columns(heat)
    assert "the 6 fullest of 701 rows" in heat.axes[0].get_title(loc="left")


def texts_of_columns(heat: Figure) -> set[str]:
    return {label.get_text() for label in heat.axes[0].get_xticklabels()}


def test_a_notebook_shows_a_figure_without_a_magic() -> None:
    """IPython finds a picture of every figure in the figure itself."""
    from IPython.core.formatters import DisplayFormatter

    formatter: Any = DisplayFormatter()
    formats, _ = formatter.format(findings_by_severity(audit(SMALL).to_frame()))
    assert formats["image/png"].startswith(b"\x89PNG")
