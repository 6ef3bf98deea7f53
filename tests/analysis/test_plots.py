"""Figures, looked at by their content."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from simkit.analysis import access_graph, audit, compare, exposure, reach
from simkit.analysis.plots import access_drift, access_heat_map, binding_graph, findings_by_severity, subjects_by_reach
from simkit.analysis.plots.style import SEVERITY_COLOURS
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role, rule, world

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


def drawn(figure: Figure) -> bytes:
    """The figure as a PNG."""
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def test_a_bar_per_check() -> None:
    """Each check with findings has a bar with its number, in the colours of severity."""
    found = audit(SMALL).to_frame()
    figure = findings_by_severity(found)
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
    axes = subjects_by_reach(table).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(table["subject"][::-1])
    assert len(axes.patches) == 2 * len(table)
    assert len(subjects_by_reach(table, top=1).axes[0].patches) == 2


def test_a_field_per_namespace_and_power() -> None:
    """Fields hold the numbers of the table; nothing is written where nobody can."""
    matrix = exposure(SMALL)
    figure = access_heat_map(matrix)
    shown = texts(figure)
    assert {"(whole cluster)", "dev", "secrets-list", "pod-create"} <= set(shown)
    assert len(figure.axes[0].texts) == int((matrix.to_numpy() > 0).sum())
    assert figure.axes[1].get_ylabel() == "subjects"


def test_a_line_per_subject_and_role() -> None:
    """Subjects and roles are labelled, missing roles marked, cluster-wide bindings drawn apart."""
    figure = binding_graph(access_graph(SMALL))
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert {"user:ann", "group:devs", "sa:dev/app", "ClusterRole gone (missing)"} <= set(shown)
    assert [len(lines.get_paths()) for lines in figure.axes[0].collections[:2]] == [2, 2]


def test_five_hundred_nodes_can_be_read() -> None:
    """On a big graph no two labels of a column overlap."""
    objects = [role(f"role-{number}") for number in range(250)]
    objects += [
        binding(f"b{number}", f"role-{number}", f"user:u{number}", f"user:u{number // 2}") for number in range(250)
    ]
    figure = binding_graph(access_graph(MemorySnapshot(objects, captured=["*"])))
    figure.draw_without_rendering()
    for left in (True, False):
        boxes = [text.get_window_extent() for text in figure.axes[0].texts if (text.get_position()[0] < 0.5) is left]
        heights = sorted((box.y0, box.y1) for box in boxes)
        assert all(upper[0] >= lower[1] - 1 for lower, upper in pairwise(heights))


@pytest.mark.parametrize(
    "figure",
    [
        findings_by_severity(audit(world()).to_frame()),
        subjects_by_reach(reach(world())),
        access_heat_map(exposure(world())),
        binding_graph(access_graph(world())),
    ],
)
def test_nothing_can_be_drawn(figure: Figure) -> None:
    """An empty cluster gives an empty figure, not an error."""
    assert drawn(figure).startswith(b"\x89PNG")


def test_a_bar_each_way_per_subject() -> None:
    """What was gained points to the right, what was lost to the left; the most changed subject is on top."""
    roles = [role("few", rule("get", "pods")), role("many", rule("get,list,watch", "pods,secrets"))]
    before = world(*roles, binding("a", "few", "user:ann", "sa:dev/app"))
    after = world(*roles, binding("a", "many", "user:bob", "user:ann"))
    figure = access_drift(compare(before, after))
    axes = figure.axes[0]
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["sa:dev/app", "user:ann", "user:bob"]
    widths = sorted(bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle) and bar.get_width())
    assert widths == [-1, 5, 6]
    assert "3 subjects" in axes.get_title(loc="left")
    assert drawn(access_drift(compare(before, before)))
    admin = world(
        *roles,
        role("all", rule("*", "*", groups="*")),
        binding("a", "many", "user:bob"),
        binding("b", "all", "user:eve"),
    )
    shown = texts(access_drift(compare(before, admin)))
    assert "everything" in shown
    assert [text for text in shown if text.startswith(("user:", "sa:"))][-1] == "user:eve"


def test_pictures_of_large_clusters_stay_bounded() -> None:
    """The widest bindings and the fullest namespaces are drawn, and the title says of how many."""
    objects = [role("r", rule("list", "secrets"))]
    objects += [binding(f"b-{number}", "r", f"user:u-{number}", namespace=f"ns-{number}") for number in range(700)]
    objects += [binding("wide", "r", "user:widest")]
    snapshot = MemorySnapshot(objects, captured=["*"])
    figure = binding_graph(access_graph(snapshot), most=20)
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert "user:widest" in texts
    assert len(texts) == 20
    assert figure.axes[0].get_title(loc="left").endswith("the widest of 701")
    heat = access_heat_map(exposure(snapshot), top=5)
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
