"""The cheapest hitting set of a collection of sets: exact by branch and bound, component by component."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Generic, TypeVar

E = TypeVar("E")
EFFORT: Final = 20_000
"""The number of branches that are examined in one component before the best set so far is taken."""


Solved = dict[frozenset[frozenset[E]], tuple[frozenset[E], bool]]
"""The answer for each part that was asked before with the same weights."""


def cheapest_hitting_set(
    sets: Iterable[Collection[E]], weights: Mapping[E, float], solved: Solved[E] | None = None
) -> tuple[frozenset[E], bool]:
    """Elements of least total weight that meet every set, and True if they are proven to be the cheapest.

    Elements without a weight cannot be taken. A set that holds no element that can be taken is left unmet.

    Parameters
    ----------
    solved
        The answers for parts without an element in common with the rest, taken from here and added to it. The weight of
        an element may not change from question to question.

    Examples
    --------
    >>> found, exact = cheapest_hitting_set([{"a", "b"}, {"b", "c"}], {"a": 1, "b": 1.5, "c": 1})
    >>> sorted(found), exact
    (['b'], True)
    """
    usable = [frozenset(one for one in some if one in weights) for some in sets]
    wanted = _minimal([some for some in dict.fromkeys(usable) if some])
    chosen: set[E] = set()
    exact = True
    known: Solved[E] = {} if solved is None else solved
    for part in _parts(wanted):
        name = frozenset(part)
        if name not in known:
            search = _Search(part, weights)
            known[name] = search.best, search.finished
        best, finished = known[name]
        chosen |= best
        exact = exact and finished
    return frozenset(chosen), exact


def _minimal(sets: Iterable[frozenset[E]]) -> list[frozenset[E]]:
    """The sets without those that contain another one, since meeting the smaller set meets both."""
    kept: list[frozenset[E]] = []
    holding: dict[E, list[frozenset[E]]] = defaultdict(list)
    for some in sorted(sets, key=len):
        candidates = {id(one): one for element in some for one in holding[element]}
        if not any(one <= some for one in candidates.values()):
            kept.append(some)
            for element in some:
                holding[element].append(some)
    return kept


def _parts(sets: Iterable[frozenset[E]]) -> list[list[frozenset[E]]]:
    """The components: groups of sets with no element in common."""
    import networkx

    listed = list(sets)
    graph: networkx.Graph[int | tuple[E]] = networkx.Graph()
    for number, some in enumerate(listed):
        graph.add_edges_from((number, (element,)) for element in some)
    components = networkx.connected_components(graph)
    return [[listed[number] for number in sorted(n for n in found if isinstance(n, int))] for found in components]


class _Search(Generic[E]):
    """Branch and bound over the sets of one part.

    A set is a number with a bit for each element, the cheapest lowest.
    """

    def __init__(self, sets: list[frozenset[E]], weights: Mapping[E, float]) -> None:
        self.best: frozenset[E] = _greedy(sets, weights)
        self._limit = sum(weights[one] for one in self.best)
        self._left = EFFORT
        self.finished = True
        self._elements = sorted(frozenset[E]().union(*sets), key=lambda one: (weights[one], str(one)))
        self._weights = [weights[one] for one in self._elements]
        bits = {one: 1 << number for number, one in enumerate(self._elements)}
        masks = (sum(bits[one] for one in some) for some in sets)
        self._branch(sorted(masks, key=int.bit_count), 0, 0, 0)

    def _branch(self, sets: list[int], chosen: int, cost: float, barred: int) -> None:
        """Try each element of the smallest set; ``sets`` are those that are not met, smaller ones first."""
        if not sets:
            if cost < self._limit - 1e-9:
                self.best, self._limit = frozenset(self._elements[number] for number in _bits(chosen)), cost
            return
        if self._left <= 0:
            self.finished = False
            return
        self._left -= 1
        if cost + self._at_least(sets, barred) >= self._limit - 1e-9:
            return
        smallest = min((some & ~barred for some in sets), key=int.bit_count)
        for number in _bits(smallest):
            bit = 1 << number
            self._branch([some for some in sets if not some & bit], chosen | bit, cost + self._weights[number], barred)
            barred |= bit  # the next branches do without it

    def _at_least(self, sets: list[int], barred: int) -> float:
        """A lower bound of the cost: the cheapest element of each of some disjoint sets."""
        total, seen = 0.0, 0
        for some in sets:
            free = some & ~barred
            if not free:
                return float("inf")
            if not free & seen:
                total += self._weights[_lowest(free)]
                seen |= free
        return total


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, the lowest first."""
    while mask:
        yield _lowest(mask)
        mask &= mask - 1


def _greedy(sets: list[frozenset[E]], weights: Mapping[E, float]) -> frozenset[E]:
    """A set that meets all; not always the cheapest."""
    chosen: set[E] = set()
    rest = sets
    while rest:
        counts: dict[E, int] = defaultdict(int)
        for some in rest:
            for element in some:
                counts[element] += 1
        best = min(counts, key=lambda one: (weights[one] / counts[one], str(one)))
        chosen.add(best)
        rest = [some for some in rest if best not in some]
    for element in sorted(chosen, key=lambda one: -weights[one]):
        if all(some & (chosen - {element}) for some in sets):
            chosen.discard(element)
    return frozenset(chosen)
