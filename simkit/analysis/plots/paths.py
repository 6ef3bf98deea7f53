"""Escalation paths as a picture: who starts at the left, whom they become on the way, the goal at the right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Line

from simkit.analysis.plots.style import ROOM, TEXT, Sheet, leading, wrapped
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rendering import counted
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from matplotlib.axes import Axes

    from simkit.analysis.escalation.find.path import Path

NEXT, LAST, GAP, PAD = 1.34, 1.25, 0.32, 0.09
"""Inches that boxes of places (at least) and of goals are wide, and between boxes, and around the words in them."""
START: Final = "start"
TONES: Final = {START: "blue", USER: "green", GROUP: "green", SERVICE_ACCOUNT: "green"}
WORDS: Final = {"sa": "service account", "user": "user", "group": "group"}

Columns = list[tuple[float, float]]


@dataclass
class Place:
    """One or several places, what is done there towards the goal, and the places before.

    ``subjects`` start the paths that pass it; ``bindings`` let them begin.
    """

    kind: str
    words: str = ""
    names: Counter[str] = field(default_factory=Counter)
    bindings: set[str] = field(default_factory=set)
    subjects: set[str] = field(default_factory=set)
    before: dict[object, Place] = field(default_factory=dict)

    def starts(self) -> Iterator[Place]:
        """Where the ways to it begin, each in a row of its own."""
        yield from (start for one in self.before.values() for start in one.starts()) if self.before else (self,)

    def depth(self) -> int:
        """The number of boxes on the longest way to it."""
        return 1 + max((one.depth() for one in self.before.values()), default=0)


def paths_figure(paths: Iterable[Path], *, rows: int = 5, ax: Axes | None = None) -> Axes:
    """Paths from their starts to their goal, each step in words.

    Subjects that start alike share a box, as do like places where there are many, and what several paths share is drawn
    once. Pods and nodes that lead on by themselves are not drawn: the next box says whose token they hold.

    Parameters
    ----------
    paths
        What ``escalations`` finds.
    rows
        How many starts are drawn at most: those of the most subjects. The line below counts the others.
    ax
        Axes to draw into; None: a figure of its own.
    """
    every = list(paths)
    trees = [_tree(every, level) for level in range(3)]
    goals = next((tree for tree in trees if sum(1 for goal in tree for _ in goal.starts()) <= rows), trees[-1])
    drawn, left = list[Place](), rows
    for goal in sorted(goals, key=lambda one: -len(one.subjects)):
        if left > 0:
            left -= _prune(goal, left)
            drawn.append(goal)
    columns = _columns(max((goal.depth() for goal in drawn), default=2))
    heights = [_height(goal, columns, len(columns) - 1) for goal in drawn]
    others = {path.subject for path in every} - {
        name for goal in drawn for start in goal.starts() for name in start.subjects
    }
    body = max(sum(heights), 0.4) + (0.3 if others else 0)
    subtitle = "Who can begin, by which binding and with which step, and whom they become on the way"
    sheet = Sheet(ax, _message(every), subtitle, body=body, wide=sum(columns[-1]))
    sheet.in_inches()
    top = body
    for goal, height in zip(drawn, heights):
        _draw(sheet, goal, columns, len(columns) - 1, top, height)
        top -= height
    if others:
        sheet.text(0, 0.1, f"... and {counted(len(others), 'more subject')} by other ways", tone="soft")
    return sheet.axes


def _columns(count: int) -> Columns:
    """The width of each column, and where it begins: as wide as the page together, unless there are very many."""
    first = {2: 5.0, 3: 3.7, 4: 3.0}.get(count, 2.45)
    middle = max((ROOM - first - LAST - GAP * (count - 1)) / max(count - 2, 1), NEXT)
    starts = [0.0, *(first + GAP + (middle + GAP) * number for number in range(count - 1))]
    return list(zip([first, *[middle] * (count - 2), LAST], starts))


def _message(paths: Sequence[Path]) -> str:
    """How many can reach what, and what most of them need: a binding, or an identity on the way."""
    *more, last = dict.fromkeys(path.goal.name for path in paths) or ("",)
    goals = f"{', '.join(more)} or {last}" if more else last
    first = {path.subject: list(_places(path)) for path in reversed(paths)}
    if not paths:
        return "No escalation path was found"
    ways = [
        {*start.bindings, *(name for one in on[:-1] for name in one.names if one.kind in TONES)}
        for start, *on in first.values()
    ]
    needed, count = Counter(text for way in ways for text in sorted(way)).most_common(1)[0] if any(ways) else ("", 0)
    if len(first) == 1:
        return f"{paths[0].subject} can reach {goals}" + (f" through {needed}" if needed else "")
    message = f"{len(first):,} subjects can reach {goals}"
    return f"{message}; {count:,} of them through {needed}" if count > 1 and len(first) < 3 * count else message


def _places(path: Path) -> Iterator[Place]:
    """The places of a path, the start first: the identities, and other places where the attacker has to act."""
    grants = next(iter(path.grants), ())
    here = Place(START, names=Counter([path.subject]))
    here.bindings = {display_name(grants[0].binding)} if grants and path.steps else set()
    for number, step in enumerate(path.steps, 1):
        here.words = here.words or step.primitive.title
        follows = number < len(path.steps) and not path.steps[number].edge.hops
        if step.target.kind in TONES or not follows:
            yield here
            here = Place(step.target.kind, names=Counter([str(step.target)]))
    yield here


def _tree(paths: Iterable[Path], level: int) -> list[Place]:
    """The goals with what leads to them; the level says which places are one: equal ones, like ones, all of a kind."""
    top = Place("")
    for path in paths:
        here = top
        for place in reversed(list(_places(path))):
            named = place.kind != START and (level == 0 or (level == 1 and place.kind in TONES))
            key = (place.kind, place.words, tuple(place.names) if named else ())
            here = here.before.setdefault(key, Place(place.kind, place.words))
            here.names += place.names
            here.bindings |= place.bindings
            here.subjects.add(path.subject)
    return list(top.before.values())


def _prune(place: Place, rows: int) -> int:
    """Leave the most used rows before a place; how many are left."""
    used, kept = 0, dict[object, Place]()
    for key, one in sorted(place.before.items(), key=lambda each: -len(each[1].subjects)):
        if used < rows:
            used += _prune(one, rows - used)
            kept[key] = one
    place.before = kept
    return used or 1


def _lines(place: Place, room: float) -> list[tuple[str, str]]:
    """What is written in a box, each line with its look: the name, what is done there, and the binding."""
    names, bound = [name for name, _ in place.names.most_common()], sorted(place.bindings)
    called = names[0] + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")
    if place.kind == START and len(names) > 1:
        counts = Counter(WORDS.get(name.partition(":")[0], "place") for name in names)
        called = ", ".join(names if len(names) == 2 else (counted(count, word) for word, count in counts.most_common()))
    by = f"by {bound[0] if len(bound) == 1 else counted(len(bound), 'binding')}" if bound else ""
    parts = (
        ("bold", wrapped(called, room, bold=True)),
        ("ink", wrapped(place.words, room)),
        ("soft", wrapped(by, room)),
    )
    return [(look, line) for look, lines in parts for line in lines if line]


def _height(place: Place, columns: Columns, column: int) -> float:
    """The inches of a place and all before it."""
    own = len(_lines(place, columns[column if place.before else 0][0] - 2 * PAD)) * leading(TEXT) + 2 * PAD + 0.16
    return max(own, sum(_height(one, columns, column - 1) for one in place.before.values()))


def _draw(sheet: Sheet, place: Place, columns: Columns, column: int, top: float, height: float) -> None:
    """Draw a place in its column, in the middle of its height, and what is before it with lines that lead there."""
    goal, column = column == len(columns) - 1, column if place.before else 0
    (width, x), y = columns[column], top - height / 2
    inner = [(_height(one, columns, column - 1), one) for one in place.before.values()]
    at = y + sum(high for high, _ in inner) / 2
    for high, one in inner:
        _lead(sheet, sum(columns[column - 1 if one.before else 0]), at - high / 2, x, y, len(one.subjects))
        _draw(sheet, one, columns, column - 1, at, high)
        at -= high
    lines = _lines(place, width - 2 * PAD)
    tall = len(lines) * leading(TEXT) + 2 * PAD
    tone = sheet.colour("critical" if goal else TONES.get(place.kind, "orange"))
    look: dict[str, Any] = {"facecolor": tone if goal else sheet.colour("band"), "edgecolor": tone, "clip_on": False}
    corner, size = (x + 0.04, y - tall / 2 + 0.04), (width - 0.08, tall - 0.08)
    sheet.axes.add_patch(FancyBboxPatch(corner, *size, boxstyle="round,pad=0.04", linewidth=1.4 * sheet.scale, **look))
    for number, (kind, line) in enumerate(lines):
        colour = "white" if goal else sheet.colour("ink" if kind == "bold" else kind)
        sheet.text(
            x + PAD, y + tall / 2 - PAD - (number + 0.5) * leading(TEXT), line, bold=kind == "bold", color=colour
        )


def _lead(sheet: Sheet, x: float, y: float, to_x: float, to_y: float, subjects: int) -> None:
    """Draw a line from left to right, which bends shortly before its end; the more subjects, the wider it is."""
    middle = to_x - GAP / 2
    points = [(x, y), (to_x - GAP, y), (middle, y), (middle, to_y), (to_x, to_y)]
    line = Line(points, [Line.MOVETO, Line.LINETO, Line.CURVE4, Line.CURVE4, Line.CURVE4])
    look = {"facecolor": "none", "edgecolor": sheet.colour("line"), "zorder": 0.5, "capstyle": "butt"}
    sheet.axes.add_patch(PathPatch(line, linewidth=(1.2 + min(subjects, 30) / 4) * sheet.scale, **look))
