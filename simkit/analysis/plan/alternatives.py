"""The paths that a change closes for certain in the graph as it is: those of starts that have no other way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from simkit.analysis.escalation.cut.cutter import Candidate
from simkit.analysis.escalation.find.edge import Edge, Reached
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.plan.open_paths import GoalEnds, Stopping
from simkit.analysis.plan.reach import gathered

Best = Mapping[AttackState, Reached]
"""For each state from which a goal can be reached the first edge of its best path."""


class Alternatives:
    """The best paths to some goals, and the ways around a change.

    A change closes at most the paths that it lies on. Only for these the graph is searched for another way, up to the
    next state whose best path does not need what is changed.
    """

    def __init__(
        self, graph: EscalationGraph, stopping: Stopping, ends: Sequence[GoalEnds], best: Sequence[Best]
    ) -> None:
        self._graph, self._stopping, self._ends, self._best = graph, stopping, ends, best
        self._on_path: list[dict[AttackState, frozenset[Candidate]]] = [{} for _ in best]

    def bounds(self, paths: Iterable[Path]) -> Counter[Candidate]:
        """The number of paths that each change lies on: it closes no more."""
        numbers = {ends.goal.name: number for number, ends in enumerate(self._ends)}
        counts: Counter[Candidate] = Counter()
        for path in paths:
            counts.update(self._needed(numbers[path.goal.name], path.start))
        return counts

    def _needed(self, number: int, state: AttackState) -> frozenset[Candidate]:
        """The changes that lie on the best path from a state."""
        best = self._best[number]

        def following(now: AttackState) -> AttackState | None:
            edge = best[now].edge
            return None if edge is None else edge.target

        def own(now: AttackState) -> frozenset[Candidate]:
            edge = best[now].edge
            return frozenset(self._ends[number].stopping(now) if edge is None else self._stopping.of(edge))

        return gathered(state, following, own, self._on_path[number])

    def closes(self, one: Candidate, starts: Sequence[Collection[AttackState]]) -> int:
        """The number of starts of each goal that have no way around a change."""
        return sum(self._stuck(number, one, some) for number, some in enumerate(starts))

    def _stuck(self, number: int, one: Candidate, starts: Collection[AttackState]) -> int:
        hit = [state for state in starts if one in self._needed(number, state)]
        around: set[AttackState] = set()
        back: dict[AttackState, list[AttackState]] = defaultdict(list)
        seen, waiting = set(hit), list(hit)
        while waiting:
            state = waiting.pop()
            for edge in self._usable(number, one, state):
                if one not in self._needed(number, edge.target):
                    around.add(state)
                    break
                back[edge.target].append(state)
                if edge.target not in seen:
                    seen.add(edge.target)
                    waiting.append(edge.target)
        waiting = list(around)
        while waiting:
            for state in back[waiting.pop()]:
                if state not in around:
                    around.add(state)
                    waiting.append(state)
        return sum(1 for state in hit if state not in around)

    def _usable(self, number: int, one: Candidate, state: AttackState) -> Iterator[Edge]:
        """The edges from a state towards the goal that a change leaves."""
        best = self._best[number]
        return (edge for edge in self._graph.edges(state) if edge.target in best and one not in self._stopping.of(edge))
