"""The subjects that still reach a goal when some steps are removed from the escalation graph.

It is asked many times about one graph. One search builds a forest of the steps by which each place reaches an end. What
a change bars concerns only the places below it in the forest, so that most questions look at a few places.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from simkit.analysis.escalation.cut.cutter import Candidate
from simkit.analysis.escalation.cut.policies import OPEN_NAMESPACE, EnforceLevel
from simkit.analysis.escalation.cut.removal import GoalHolders, Needed, PossibleRemovals, Removal
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.graph import EscalationGraph
from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.states import AttackState

NO_STEP: Final = -1


class OpenStep(NamedTuple):
    """A step, seen from one of its ends: the place at the other end, and its number."""

    place: int
    number: int


class Steps:
    """The steps of a graph whose places are numbered, to look at from both ends."""

    def __init__(self, places: int) -> None:
        self.into: list[list[OpenStep]] = [[] for _ in range(places)]
        self.out_of: list[list[OpenStep]] = [[] for _ in range(places)]
        self.ends_of: list[tuple[int, int]] = []

    def add(self, source: int, target: int) -> int:
        """Add a step, and give back its number."""
        number = len(self.ends_of)
        self.ends_of.append((source, target))
        self.into[target].append(OpenStep(source, number))
        self.out_of[source].append(OpenStep(target, number))
        return number


class Reach:
    """The places from which an end can be reached.

    Parameters
    ----------
    steps
        The graph; no steps are added later.
    ends
        Where one wants to get.
    barred
        The numbers of steps that are not taken.
    """

    def __init__(self, steps: Steps, ends: Iterable[int], barred: Collection[int] = ()) -> None:
        self._steps, self._barred = steps, barred
        self._ends = frozenset(ends)
        self._taken: dict[int, int] = dict.fromkeys(self._ends, NO_STEP)
        self._before: dict[int, list[int]] = {}
        waiting = list(self._ends)
        for place in waiting:
            for source, number in steps.into[place]:
                if source not in self._taken and number not in barred:
                    self._taken[source] = number
                    self._before.setdefault(place, []).append(source)
                    waiting.append(source)

    def __contains__(self, place: int) -> bool:
        return place in self._taken

    def next_step(self, place: int) -> int | None:
        """The number of the first step of a shortest way from a place; None at an end."""
        number = self._taken[place]
        return None if number == NO_STEP else number

    def next_place(self, place: int) -> int | None:
        """The place where that step leads; None at an end."""
        number = self.next_step(place)
        return None if number is None else self._steps.ends_of[number][1]

    def lost(self, barred: Collection[int], gone: Collection[int]) -> set[int]:
        """The places that do not reach an end any more.

        Parameters
        ----------
        barred
            The numbers of the steps that cannot be taken.
        gone
            Ends that are none any more.
        """
        barred = {*barred, *self._barred} if self._barred else barred
        doubtful = self._below(self._cut_off(barred, gone))
        waiting = [place for place in doubtful if self._leads_out(place, barred, gone, doubtful)]
        doubtful.difference_update(waiting)
        while waiting:
            for source, number in self._steps.into[waiting.pop()]:
                if source in doubtful and number not in barred:
                    doubtful.discard(source)
                    waiting.append(source)
        return doubtful

    def _cut_off(self, barred: Collection[int], gone: Collection[int]) -> Sequence[int]:
        """The places whose own way, of those that the forest knows, is closed."""
        sources = (self._steps.ends_of[number][0] for number in barred)
        cut = [place for place, number in zip(sources, barred, strict=True) if self._taken.get(place) == number]
        return [*cut, *(place for place in gone if place in self._ends)]

    def _below(self, places: Iterable[int]) -> set[int]:
        found = set(places)
        waiting = list(found)
        while waiting:
            for place in self._before.get(waiting.pop(), ()):
                if place not in found:
                    found.add(place)
                    waiting.append(place)
        return found

    def _leads_out(self, place: int, barred: Collection[int], gone: Collection[int], doubtful: Collection[int]) -> bool:
        """True where a place is an end still, or one step from a place that surely reaches one."""
        if place in self._ends and place not in gone:
            return True
        return any(
            target in self._taken and target not in doubtful and number not in barred
            for target, number in self._steps.out_of[place]
        )


Needs = tuple[Needed, ...]
Granted = tuple[tuple[GrantSource, ...], ...]


class Stopping:
    """The changes that each stop a step of the graph."""

    def __init__(self, removals: PossibleRemovals) -> None:
        self._removals = removals
        self._known: dict[tuple[str, int, Granted], tuple[tuple[Removal, ...], Needs]] = {}

    def of(self, edge: Edge) -> tuple[Candidate, ...]:
        """The changes after which a step is not possible any more."""
        if not edge.primitive:
            return ()
        return (*self._found(edge)[0], *levels_of(edge))

    def needs(self, edge: Edge) -> Needs:
        """The grants that a step rests on: the same object for steps with the same grants."""
        return self._found(edge)[1]

    def _found(self, edge: Edge) -> tuple[tuple[Removal, ...], Needs]:
        if not edge.granted_by:
            return (), ()
        need = (edge.primitive, edge.number, edge.granted_by)
        known = self._known.get(need)
        if known is None:
            needs = tuple(self._removals.needs(edge))
            known = self._known[need] = tuple(self._removals.every(needs)), needs
        return known


def levels_of(edge: Edge) -> Iterator[EnforceLevel]:
    """The level of pod security after which a step is not possible any more."""
    if edge.primitive and edge.variant.condition == OPEN_NAMESPACE:
        level = EnforceLevel(edge.value("namespace"))
        if level.stops(edge):
            yield level


class Stopped:
    """Numbered things, each with the changes that stop it."""

    def __init__(self, removals: PossibleRemovals) -> None:
        self._removals = removals
        self._alone: dict[Candidate, set[int]] = defaultdict(set)
        """The things that each change stops by itself."""
        self._shared: dict[int, tuple[Needs, list[int]]] = {}
        self._parts: dict[Candidate, list[int]] = defaultdict(list)
        self._changes: dict[int, tuple[tuple[Candidate, ...], Needs]] = {}

    def add(self, number: int, alone: tuple[Candidate, ...], needs: Needs) -> None:
        """Add a thing: the changes that stop it by themselves, and the grants that it rests on.

        Things with the same grants have the same object as ``needs``, which is looked at once.
        """
        self._changes[number] = alone, needs
        for one in alone:
            self._alone[one].add(number)
        if any(len(sources) > 1 for _, sources in needs):
            if id(needs) not in self._shared:
                self._shared[id(needs)] = needs, []
                every = {one for need, sources in needs for each in sources for one in self._removals.of(each, need)}
                for part in every:
                    self._parts[part].append(id(needs))
            self._shared[id(needs)][1].append(number)

    def by(self, chosen: Collection[Candidate]) -> set[int]:
        """The things that changes stop together."""
        found = set[int]().union(*(self._alone.get(one, ()) for one in chosen))
        if len(chosen) > 1:
            together = frozenset(chosen)
            for group in {each for one in chosen for each in self._parts.get(one, ())}:
                needs, numbers = self._shared[group]
                if self._removals.stops(needs, together):
                    found.update(numbers)
        return found

    def next(self, number: int, chosen: frozenset[Candidate]) -> Iterable[Candidate]:
        """The changes that stop a thing, or a part of it that others have left open."""
        alone, needs = self._changes[number]
        return alone or self._removals.of_needs(needs, chosen)


class OpenPaths:
    """The steps of a graph, the changes that stop each, and who gets where without some of them.

    What is counted is a lower bound of what stays open: a changed cluster may have steps that this graph leaves out
    because others were as good.
    """

    def __init__(self, graph: EscalationGraph, removals: PossibleRemovals, goals: Sequence[Goal]) -> None:
        self._stopping = Stopping(removals)
        found = graph.everything
        self._places = {state: number for number, state in enumerate(found)}
        self._stopped = Stopped(removals)
        self._steps = Steps(len(found))
        for state, edges in found.items():
            for edge in edges:
                number = self._steps.add(self._places[state], self._places[edge.target])
                self._stopped.add(number, self._stopping.of(edge), self._stopping.needs(edge))
        self._ends = [_Ends(goal, graph, self._places, removals) for goal in goals]

    def candidates_of(self, paths: Iterable[Path]) -> Counter[Candidate]:
        """The changes that stop one of the paths, with how many of them each stops: no change closes more."""
        counts: Counter[Candidate] = Counter()
        by_goal = {ends.goal.name: ends for ends in self._ends}
        for path in paths:
            found = {one for edge in path.edges for one in self._stopping.of(edge)}
            found.update(by_goal[path.goal.name].stopping(path.end))
            counts.update(found)
        return counts

    def without(self, chosen: Collection[Candidate], starts: Sequence[Collection[AttackState]]) -> LeftOver:
        """The ways that changes leave, to be tried without one change more."""
        left = LeftOver(self._stopped, frozenset(chosen))
        barred = self._stopped.by(chosen)
        for ends, some in zip(self._ends, starts, strict=True):
            reach = Reach(self._steps, ends.left(chosen), barred)
            places = (self._places.get(state) for state in some)
            left.add(ends, reach, Counter(place for place in places if place is not None and place in reach))
        return left


class LeftOver:
    """The ways to some goals that are left after changes, and what one change more closes."""

    def __init__(self, stopped: Stopped, chosen: frozenset[Candidate]) -> None:
        self._stopped, self._chosen = stopped, chosen
        self._goals: list[tuple[_Ends, Reach, Counter[int]]] = []

    def add(self, ends: _Ends, reach: Reach, starts: Counter[int]) -> None:
        """Add a goal, who still reaches it, and the places from which one starts."""
        self._goals.append((ends, reach, starts))

    @property
    def starts(self) -> int:
        """The number of starts that still get to their goal."""
        return sum(starts.total() for _, _, starts in self._goals)

    def closes(self, more: Iterable[Candidate]) -> int:
        """The number of starts that do not get to their goal after further changes."""
        chosen = self._chosen.union(more)
        barred = self._stopped.by(chosen)
        return sum(
            starts[place]
            for ends, reach, starts in self._goals
            for place in reach.lost(barred, ends.stopped.by(chosen))
        )

    def on_ways(self) -> Counter[Candidate]:
        """The changes on one way of each start, with how many of these ways each lies on.

        Whatever closes a way by itself is among them, and closes no more than that. Of steps that several grants allow
        it is the changes that end the first of the grants which are left.
        """
        counts: Counter[Candidate] = Counter()
        for ends, reach, starts in self._goals:
            known: dict[int, frozenset[Candidate]] = {}
            for place, number in starts.items():
                for one in self._on_way(ends, reach, place, known):
                    counts[one] += number
        return counts

    def _on_way(
        self, ends: _Ends, reach: Reach, start: int, known: dict[int, frozenset[Candidate]]
    ) -> frozenset[Candidate]:
        """The changes on the way from a place; each place is looked at once, however many ways lead through it."""
        way = []
        at: int | None = start
        while at is not None and at not in known:
            way.append(at)
            at = reach.next_place(at)
        after = known[at] if at is not None else frozenset()
        for place in reversed(way):
            after = known[place] = after | self._at(ends, reach, place)
        return after

    def _at(self, ends: _Ends, reach: Reach, place: int) -> frozenset[Candidate]:
        """The changes that stop the next step from a place, or take the goal from it at the end of a way."""
        number = reach.next_step(place)
        stopped = ends.stopped.next(place, self._chosen) if number is None else self._stopped.next(number, self._chosen)
        return frozenset(stopped)


class _Ends:
    """The places that have a goal, and the changes by which they lose it, for goals that are a permission."""

    def __init__(
        self, goal: Goal, graph: EscalationGraph, places: Mapping[AttackState, int], removals: PossibleRemovals
    ) -> None:
        self.goal, self._removals, self._holders = goal, removals, GoalHolders(goal, graph)
        self.stopped = Stopped(removals)
        self._places = [place for state, place in places.items() if self._holders.test(state)]
        for state, place in places.items():
            if self._holders.test(state):
                self.stopped.add(place, tuple(self.stopping(state)), tuple(self._holders.requirements(state)))

    def stopping(self, state: AttackState) -> Iterator[Candidate]:
        """The changes that take the goal from a state that has it."""
        return self._removals.every(self._holders.requirements(state))

    def left(self, chosen: Collection[Candidate]) -> set[int]:
        """The places that still have the goal after changes."""
        return set(self._places) - self.stopped.by(chosen)
