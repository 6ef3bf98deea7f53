"""The effect of remedies, measured in the cluster as it would be, with the machinery of plans."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.analysis.escalation.cut.cutter import Candidate
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.plan.candidates import SURELY
from simkit.analysis.plan.greedy import Question, Round, first_round, next_change
from simkit.analysis.rbac.subject import Members
from simkit.meta.names import Key
from simkit.seams.snapshot import Snapshot

_known: SnapshotMemo[dict[tuple[str, ...], MeasuredEffects]] = SnapshotMemo()


def effects_of(snapshot: Snapshot, members: Members, paths: Sequence[Path]) -> MeasuredEffects:
    """The effects of changes on the paths to some goals, measured once per snapshot."""
    goals = tuple({path.goal.name: path.goal for path in paths}.values())
    if members:
        return MeasuredEffects(snapshot, members, goals)
    known = _known.of(snapshot, lambda _: {})
    names = tuple(sorted(goal.name for goal in goals))
    if names not in known:
        known[names] = MeasuredEffects(snapshot, members, goals)
    return known[names]


class MeasuredEffects:
    """The paths that changes of objects close: for each object the best change, as a plan rates it."""

    def __init__(self, snapshot: Snapshot, members: Members, goals: Sequence[Goal]) -> None:
        self._now: Round | None = None
        self._best: dict[Key, tuple[int, Candidate]] = {}
        self.first: Key | None = None
        """The object that a plan changes first."""
        if goals:
            self._now = first_round(snapshot, Question(tuple(goals), None, frozenset(), {}, False, members))
            self._look_at(self._now)

    def _look_at(self, now: Round) -> None:
        """Rate the changes that lie on some paths."""
        for change in now.open_paths.candidates_of(now.paths):
            if now.candidates.harm(change) < SURELY:
                key, closes = change.key, now.modelled([change])
                known = self._best.get(key)
                if known is None or self._order(closes, change) < self._order(*known):
                    self._best[key] = closes, change
        chosen = next_change(now, free=False, left=1)
        if chosen is not None:
            self.first = chosen[0].key
            self._best[self.first] = now.modelled([chosen[0]]), chosen[0]

    def _order(self, closes: int, change: Candidate) -> tuple[int, int, float, str]:
        assert self._now is not None
        return -closes, self._now.candidates.harm(change), self._now.candidates.cost(change), str(change)

    def changed(self, key: Key) -> bool:
        """True if a change of an object lies on a path."""
        return key in self._best

    def closing(self, key: Key) -> int:
        """The number of paths that the best change of an object closes at most."""
        return self._best[key][0] if key in self._best else 0

    def best(self, key: Key, advised: Remedy) -> tuple[Remedy, int]:
        """The remedy that closes more paths in the cluster as it would be, with their number: the best change of an
        object, or the one that is advised; of two that close as many the one that takes fewer permissions.
        """
        now = self._now
        if now is None or (not advised and key not in self._best):
            return advised, 0
        options = [advised] if advised else []
        if key in self._best:
            chosen = now.remedy(self._best[key][1])
            options += [chosen] if chosen.changes != advised.changes else []
        measured = [(now.closed_by(one), one) for one in options]
        most = max(closes for closes, _ in measured)
        equal = [one for closes, one in measured if closes == most]
        return equal[0] if len(equal) == 1 else min(equal, key=lambda one: len(one.permissions)), most
