"""The subjects that still reach a goal when some steps are removed from the escalation graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from simkit.analysis.escalation.cut.cutter import Candidate, Policy
from simkit.analysis.escalation.cut.pod_security import OPEN_NAMESPACE, EnforceLevel
from simkit.analysis.escalation.cut.refused_accounts import refusing
from simkit.analysis.escalation.cut.removal import GoalHolders, PossibleRemovals
from simkit.analysis.escalation.cut.removal_kinds import Removal
from simkit.analysis.escalation.find.edge import Edge
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.plan.reach import Reach, Steps

Granted = tuple[tuple[GrantSource, ...], ...]


class Stopping:
    """The changes that each stop a step of the graph."""

    def __init__(self, removals: PossibleRemovals, facts: ClusterFacts) -> None:
        self._removals, self._facts = removals, facts
        self._known: dict[tuple[str, int, Granted], tuple[Removal, ...]] = {}

    def of(self, edge: Edge) -> tuple[Candidate, ...]:
        """The changes after which a step is not possible any more."""
        if not edge.primitive:
            return ()
        found: tuple[Candidate, ...] = ()
        if edge.granted_by:
            need = (edge.primitive, edge.number, edge.granted_by)
            known = self._known.get(need)
            if known is None:
                known = self._known[need] = tuple(self._removals.of_edge(edge))
            found = known
        return (*found, *policies_of(self._facts, edge))


def policies_of(facts: ClusterFacts, edge: Edge) -> Iterator[Policy]:
    """The levels of pod security and admission policies after which a step is not possible any more."""
    if not edge.primitive:
        return
    if edge.variant.condition == OPEN_NAMESPACE:
        level = EnforceLevel(edge.value("namespace"))
        if level.stops(edge):
            yield level
    policy = refusing(facts, edge)
    if policy is not None:
        yield policy


class OpenPaths:
    """The steps of a graph, the changes that stop each, and who gets where without some of them.

    What is counted is a lower bound of what stays open: a changed cluster may have steps that this graph leaves out
    because others were as good.
    """

    def __init__(self, graph: EscalationGraph, removals: PossibleRemovals, goals: Sequence[Goal]) -> None:
        self._stopping = Stopping(removals, graph.facts)
        found = graph.everything
        self._places = {state: number for number, state in enumerate(found)}
        self.stopped_by: dict[Candidate, set[int]] = defaultdict(set)
        steps = Steps(len(found))
        for state, edges in found.items():
            for edge in edges:
                number = steps.add(self._places[state], self._places[edge.target])
                for one in self._stopping.of(edge):
                    self.stopped_by[one].add(number)
        self._ends = [_Ends(GoalEnds(graph, removals, goal), self._places, steps) for goal in goals]
        for ends in self._ends:
            for one in ends.stopped_by:
                self.stopped_by.setdefault(one, set())

    def candidates_of(self, paths: Iterable[Path]) -> Counter[Candidate]:
        """The changes that stop one of the paths, with how many of them each stops: no change closes more."""
        counts: Counter[Candidate] = Counter()
        by_goal = {ends.ends.goal.name: ends.ends for ends in self._ends}
        for path in paths:
            found = {one for edge in path.edges for one in self._stopping.of(edge)}
            found.update(by_goal[path.goal.name].stopping(path.end))
            counts.update(found)
        return counts

    def count(self, chosen: Collection[Candidate], starts: Sequence[Collection[AttackState]]) -> int:
        """The number of starts that still reach their goal after changes."""
        barred = set[int]().union(*(self.stopped_by.get(one, ()) for one in chosen))
        left = 0
        for ends, some in zip(self._ends, starts, strict=True):
            lost = ends.lost(chosen, barred)
            at = (self._places.get(state) for state in some)
            left += sum(place in ends.reach and place not in lost for place in at if place is not None)
        return left


class GoalEnds:
    """The changes by which the end of a path loses the goal, for goals that are a permission."""

    def __init__(self, graph: EscalationGraph, removals: PossibleRemovals, goal: Goal) -> None:
        self.goal, self._removals, self._holders = goal, removals, GoalHolders(goal, graph)

    def test(self, state: AttackState) -> bool:
        """True if a state has the goal."""
        return self._holders.test(state)

    def stopping(self, state: AttackState) -> Iterator[Candidate]:
        """The changes that take the goal from a state that has it."""
        return self._removals.every(self._holders.requirements(state))


class _Ends:
    """The places that have a goal, the changes by which they lose it, and who reaches one of them."""

    def __init__(self, ends: GoalEnds, places: dict[AttackState, int], steps: Steps) -> None:
        self.ends = ends
        holders = [state for state in places if ends.test(state)]
        self.reach = Reach(steps, (places[state] for state in holders))
        self.stopped_by: dict[Candidate, set[int]] = defaultdict(set)
        for state in holders:
            for one in ends.stopping(state):
                self.stopped_by[one].add(places[state])

    def lost(self, chosen: Iterable[Candidate], barred: Collection[int]) -> set[int]:
        """The places that do not get to the goal any more after changes, which bar some steps."""
        return self.reach.lost(barred, set[int]().union(*(self.stopped_by.get(one, ()) for one in chosen)))
