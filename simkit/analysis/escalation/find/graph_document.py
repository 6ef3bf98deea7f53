"""The part of the escalation graph that leads to goals, as a document that a browser can draw and search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypedDict

from simkit.analysis.escalation.find.goal import Goal, parse_goal
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import WELL_KNOWN
from simkit.analysis.escalation.find.search import ways_to
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.rbac.index import members_in
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import Members, text_of
from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import one_line
from simkit.seams.snapshot import Snapshot

MOST_EDGES: Final = 20_000
"""The number of edges above which only those of the best paths are in the document."""


class GraphDocument(TypedDict):
    """The graph as lists that refer to each other by position."""

    nodes: list[tuple[str, str, str]]
    """Of each node its text, its kind and its namespace."""
    steps: list[tuple[str, str, str]]
    """Of each primitive its id, its title and its severity."""
    grants: list[tuple[str, str, int, str]]
    """Of each grant its binding, its role, the rule and the bound subject."""
    uses: list[tuple[int, int, float, list[list[int]], str]]
    """Of each use of a step the step (-1: a choice), its hops, its cost, for each requirement the grants that each meet
    it, and what else there is to know."""
    edges: list[tuple[int, int, int]]
    """Of each edge its source, its target and its use."""
    goals: list[tuple[str, list[int]]]
    """Of each goal its text and the nodes that have it."""
    starts: list[int]
    """The nodes of the subjects with a path."""
    partial: bool
    """Whether edges were left out because there are more than ``MOST_EDGES``."""
    plan: list[tuple[str, list[tuple[int, list[int]]]]]
    """Of each step of a plan its text, and of each path that it closes the goal and the edges."""
    later: int
    """The number of edges at the end that only the plan has: ways that are the best ones after its earlier steps."""


def graph_document(
    snapshot: Snapshot,
    paths: Iterable[Path],
    goal: Goal | str | Iterable[Goal | str] = WELL_KNOWN,
    *,
    members: Members | None = None,
    plan: Iterable[tuple[str, Iterable[Path]]] = (),
) -> GraphDocument:
    """The escalation graph between the subjects of some paths and some goals, for a browser.

    Parameters
    ----------
    paths
        What ``escalations`` finds for these goals and members.
    goal, members
        As for ``escalations``.
    plan
        The steps of a plan for these goals, in words, with the paths that each closes.

    Returns
    -------
    GraphDocument
        A mapping that JSON can hold, with what cannot be seen in names written out: every state on some way from a
        subject with a path to a goal, and every edge between such states.

    Raises
    ------
    SimkitError
        For a text that is no goal, and a plan for other goals.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    Linear in the edges.

    Examples
    --------
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> graph_document(MemorySnapshot([], captured=["*"]), [])["starts"]
    []
    """
    members = members_in(snapshot, members)
    graph = graph_of(snapshot, members)
    goals = [parse_goal(one) for one in ([goal] if isinstance(goal, Goal | str) else goal)]
    found = tuple(paths)
    starts = tuple(dict.fromkeys(path.start for path in found))
    edges = _leading(graph, starts, goals)
    partial = len(edges) > MOST_EDGES
    if partial:
        edges = list(dict.fromkeys(edge for path in found for edge in path.edges))
    numbers: dict[tuple[AttackState, AttackState, str], int] = {}
    for number, edge in enumerate(edges):
        numbers.setdefault((edge.source, edge.target, edge.primitive), number)
    every, names = list(edges), [goal.name for goal in goals]

    def place(edge: Edge) -> int:
        number = numbers.setdefault((edge.source, edge.target, edge.primitive), len(every))
        if number == len(every):
            every.append(edge)
        return number

    plan = [(text, tuple(closed)) for text, closed in plan]
    others = {path.goal.name for _, closed in plan for path in closed}.difference(names)
    if others:
        raise SimkitError(f"the plan is for other goals: {', '.join(sorted(others))}; ask for paths to these, too")
    steps = [
        (one_line(text), [(names.index(path.goal.name), [place(edge) for edge in path.edges]) for path in closed])
        for text, closed in plan
    ]
    written = _written(graph, every, starts, goals, partial)
    return {**written, "plan": steps, "later": len(every) - len(edges)}


def _leading(graph: EscalationGraph, starts: Sequence[AttackState], goals: Sequence[Goal]) -> list[Edge]:
    """The edges on ways from some states to some goals."""
    ways = [ways_to(graph, goal) for goal in goals]
    reached = graph.reachable(starts)
    kept = dict.fromkeys(state for state in reached if any(state in found for found in ways))  # in order, unlike a set
    ends = {state for state in kept if all(state not in found or found[state].edge is None for found in ways)}
    return [edge for state in kept if state not in ends for edge in reached[state] if edge.target in kept]


def _written(
    graph: EscalationGraph, edges: Iterable[Edge], starts: Sequence[AttackState], goals: Sequence[Goal], partial: bool
) -> GraphDocument:
    nodes: dict[AttackState, int] = {}
    steps: dict[tuple[str, str, str], int] = {}
    grants: dict[tuple[str, str, int, str], int] = {}
    needs: dict[str, list[list[int]]] = {}
    uses: dict[tuple[int, int, float, str, str], int] = {}
    written = []
    for start in starts:
        nodes.setdefault(start, len(nodes))
    for edge in edges:
        source, target = (nodes.setdefault(state, len(nodes)) for state in (edge.source, edge.target))
        step = -1
        if edge.primitive:
            named = (edge.primitive, edge.definition.title, edge.definition.severity.word)
            step = steps.setdefault(named, len(steps))
        need = [[grants.setdefault(_grant(one), len(grants)) for one in some] for some in edge.granted_by if some]
        needs[key := repr(need)] = need
        use = (step, edge.hops, edge.cost, key, one_line(edge.value("detail")))
        written.append((source, target, uses.setdefault(use, len(uses))))
    return {
        "nodes": [(one_line(str(state)), state.kind, state.namespace) for state in nodes],
        "steps": list(steps),
        "grants": list(grants),
        "uses": [(step, hops, cost, needs[key], detail) for step, hops, cost, key, detail in uses],
        "edges": written,
        "goals": [
            (
                goal.name,
                [nodes[state] for state, one in ways_to(graph, goal).items() if one.edge is None and state in nodes],
            )
            for goal in goals
        ],
        "starts": [nodes[state] for state in starts],
        "partial": partial,
        "plan": [],
        "later": 0,
    }


def _grant(one: GrantSource) -> tuple[str, str, int, str]:
    binding, role, subject = map(one_line, (display_name(one.binding), display_name(one.role), text_of(one.subject)))
    return binding, role, one.rule, subject
