"""The next change of a plan: what closes the most paths, looked for lazily.

A change closes at most the paths that it lies on (a bound), at most those that the graph has no other way for (the
model), and exactly those that are gone in the cluster as it would be. Each is dearer to know than the one before, so
only what may be the best is asked for the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Final, NamedTuple

from simkit.analysis.plan.candidates import NONE, SURELY
from simkit.analysis.plan.open_paths import Candidate
from simkit.analysis.plan.rounds import Round

TRIED: Final = 4
"""The number of changes that are tried on the changed cluster in one step, if the model rates them equal."""
PATIENCE: Final = 30
"""The number of changes that are tried if none closes a path."""
BOUND: Final = 1
MODELLED: Final = 0
"""The certainty of a change's effect; of two equal changes the more certain one comes first."""
PAIRED: Final = 16
"""Of how many changes pairs are looked at where none alone closes a path."""


class RatedChange(NamedTuple):
    """A change with what it closes; of two alike the one that harms and costs less is better."""

    closes: int
    harm: int
    cost: float
    text: str
    change: Candidate

    @property
    def order(self) -> tuple[int, int, float, str]:
        return (-self.closes, self.harm, self.cost, self.text)


def next_change(now: Round, *, free: bool) -> tuple[Candidate, Round] | None:
    """The best next change, with the cluster after it; None where no change closes anything.

    Changes that break something which is used come only when no other closes a path.

    Parameters
    ----------
    free
        Whether only changes count that cost nothing which is known to be used.
    """
    bounds = now.open_paths.candidates_of(now.paths)
    rated = [
        RatedChange(bound, now.candidates.harm(one), now.candidates.cost(one), str(one), one)
        for one, bound in bounds.items()
    ]
    for allowed in ((NONE,),) if free else (range(SURELY), (SURELY,)):
        usable = [one for one in rated if one.harm in allowed]
        found = _best(now, usable)
        if found is not None:
            return found
    return None


def _best(now: Round, usable: Iterable[RatedChange]) -> tuple[Candidate, Round] | None:
    ordered = sorted(usable, key=lambda one: one.order)
    found = _lazily(now, ordered)
    if found is not None:
        return found
    pair = _best_pair(now, ordered[:PAIRED])
    return None if pair is None else (pair, now.after(pair))


def _lazily(now: Round, ordered: Iterable[RatedChange]) -> tuple[Candidate, Round] | None:
    """The change that closes the most, asked only for what may still be more than the best; None where none closes any.

    After ``TRIED`` changes were tried in full the best of them is taken, so that it may miss a slightly better one.
    """
    waiting = [(one.order, BOUND, one) for one in ordered]
    heapify(waiting)
    best: tuple[int, Candidate, Round] | None = None
    tried = 0
    while waiting:
        _, known, one = heappop(waiting)
        if (best is not None and (best[0] >= one.closes or tried >= TRIED)) or tried >= PATIENCE:
            break
        if known == BOUND:
            closes = now.modelled([one.change])
            if closes:
                better = one._replace(closes=closes)
                heappush(waiting, (better.order, MODELLED, better))
            continue
        then, tried = now.after(one.change), tried + 1
        closes = len(now.paths) - len(then.paths)
        if closes > (best[0] if best is not None else 0):
            best = (closes, one.change, then)
    return None if best is None else best[1:]


def _best_pair(now: Round, ordered: Sequence[RatedChange]) -> Candidate | None:
    """The first of the two changes that together close most paths, if no change alone closes one."""
    pairs = ((now.modelled([one.change, other.change]), one.change) for one, other in combinations(ordered, 2))
    closes, first = max(pairs, key=lambda pair: pair[0], default=(0, None))
    return first if closes else None
