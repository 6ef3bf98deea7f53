"""Escalation paths as a picture: places as boxes, from left to right, steps as arrows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import networkx
from matplotlib.figure import Figure

from simkit.analysis.plots.style import BLUE, GREEN, GREY, INK, ORANGE, SKY, VERMILION, figure, shortened, title

if TYPE_CHECKING:
    from simkit.analysis.escalation.path import Path

MOST: Final = 40
"""How many paths are drawn; more than that nobody can read."""
_COLOURS: Final[Mapping[str, str]] = {
    "everything": VERMILION,
    "node": ORANGE,
    "impact": ORANGE,
    "namespace": ORANGE,
    "pod": SKY,
    "secrets": SKY,
}


def paths_figure(paths: Iterable[Path]) -> Figure:
    """Where paths lead: one column a step, the starts at the left, arrows with the primitives' ids.

    Parameters
    ----------
    paths
        The first ``MOST`` are drawn, common places once.
    """
    shown = list(paths)[:MOST]
    graph = _graph(shown)
    positions = _positions(graph)
    tallest = max((len(column) for column in _columns(graph).values()), default=1)
    width = 2.4 * (max((data["column"] for _, data in graph.nodes(data=True)), default=0) + 1) + 1.2
    made, axes = figure(min(max(width, 5), 16), 1.2 + 0.42 * max(tallest, 3))
    _arrows(axes, graph, positions)
    for place, (x, y) in positions.items():
        colour = graph.nodes[place]["colour"]
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": colour, "linewidth": 1.4}
        axes.text(x, y, shortened(place, 30), ha="center", va="center", fontsize=8, color=INK, bbox=box)
    axes.set_axis_off()
    axes.margins(x=0.14, y=0.12)
    title(axes, f"{len(shown)} escalation paths" if len(shown) != 1 else "An escalation path")
    return made


def _graph(paths: Iterable[Path]) -> Any:
    graph: Any = networkx.MultiDiGraph()
    for path in paths:
        last = str(path.start)
        _add(graph, last, 0, BLUE)
        for column, step in enumerate(path.steps, 1):
            place = str(step.target)
            _add(graph, place, column, _COLOURS.get(step.target.kind, GREEN))
            if not graph.has_edge(last, place, step.primitive.id) and last != place:
                graph.add_edge(last, place, step.primitive.id)
            last = place
    return graph


def _add(graph: Any, place: str, column: int, colour: str) -> None:
    """Note a place in the last column that some path has it in."""
    if place in graph:
        graph.nodes[place]["column"] = max(graph.nodes[place]["column"], column)
    else:
        graph.add_node(place, column=column, colour=colour)


def _columns(graph: Any) -> dict[int, list[str]]:
    columns: dict[int, list[str]] = {}
    for place, data in graph.nodes(data=True):
        columns.setdefault(data["column"], []).append(place)
    return columns


def _positions(graph: Any) -> dict[str, tuple[float, float]]:
    """Places in columns, each column ordered by where its predecessors stand."""
    positions: dict[str, tuple[float, float]] = {}
    for column, places in sorted(_columns(graph).items()):
        places.sort(key=lambda place: _middle(graph, place, positions))
        for row, place in enumerate(places):
            positions[place] = (column * 2.4, (len(places) - 1) / 2 - row)
    return positions


def _middle(graph: Any, place: str, positions: Mapping[str, tuple[float, float]]) -> float:
    before = [positions[one][1] for one in graph.predecessors(place) if one in positions]
    return -sum(before) / len(before) if before else 0


def _arrows(axes: Any, graph: Any, positions: Mapping[str, tuple[float, float]]) -> None:
    pairs: dict[tuple[str, str], list[str]] = {}
    for source, target, primitive in graph.edges(keys=True):
        pairs.setdefault((source, target), []).append(primitive)
    for (source, target), primitives in pairs.items():
        (x, y), (to_x, to_y) = positions[source], positions[target]
        style = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 34, "shrinkB": 34, "linewidth": 1}
        axes.annotate("", (to_x, to_y), (x, y), arrowprops=style)
        axes.text((x + to_x) / 2, (y + to_y) / 2, " ".join(primitives), fontsize=7, color=INK, ha="center", va="bottom")
