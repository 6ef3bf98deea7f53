"""The places that still reach an end of a graph when some steps are barred, asked many times about one graph.

One search builds a forest of the steps by which each place reaches an end. What a change bars concerns only the places
below it in the forest, so that most questions look at a few places instead of all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

NO_STEP: Final = -1
Place = TypeVar("Place")
Found = TypeVar("Found")


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


def gathered(
    start: Place,
    following: Callable[[Place], Place | None],
    own: Callable[[Place], frozenset[Found]],
    known: dict[Place, frozenset[Found]],
) -> frozenset[Found]:
    """All that lies on a way, from a place to its end.

    Parameters
    ----------
    following
        The next place of the way; None at its end.
    own
        What lies at a place, or on the step from there.
    known
        What was gathered before, by place: each is looked at once, however many ways lead through it.
    """
    way = []
    at: Place | None = start
    while at is not None and at not in known:
        way.append(at)
        at = following(at)
    after = known[at] if at is not None else frozenset()
    for place in reversed(way):
        more = own(place)
        after = known[place] = after if more <= after else after | more
    return after
