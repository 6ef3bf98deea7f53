"""Bindings as two columns, subjects and roles, with a line per binding."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import networkx as nx
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from simkit.analysis.plots.style import BLUE, GREY, INK, VERMILION, figure, shortened, title
from simkit.logic.rbac.binding import GROUP, USER

ROW: Final = 0.145
"""Inches per row: the least at which labels do not touch."""
ROUNDS: Final = 6
MARKERS: Final = {USER: "o", GROUP: "s"}

Edge = tuple[Hashable, Hashable, bool]


def binding_graph(graph: nx.MultiDiGraph[Any], *, most: int = 500, ax: Axes | None = None) -> Figure:
    """Subjects at the left, roles at the right, a line for each binding; cluster-wide bindings have stronger lines.

    Parameters
    ----------
    graph
        An ``access_graph``, or a part of one (``graph.subgraph(...)``). Rules are not drawn; roles that do not exist
        are marked.
    most
        How many subjects and roles are drawn at most. Of more, those of cluster-wide bindings come first, then the
        subjects with the most roles; the title says of how many.

    Notes
    -----
    The figure grows with the number of rows, so that 500 nodes can still be read. Nodes are ordered by the mean place
    of their neighbours, which keeps lines that belong together apart from others.
    ax
        Axes to draw into; None: a figure of its own.
    """
    every = _edges(graph)
    edges = _weightiest(every, most, graph)
    left = _ordered({start for start, _, _ in edges}, graph)
    right = _ordered({end for _, end, _ in edges}, graph)
    left, right = _untangled(left, right, edges)
    height = max(len(left), len(right), 4)
    made, axes = figure(12, 1.2 + ROW * height, ax)
    places = {**_places(left, height), **_places(right, height)}
    _draw_lines(axes, edges, places)
    _draw_subjects(axes, left, places, graph)
    _draw_roles(axes, right, places, graph)
    counted = f"{len(left):,} subjects, {len(edges):,} bindings to {len(right):,} roles"
    _frame(made, axes, height, counted + (f", the widest of {len(every):,}" if len(edges) < len(every) else ""))
    return made


def _edges(graph: nx.MultiDiGraph[Any]) -> list[Edge]:
    """Subject, role, and True if the binding is cluster-wide; a pair bound in many namespaces is one edge."""
    found: dict[tuple[Hashable, Hashable], bool] = {}
    for binding, data in graph.nodes(data=True):
        if data.get("layer") != "binding":
            continue
        for role in graph.successors(binding):
            for subject in graph.predecessors(binding):
                wide = not data["namespace"]
                found[subject, role] = found.get((subject, role), False) or wide
    return [(subject, role, wide) for (subject, role), wide in found.items()]


def _weightiest(edges: list[Edge], most: int, graph: nx.MultiDiGraph[Any]) -> list[Edge]:
    """As many edges as have at most a number of end points: cluster-wide ones first, then those of subjects with
    many."""
    roles = Counter(start for start, _, _ in edges)
    texts = {node: str(graph.nodes[node]["text"]) for edge in edges for node in edge[:2]}
    ends: set[Hashable] = set()
    kept = []
    for edge in sorted(edges, key=lambda one: (not one[2], -roles[one[0]], texts[one[0]], texts[one[1]])):
        new = set(edge[:2]) - ends
        if len(ends) + len(new) <= most:
            ends |= new
            kept.append(edge)
    return kept


def _ordered(nodes: set[Hashable], graph: nx.MultiDiGraph[Any]) -> list[Hashable]:
    return sorted(nodes, key=lambda node: str(graph.nodes[node]["text"]))


def _untangled(
    left: list[Hashable], right: list[Hashable], edges: Sequence[Edge]
) -> tuple[list[Hashable], list[Hashable]]:
    """Both columns in an order with few crossings: each node moves to the mean of its neighbours, in several rounds."""
    to_right, to_left = defaultdict(list), defaultdict(list)
    for start, end, _ in edges:
        to_right[start].append(end)
        to_left[end].append(start)
    for _ in range(ROUNDS):
        right = _by_neighbours(right, to_left, left)
        left = _by_neighbours(left, to_right, right)
    return left, right


def _by_neighbours(
    column: list[Hashable], neighbours: Mapping[Hashable, Sequence[Hashable]], other: list[Hashable]
) -> list[Hashable]:
    place = {node: index for index, node in enumerate(other)}
    return sorted(column, key=lambda node: sum(place[next_] for next_ in neighbours[node]) / len(neighbours[node]))


def _places(column: Sequence[Hashable], height: int) -> dict[Hashable, float]:
    step = height / max(len(column), 1)
    return {node: height - step * (index + 0.5) for index, node in enumerate(column)}


def _draw_lines(axes: Axes, edges: Sequence[Edge], places: Mapping[Hashable, float]) -> None:
    for wide, colour, width in ((False, BLUE, 0.6), (True, VERMILION, 0.9)):
        lines = [[(0.0, places[start]), (1.0, places[end])] for start, end, is_wide in edges if is_wide is wide]
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width, alpha=0.55, zorder=1))


def _draw_subjects(
    axes: Axes, column: Sequence[Hashable], places: Mapping[Hashable, float], graph: nx.MultiDiGraph[Any]
) -> None:
    for kind in sorted({graph.nodes[node]["kind"] for node in column}):
        rows = [places[node] for node in column if graph.nodes[node]["kind"] == kind]
        axes.scatter([0.0] * len(rows), rows, s=12, marker=MARKERS.get(kind, "^"), color=INK, zorder=2)
    for node in column:
        text = shortened(graph.nodes[node]["text"])
        axes.text(-0.015, places[node], text, ha="right", va="center", fontsize=6.5, color=INK)


def _draw_roles(
    axes: Axes, column: Sequence[Hashable], places: Mapping[Hashable, float], graph: nx.MultiDiGraph[Any]
) -> None:
    faces = [INK if graph.nodes[node]["exists"] else "white" for node in column]
    rows = [places[node] for node in column]
    axes.scatter([1.0] * len(rows), rows, s=12, c=faces, edgecolors=INK, linewidths=0.6, zorder=2)
    for node in column:
        exists = graph.nodes[node]["exists"]
        text = shortened(graph.nodes[node]["text"]) + ("" if exists else " (missing)")
        axes.text(1.015, places[node], text, ha="left", va="center", fontsize=6.5, color=INK if exists else GREY)


def _frame(made: Figure, axes: Axes, height: int, text: str) -> None:
    axes.set_xlim(-0.6, 1.6)
    axes.set_ylim(0, height)
    axes.set_axis_off()
    title(axes, text)
    marks = [
        Line2D([], [], color=VERMILION, label="cluster-wide binding"),
        Line2D([], [], color=BLUE, label="binding in a namespace"),
        Line2D([], [], color=INK, marker="o", linestyle="", markersize=4, label="user"),
        Line2D([], [], color=INK, marker="s", linestyle="", markersize=4, label="group"),
        Line2D([], [], color=INK, marker="^", linestyle="", markersize=4, label="service account"),
    ]
    made.legend(handles=marks, fontsize=8, frameon=False, loc="outside upper center", ncols=5)
