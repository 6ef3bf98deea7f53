"""Shortest and cheapest paths through the escalation graph, from one state or towards a goal."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final

from simkit.analysis.escalation.find.goal import ALL_SECRETS, CLUSTER, NODE, Goal
from simkit.analysis.escalation.find.graph import EscalationGraph, edges_by_target
from simkit.analysis.escalation.find.matching import Distance, Edge, Reached
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.pod_specs import escapes_of
from simkit.analysis.escalation.find.states import POD, SUBJECTS, AttackState

START: Final[Distance] = (0, 0)
KEPT: Final = (CLUSTER, ALL_SECRETS, NODE)
"""The goals whose ways a graph keeps: paths, causes and plans all ask for them."""


def from_place(graph: EscalationGraph, source: AttackState, within: int | None) -> dict[AttackState, Reached]:
    """Every state that can be reached from one, each with its best path."""
    forward = graph.reachable([source])
    return _spread([source], lambda state: forward.get(state, ()), attrgetter("target"), within)


def towards(
    graph: EscalationGraph,
    goal: Goal,
    *,
    sources: Iterable[AttackState] | None = None,
    within: int | None = None,
    usable: Callable[[Edge], bool] | None = None,
    holds: Callable[[AttackState], bool] | None = None,
) -> dict[AttackState, Reached]:
    """Every state from which a goal can be reached, with the first edge of its best path.

    Notes
    -----
    O(edges log places) for all sources together.
    """
    forward = graph.everything if sources is None else graph.reachable(sources)
    backward = graph.backward if sources is None else edges_by_target(forward)
    test = holds or goal.test(graph)
    ends = [state for state in forward if test(state)]
    return _spread(ends, lambda state: backward.get(state, ()), attrgetter("source"), within, usable)


def ways_to(graph: EscalationGraph, goal: Goal) -> Mapping[AttackState, Reached]:
    """The answer of ``towards`` for all sources; worked out once for each graph where the goal is a common one."""
    if not any(goal is one for one in KEPT):
        return towards(graph, goal)
    known = graph.ways.get(goal.name)
    if known is None:
        known = graph.ways[goal.name] = towards(graph, goal)
    return known


def _spread(
    starts: Iterable[AttackState],
    edges: Callable[[AttackState], Iterable[Edge]],
    other: Callable[[Edge], AttackState],
    within: int | None,
    usable: Callable[[Edge], bool] | None = None,
) -> dict[AttackState, Reached]:
    """Dijkstra's search from some states over edges to the states that ``other`` gives."""
    best: dict[AttackState, Reached] = {state: Reached(START, None) for state in starts}
    done: set[AttackState] = set()
    queue: list[tuple[int, float, int, AttackState]] = [(*START, number, state) for number, state in enumerate(best)]
    counter = len(queue)
    while queue:
        near, less, _, state = heapq.heappop(queue)
        if state in done:
            continue
        done.add(state)
        for edge in edges(state):
            target = other(edge)
            if target in done or (usable is not None and not usable(edge)):
                continue
            total = near + edge.hops, less + edge.cost
            if within is not None and total[0] > within:
                continue
            known = best.get(target)
            if known is None or total < known.distance:
                best[target] = Reached(total, edge)
                counter += 1
                heapq.heappush(queue, (*total, counter, target))
    return best


def path_from(found: Mapping[AttackState, Reached], start: AttackState, goal: Goal, end: AttackState) -> Path:
    """The path from a source to an end, from the result of ``from_place``."""
    edges: list[Edge] = []
    step = found[end].edge
    while step is not None:
        edges.append(step)
        step = found[step.source].edge
    return Path(goal, tuple(reversed(edges)), edges[-1].source if edges else start)


def path_towards(found: Mapping[AttackState, Reached], start: AttackState, goal: Goal) -> Path:
    """The path from a state to a goal, from the result of ``towards``."""
    return Path(goal, tuple(onwards(found, start)), start)


def onwards(found: Mapping[AttackState, Reached], state: AttackState) -> Iterator[Edge]:
    """The edges of the best path from a state, from the result of ``towards``."""
    edge = found[state].edge
    while edge is not None:
        yield edge
        edge = found[edge.target].edge


def first_steps(graph: EscalationGraph, start: AttackState) -> Iterator[tuple[Edge, ...]]:
    """Every edge that takes something and can be used at once, with the free edges before it."""
    before: dict[AttackState, tuple[Edge, ...]] = {start: ()}
    waiting = [start]
    while waiting:
        state = waiting.pop(0)
        for edge in graph.edges(state):
            if edge.cost:
                yield (*before[state], edge)
            elif edge.target not in before:
                before[edge.target] = (*before[state], edge)
                waiting.append(edge.target)


def each_way(
    graph: EscalationGraph, found: Mapping[AttackState, Reached], start: AttackState, goal: Goal
) -> Iterator[Path]:
    """For each first step from which the goal can be reached, the best path that begins with it."""
    for edges in first_steps(graph, start):
        target = edges[-1].target
        if target in found:
            path = Path(goal, (*edges, *onwards(found, target)), start)
            passed = [start, *(edge.target for edge in path.edges)]
            if len(set(passed)) == len(passed):
                yield path


def one_of(graph: EscalationGraph, state: AttackState, start: AttackState | None = None) -> Iterator[Edge]:
    """The edges from a set to one of its members, preferably not the start; none if the state is no set."""
    seen = {state}
    while True:
        choices = [edge for edge in graph.edges(state) if not edge.primitive and edge.target not in seen]
        if not choices or state.kind in SUBJECTS:
            return
        # A namespace without members leads nowhere; an account of its own says more than the default one.
        best = max(
            choices, key=lambda edge: (_goes_on(graph, edge.target), edge.target != start, _plain(graph, edge.target))
        )
        yield best
        state = best.target
        seen.add(state)


def _goes_on(graph: EscalationGraph, state: AttackState) -> bool:
    return state.kind in SUBJECTS or state.kind == POD or any(not edge.primitive for edge in graph.edges(state))


def _plain(graph: EscalationGraph, state: AttackState) -> bool:
    """True if a member is no special case: not the default account, not a pod with an escape to its node."""
    pod = graph.facts.pod(state.namespace, state.name) if state.kind == POD else None
    return state.name != "default" and (pod is None or not escapes_of(pod))
