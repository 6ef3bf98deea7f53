"""Escalation paths as a picture: a tree from those who start, over root causes and steps, to the goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from matplotlib.patches import FancyBboxPatch, Patch

from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.analysis.rbac.objects import display_name, kind_of
from simkit.analysis.rendering import counted
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER
from simkit.present.colours import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simkit.analysis.escalation.find.path import Path

ROOT: Final = "root cause"
START: Final = "start"
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


KINDS: Final = {
    SERVICE_ACCOUNT: "service account",
    USER: "user",
    GROUP: "group",
    "pod": "pod",
    "node": "node",
    "namespace": "namespace",
    "rules": "role",
    "secrets": "secret",
    "RoleBinding": "role binding",
    "ClusterRoleBinding": "cluster role binding",
}
"""The singular of each kind, for folded states."""


@dataclass
class Branch:
    """A place, the step from it towards the goal, and the places before it.

    ``members`` are the places that it stands for; ``weight`` is the number of paths that pass it.
    """

    text: str
    kind: str
    role: str = ""
    step: str = ""
    members: list[str] = field(default_factory=list)
    weight: int = 0
    before: list[Branch] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The text in its box."""
        count = len(self.members)
        if count <= 1:
            return self.text
        return f"{count:,} {plural(KINDS.get(self.kind, 'place'))}" if self.role != START else _starts(self.members)

    def leaves(self) -> int:
        """The number of rows that it takes."""
        return sum(one.leaves() for one in self.before) or 1


def plural(word: str) -> str:
    """A noun for several things."""
    return f"{word}s"


def _starts(members: Sequence[str]) -> str:
    """The numbers of service accounts, users and groups at the start."""
    words = {"sa": "service account", "user": "user", "group": "group"}
    counts = Counter(words.get(text.partition(":")[0], "place") for text in members)
    return ", ".join(f"{number:,} {word if number == 1 else plural(word)}" for word, number in counts.most_common())


def path_trees(paths: Iterable[Path], rows: int) -> list[Branch]:
    """The ends of the paths with all that leads to them, folded until they take about so many rows."""
    ends: list[Branch] = []
    for path in paths:
        _add(ends, _places(path))
    for end in ends:
        _fold_starts(end)
    for shallow in (False, True):
        if sum(end.leaves() for end in ends) > rows:
            for end in ends:
                _fold_alike(end, shallow)
    return sorted(ends, key=lambda end: -end.weight)


def _places(path: Path) -> list[Branch]:
    """The places of a path from its end to its start, with the binding that it begins with before its first step."""
    found = [Branch(path.subject, path.start.kind, START, members=[path.subject])]
    first = next(iter(path.grants), ())
    if first and path.steps:
        text = display_name(first[0].binding)
        found.append(Branch(text, kind_of(first[0].binding), ROOT, members=[text]))
    for step in path.steps:
        found[-1].step = f"{step.primitive.id} {step.primitive.title}"
        found.append(Branch(str(step.target), step.target.kind, members=[str(step.target)]))
    return found[::-1]


def _add(ends: list[Branch], places: Sequence[Branch]) -> None:
    level = ends
    for place in places:
        mark = (place.text, place.step, place.role)
        known = next((one for one in level if (one.text, one.step, one.role) == mark), None)
        if known is None:
            known = place
            level.append(known)
        known.weight += 1
        level = known.before


def _fold_starts(branch: Branch) -> None:
    """Make one place of all that start at the same place with the same step."""
    for one in branch.before:
        _fold_starts(one)
    branch.before = _merged(branch.before, lambda one: (one.role, one.step) if one.role == START else (id(one),))


def _fold_alike(branch: Branch, shallow: bool) -> None:
    """Make one place of those of a kind that are reached from like places by like steps.

    ``shallow`` looks at the places and not at what is before them.
    """
    branch.before = _merged(branch.before, lambda one: (one.kind, one.step) if shallow else _signature(one))
    for one in branch.before:
        _fold_alike(one, shallow)
    branch.before.sort(key=lambda one: -one.weight)


def _signature(branch: Branch) -> tuple[object, ...]:
    kind = "" if branch.role == START else branch.kind
    return (branch.role, kind, branch.step, *sorted(map(_signature, branch.before), key=str))


def _merged(branches: Sequence[Branch], key: Callable[[Branch], object]) -> list[Branch]:
    groups: dict[object, list[Branch]] = {}
    for one in branches:
        groups.setdefault(key(one), []).append(one)
    return [_one(some) for some in groups.values()]


def _one(some: Sequence[Branch]) -> Branch:
    """Several places as one, with all that is before them."""
    if len(some) == 1:
        return some[0]
    first = some[0]
    members = list(dict.fromkeys(text for one in some for text in one.members))
    before: dict[tuple[str, str, str], list[Branch]] = {}
    for each in (two for one in some for two in one.before):
        before.setdefault((each.role, each.kind if each.role != START else "", each.step), []).append(each)
    weight = sum(one.weight for one in some)
    merged = [_one(group) for group in before.values()]
    return Branch(first.text, first.kind, first.role, first.step, members, weight, merged)
