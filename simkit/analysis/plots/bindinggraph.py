"""Bindings as two columns, subjects and roles, with a line per binding; similar ends are folded into one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from simkit.analysis.plots.style import INK, figure, shortened, title
from simkit.analysis.rendering import counted
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER
from simkit.present.colours import BLUE, GREY, VERMILION

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW: Final = 0.145
"""Inches a row: the least at which the labels do not touch."""
ROUNDS: Final = 6
FOLDED: Final = 80
"""Rows above which like ends are folded, unless it is said otherwise."""
WIDEST: Final = 3.0
"""The greatest width of a line of many bindings, relative to that of one."""
MARKERS: Final = {USER: "o", GROUP: "s"}


def binding_graph(
    graph: nx.MultiDiGraph[str], *, most: int = 200, fold: bool | None = None, ax: Axes | None = None
) -> Axes:
    """Subjects at the left, roles at the right, a line for each binding: cluster-wide ones are strong.

    Parameters
    ----------
    graph
        An ``access_graph``, or a part of one (``graph.subgraph(...)``). Rules are not drawn; roles that do not exist
        are marked.
    most
        How many subjects and roles are drawn at most. Of more, those of cluster-wide bindings come first, then the
        subjects with the most roles; the title says of how many.
    fold
        Whether accounts of one namespace, people with the same roles, and roles of the same subjects are one row, with
        their number and what their names share (the product); None: where there are more than 80 rows.
    ax
        Axes to draw into; None: a figure of its own.

    Notes
    -----
    The figure grows with the number of rows, so that 200 nodes can still be read. Nodes are ordered by the mean place
    of their neighbours, which keeps lines that belong together apart from others.
    """
    every = edges_of(graph, fold=False)
    ends = {node for edge in every for node in edge[:2]}
    folded = len(ends) > FOLDED if fold is None else fold
    shown = edges_of(graph, fold=True) if folded else every
    edges = _weightiest(shown, most)
    left, right = _untangled(_ordered(edge[0] for edge in edges), _ordered(edge[1] for edge in edges), edges)
    height = max(len(left), len(right), 4)
    made, axes = figure(12, 1.2 + ROW * height, ax)
    places = {**_places(left, height), **_places(right, height)}
    _draw_lines(axes, edges, places)
    _draw_subjects(axes, left, places)
    _draw_roles(axes, right, places)
    subjects, roles = sum(node.number for node in left), sum(node.number for node in right)
    bound = sum(edge[3] for edge in edges)
    told = f"{counted(subjects, 'subject')}, {counted(bound, 'binding')} to {counted(roles, 'role')}"
    told += f", like ones folded into {len(left) + len(right):,} rows" if folded else ""
    _frame(made, axes, height, told + (f", the widest of {len(every):,}" if len(edges) < len(shown) else ""))
    return axes


def _weightiest(edges: list[Edge], most: int) -> list[Edge]:
    """As many edges as have no more than so many ends: cluster-wide ones first, then those of subjects with many."""
    roles = Counter(edge[0] for edge in edges)
    ends: set[Node] = set()
    kept = []
    for edge in sorted(edges, key=lambda one: (not one[2], -roles[one[0]], one[0].text, one[1].text)):
        new = set(edge[:2]) - ends
        if len(ends) + len(new) <= most:
            ends |= new
            kept.append(edge)
    return kept


def _ordered(nodes: Iterable[Node]) -> list[Node]:
    return sorted(set(nodes), key=lambda node: node.text)


def _untangled(left: list[Node], right: list[Node], edges: Sequence[Edge]) -> tuple[list[Node], list[Node]]:
    """Both columns ordered so that few lines cross: each node goes to the mean of its neighbours, turn by turn."""
    to_right, to_left = defaultdict(list), defaultdict(list)
    for start, end, _, _ in edges:
        to_right[start].append(end)
        to_left[end].append(start)
    for _ in range(ROUNDS):
        right = _by_neighbours(right, to_left, left)
        left = _by_neighbours(left, to_right, right)
    return left, right


def _by_neighbours(column: list[Node], neighbours: Mapping[Node, Sequence[Node]], other: list[Node]) -> list[Node]:
    place = {node: index for index, node in enumerate(other)}
    return sorted(column, key=lambda node: sum(place[next_] for next_ in neighbours[node]) / len(neighbours[node]))


def _places(column: Sequence[Node], height: int) -> dict[Node, float]:
    step = height / max(len(column), 1)
    return {node: height - step * (index + 0.5) for index, node in enumerate(column)}


def _draw_lines(axes: Axes, edges: Sequence[Edge], places: Mapping[Node, float]) -> None:
    most = max((edge[3] for edge in edges), default=1)
    for wide, colour, width in ((False, BLUE, 0.6), (True, VERMILION, 0.9)):
        drawn = [edge for edge in edges if edge[2] is wide]
        lines = [[(0.0, places[edge[0]]), (1.0, places[edge[1]])] for edge in drawn]
        widths = [width * (1 + (WIDEST - 1) * (edge[3] - 1) / max(most - 1, 1)) for edge in drawn]
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=widths or width, alpha=0.55, zorder=1))


def _draw_subjects(axes: Axes, column: Sequence[Node], places: Mapping[Node, float]) -> None:
    for kind in sorted({node.kind for node in column}):
        rows = [places[node] for node in column if node.kind == kind]
        axes.scatter([0.0] * len(rows), rows, s=12, marker=MARKERS.get(kind, "^"), color=INK, zorder=2)
    for node in column:
        axes.text(-0.015, places[node], shortened(node.text), ha="right", va="center", fontsize=7.5, color=INK)


def _draw_roles(axes: Axes, column: Sequence[Node], places: Mapping[Node, float]) -> None:
    faces = [INK if node.exists else "white" for node in column]
    rows = [places[node] for node in column]
    axes.scatter([1.0] * len(rows), rows, s=12, c=faces, edgecolors=INK, linewidths=0.6, zorder=2)
    for node in column:
        text = shortened(node.text) + ("" if node.exists else " (missing)")
        colour = INK if node.exists else GREY
        axes.text(1.015, places[node], text, ha="left", va="center", fontsize=7.5, color=colour)


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


ROLE: Final = "role"
_WORDS: Final = {"User": "users", "Group": "groups", SERVICE_ACCOUNT: "service accounts", ROLE: "roles"}
SEPARATORS: Final = "-:./ "
PAGE: Final = 200
"""Rows of both columns together that can still be overlooked."""


class Node(NamedTuple):
    """One row of the picture: a subject or role, or several that are folded into it."""

    text: str
    kind: str
    exists: bool = True
    number: int = 1
    first: str = ""
    """The first of those that are folded: others may have the same text."""


Edge = tuple[Node, Node, bool, int]
"""A subject, a role, whether a binding is cluster-wide, and how many pairs of a subject and a role it stands for."""


def edges_of(graph: nx.MultiDiGraph[str], *, fold: bool) -> list[Edge]:
    """The pairs of subject and role that a binding joins, each once; folded where that is wanted."""
    pairs: dict[tuple[str, str], bool] = {}
    for binding, data in graph.nodes(data=True):
        if data.get("layer") == "binding":
            for role in graph.successors(binding):
                for subject in graph.predecessors(binding):
                    pairs[subject, role] = pairs.get((subject, role), False) or not data["namespace"]
    nodes = {one: _node(graph, one) for pair in pairs for one in pair}
    found = [(nodes[subject], nodes[role], wide, 1) for (subject, role), wide in pairs.items()]
    return _folded(found) if fold else found


def _node(graph: nx.MultiDiGraph[str], name: str) -> Node:
    data = graph.nodes[name]
    if data.get("layer") == "role":
        return Node(str(data["text"]), ROLE, bool(data["exists"]))
    return Node(str(data["text"]), str(data["kind"]))


def _folded(edges: Iterable[Edge]) -> list[Edge]:
    """First accounts by their namespace, then people who have the same roles, then roles that the same have.

    Of more rows than a page has, accounts of all namespaces with the same roles are one.
    """
    listed = _fold(edges, 0, lambda node, _: _namespace(node) if _is_account(node) else None)
    listed = _fold(listed, 0, lambda node, others: None if _is_account(node) else (node.kind, others))
    listed = _fold(listed, 1, lambda node, others: (node.exists, others))
    if len({node for edge in listed for node in edge[:2]}) <= PAGE:
        return listed
    listed = _fold(listed, 0, lambda node, others: (node.kind, others))
    return _fold(listed, 1, lambda node, others: (node.exists, others))


def _namespace(account: Node) -> str:
    """The namespace of a service account, out of its text (``sa:namespace/name``)."""
    return account.text.partition(":")[2].partition("/")[0]


def _is_account(node: Node) -> bool:
    return node.kind == SERVICE_ACCOUNT


def _fold(
    edges: Iterable[Edge], side: int, key: Callable[[Node, frozenset[tuple[Node, bool]]], Hashable | None]
) -> list[Edge]:
    """Edges whose ends on one side are one node where they have the same key; None keeps an end as it is."""
    listed = list(edges)
    others: dict[Node, set[tuple[Node, bool]]] = defaultdict(set)
    for start, end, wide, _ in listed:
        near, far = (end, start) if side else (start, end)
        others[near].add((far, wide))
    groups: dict[Hashable, list[Node]] = defaultdict(list)
    for node, found in others.items():
        mark = key(node, frozenset(found))
        groups[node if mark is None else mark].append(node)
    names = {node: _together(some) for some in groups.values() for node in some}
    merged: dict[tuple[Node, Node], tuple[bool, int]] = {}
    for start, end, wide, count in listed:
        pair = (names[start], end) if side == 0 else (start, names[end])
        known = merged.get(pair, (False, 0))
        merged[pair] = (known[0] or wide, known[1] + count)
    return [(start, end, wide, count) for (start, end), (wide, count) in merged.items()]


def _together(some: list[Node]) -> Node:
    """Several nodes as one, named by their number and by what their names begin with alike."""
    if len(some) == 1:
        return some[0]
    count = sum(one.number for one in some)
    names = [_name(one) for one in some]
    shared = _shared(names)
    text = f"{count:,} {_WORDS.get(some[0].kind, 'subjects')}{shared}"
    return Node(text, some[0].kind, some[0].exists, count, some[0].first or some[0].text)


def _name(node: Node) -> str:
    """The name of a row without its kind, or what those have in common that are folded into it."""
    if node.number > 1:
        return node.text.partition(_WORDS.get(node.kind, "subjects"))[2].lstrip(": ")
    return node.text.partition(" ")[2] or node.text.partition(":")[2]


def _shared(names: list[str]) -> str:
    """The common prefix of names, up to the end of a word: their product or namespace."""
    first, last = min(names), max(names)
    length = next((place for place, pair in enumerate(zip(first, last)) if pair[0] != pair[1]), len(first))
    start = first[:length]
    cut = max((start.rfind(letter) for letter in SEPARATORS), default=-1)
    if cut < 2:
        return f": {names[0]}, {names[1]}{', ...' if len(names) > 2 else ''}"
    return f" {start[: cut + 1]}*"
