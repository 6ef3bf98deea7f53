"""Escalation paths as a picture: states as boxes from left to right, steps as arrows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import networkx
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simkit.analysis.plots.style import BLUE, GREEN, GREY, INK, ORANGE, SKY, VERMILION, figure, shortened, title

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.path import Path

MOST: Final = 40
"""The most paths that are drawn."""
APART: Final = 3.0
"""The distance of two columns, in inches."""
HIGH: Final = 0.42
"""The distance of two rows, in inches."""
NEAR: Final = 0.25
"""The position of a label on its arrow: near the start, where arrows have not met yet."""
LETTER: Final = 0.06
"""The width of a letter in a box, in inches."""
_COLOURS: Final[Mapping[str, str]] = {
    "everything": VERMILION,
    "node": ORANGE,
    "impact": ORANGE,
    "namespace": ORANGE,
    "pod": SKY,
    "secrets": SKY,
}


def paths_figure(paths: Iterable[Path], *, ax: Axes | None = None) -> Figure:
    """Paths with one column per step: the starts at the left, arrows with the primitives' ids.

    Parameters
    ----------
    paths
        The first ``MOST`` are drawn, common places once.
    ax
        Axes to draw into; None: a figure of its own.
    """
    every = list(paths)
    shown = every[:MOST]
    graph = _graph(shown)
    positions = _positions(graph)
    columns = _columns(graph)
    width, height = APART * max(len(columns), 1), HIGH * max(map(len, [*columns.values(), "  "]))
    made, axes = figure(width, height + 0.5, ax)
    axes.set_xlim(-APART / 2, width - APART / 2)
    axes.set_ylim(-height / 2, height / 2)
    _arrows(axes, graph, positions)
    for place, (x, y) in positions.items():
        colour = graph.nodes[place]["colour"]
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": colour, "linewidth": 1.4}
        axes.text(x, y, _label(place), ha="center", va="center", fontsize=8, color=INK, bbox=box)
    axes.set_axis_off()
    title(axes, _heading(len(shown), len(every)))
    return made


def _label(place: str) -> str:
    return shortened(place, 30)


def _heading(shown: int, every: int) -> str:
    if every == 1:
        return "An escalation path"
    return f"{every} escalation paths" if shown == every else f"The first {shown} of {every} escalation paths"


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
    """Place a state in the last column in which a path has it."""
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
    """The positions of states: each column is ordered by the positions of their predecessors."""
    positions: dict[str, tuple[float, float]] = {}
    for column, places in sorted(_columns(graph).items()):
        places.sort(key=lambda place: _middle(graph, place, positions))
        for row, place in enumerate(places):
            positions[place] = (column * APART, HIGH * ((len(places) - 1) / 2 - row))
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
        forward = 1 if to_x >= x else -1
        start, end = x + forward * _half(source), to_x - forward * _half(target)
        style = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 0, "shrinkB": 0, "linewidth": 1}
        axes.annotate("", (end, to_y), (start, y), arrowprops=style)
        behind = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        at_x, at_y = start + NEAR * (end - start), y + NEAR * (to_y - y)
        axes.text(at_x, at_y, " ".join(primitives), fontsize=7, color=INK, ha="center", va="center", bbox=behind)


def _half(place: str) -> float:
    """Half the width of a box, in inches."""
    return len(_label(place)) * LETTER / 2 + 0.08
