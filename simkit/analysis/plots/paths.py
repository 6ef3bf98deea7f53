"""Escalation paths as a picture: from those who start at the left, over root causes and steps, to the goal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Patch

from simkit.analysis.plots.path_tree import ROOT, START, Branch, path_trees
from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.analysis.rendering import counted
from simkit.present.colours import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

if TYPE_CHECKING:
    from simkit.analysis.escalation.find.path import Path

ROWS: Final = 14
"""Rows that a picture has at most; like places are folded until they fit, and of more the most used are drawn."""
BOX: Final = 2.05
"""Inches that a box is wide."""
STEP: Final = 1.95
"""Inches between two columns of boxes: the room of the words of a step."""
NAMED: Final = 0.45
"""Inches between somebody and the binding that names them."""
HIGH: Final = 0.7
"""Inches between two rows: the words of a step, three lines at most, end below the box above them."""
LETTERS: Final = 26
"""Letters in a line of a box or of a step."""
BOLD: Final = 22
"""Letters in a line of a box whose letters are bold, and wider."""
PALE: Final = "#FFF4E5"
NAMES: Final[Mapping[str, tuple[str, str]]] = {
    START: (BLUE, "who starts"),
    ROOT: (VERMILION, "root cause: the binding that it begins with"),
    "identity": (GREEN, "identity or access that is taken"),
    "pod": (SKY, "pods, secrets"),
    "place": (ORANGE, "namespaces, nodes"),
    "goal": (INK, "where it ends"),
}


def paths_figure(paths: Iterable[Path], *, rows: int = ROWS, ax: Axes | None = None) -> Axes:
    """Paths as a tree: the starts at the left, the binding that each begins with, each step in words.

    Like places are folded into one ("37 groups"), and endings that several paths share are drawn once, so that a
    picture of hundreds of paths stays a page.

    Parameters
    ----------
    paths
        What ``escalations`` finds.
    rows
        How many rows the picture has at most; of more those that the most paths take are drawn.
    ax
        Axes to draw into; None: a figure of its own.
    """
    every = list(paths)
    trees, drawn = _cut_to(path_trees(every, rows), rows)
    height = HIGH * max(sum(tree.leaves() for tree in trees), 1)
    width = max(map(_width, trees), default=BOX)
    _, axes = figure(width + 0.4, height + 1.0, ax)
    axes.set_xlim(-0.1, width + 0.1)
    axes.set_ylim(-height - 0.1, 0.35)
    axes.set_axis_off()
    top = 0.0
    for tree in trees:
        _draw(axes, tree, width - BOX, top, last=True)
        top -= HIGH * tree.leaves()
    title(axes, _heading(every, drawn))
    _legend(axes, trees)
    return axes


def _heading(every: Sequence[Path], drawn: int) -> str:
    if len(every) == 1:
        return "An escalation path"
    subjects = counted(len({path.subject for path in every}), "subject")
    if drawn < len(every):
        return f"{drawn:,} of {len(every):,} escalation paths of {subjects}: the ways that most can take"
    return f"{len(every):,} escalation paths of {subjects}" if every else "0 escalation paths"


def _cut_to(trees: Sequence[Branch], rows: int) -> tuple[list[Branch], int]:
    """The trees without the least used branches that do not fit, and the number of paths that are left."""
    left = rows
    kept: list[Branch] = []
    for tree in trees:
        if left > 0:
            left -= _prune(tree, left)
            kept.append(tree)
    return kept, sum(tree.weight for tree in kept)


def _prune(branch: Branch, rows: int) -> int:
    """Leave the most used rows of a branch; how many are left."""
    if not branch.before:
        return 1
    used, kept = 0, []
    for one in sorted(branch.before, key=lambda each: -each.weight):
        if used < rows:
            used += _prune(one, rows - used)
            kept.append(one)
    branch.before = kept
    branch.weight = sum(one.weight for one in kept)
    return used


def _draw(axes: Any, branch: Branch, x: float, top: float, *, last: bool = False) -> float:
    """Draw a branch whose rows begin at a height, and give back the height of its box."""
    y = top - HIGH * branch.leaves() / 2
    at, arrivals = top, []
    for one in branch.before:
        arrivals.append((_draw(axes, one, x - BOX - _gap(one), at), one))
        at -= HIGH * one.leaves()
    _box(axes, branch, x, y, last=last)
    for start, one in arrivals:
        _arrow(axes, (x - _gap(one), start), (x, y), one.step)
    return y


def _gap(branch: Branch) -> float:
    """The room between a box and the next: that of the words of a step, where there are some."""
    return STEP if branch.step else NAMED


def _width(branch: Branch) -> float:
    """The width of a branch with all that is before it."""
    return BOX + max((_gap(one) + _width(one) for one in branch.before), default=0.0)


def _box(axes: Any, branch: Branch, x: float, y: float, *, last: bool) -> None:
    colour, _ = NAMES["goal" if last else _group(branch)]
    strong = branch.role == ROOT or last
    box = FancyBboxPatch(
        (x + 0.06, y - 0.19),
        BOX - 0.12,
        0.38,
        boxstyle="round,pad=0.03",
        facecolor=PALE if branch.role == ROOT else "white",
        edgecolor=colour,
        linewidth=2.2 if strong else 1.3,
    )
    axes.add_patch(box)
    text = "\n".join(_lines(branch.label, letters=BOLD if strong else LETTERS))
    weight = "bold" if strong else "normal"
    axes.text(x + BOX / 2, y, text, ha="center", va="center", fontsize=9, color=INK, weight=weight)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], step: str) -> None:
    """An arrow: level under the words of its step, then to where it leads."""
    (x, y), (to_x, to_y) = start, end
    bend = to_x - (0.25 if step else 0.15)
    axes.plot([x - 0.03, bend], [y, y], color=GREY, linewidth=1, solid_capstyle="round")
    style = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 0, "shrinkB": 0, "linewidth": 1}
    axes.annotate("", (to_x + 0.03, to_y), (bend, y), arrowprops=style)
    if step:
        axes.text(
            (x + bend) / 2, y + 0.03, "\n".join(_lines(step, most=3)), fontsize=8, color=INK, ha="center", va="bottom"
        )


def _lines(text: str, *, most: int = 2, letters: int = LETTERS) -> Iterator[str]:
    """A text in a few lines; what is longer is cut in its middle."""
    found = wrap(text, letters, break_on_hyphens=False, break_long_words=False) or [""]
    if len(found) > most:
        found = [*found[: most - 1], " ".join(found[most - 1 :])]
    return (shortened(line, letters) for line in found)


def _group(branch: Branch) -> str:
    if branch.role in (START, ROOT):
        return branch.role
    if branch.kind in ("pod", "pods", "secrets"):
        return "pod"
    return "place" if branch.kind in ("node", "nodes", "namespace", "node-identity", "impact") else "identity"


def _legend(axes: Axes, trees: Iterable[Branch]) -> None:
    """Draw the legend of the colours of boxes that occur."""
    groups = dict.fromkeys(name for tree in trees for name in _groups(tree, last=True))
    drawn = [NAMES[name] for name in NAMES if name in groups]
    handles = [Patch(facecolor="white", edgecolor=colour, label=words) for colour, words in drawn]
    if handles:
        columns = min(len(handles), 3)
        axes.legend(handles=handles, fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(0, 0), ncols=columns)


def _groups(branch: Branch, *, last: bool = False) -> Iterator[str]:
    yield "goal" if last else _group(branch)
    for one in branch.before:
        yield from _groups(one)
