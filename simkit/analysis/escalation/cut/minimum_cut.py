"""The cheapest changes that close all paths to a goal and keep the access that a log shows in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.escalation.cut.hitting_set import Solved, cheapest_hitting_set
from simkit.analysis.escalation.cut.removal import GoalHolders, PossibleRemovals, changes_of
from simkit.analysis.escalation.cut.removal_kinds import Removal
from simkit.analysis.escalation.cut.result import Cut, after
from simkit.analysis.escalation.find.goal import Goal, parse_goal
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.search import always, path_towards, towards
from simkit.analysis.escalation.find.states import AttackState, subject_state
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.least_privilege.usage import default_bindings, usage
from simkit.analysis.rbac.index import NO_MEMBERS, index_of
from simkit.analysis.rbac.subject import Members, normalize_subject, parse_subject, several
from simkit.logic.rbac.binding import SERVICE_ACCOUNT, Subject
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, SERVICE_ACCOUNTS, UNAUTHENTICATED
from simkit.meta.progress import tracked
from simkit.snapshot.protocol import Sandbox, Snapshot

OPEN_TO_ALL: Final = (AUTHENTICATED, UNAUTHENTICATED, ANONYMOUS, SERVICE_ACCOUNTS)
ROUNDS: Final = 200
"""The limit of rounds; each round finds only the paths that the cut before left open."""


def trusted(snapshot: Snapshot) -> Callable[[Subject], bool]:
    """A predicate for subjects of the control plane: its own users and groups, and the accounts of its controllers."""
    index, kept = index_of(snapshot), default_bindings(snapshot)
    controllers = {
        normalize_subject(subject)
        for binding in index.bindings()
        if binding.key in kept
        for subject in binding.subjects
        if subject.kind == SERVICE_ACCOUNT and subject.namespace == SYSTEM_NAMESPACE
    }

    def test(subject: Subject) -> bool:
        if subject.kind == SERVICE_ACCOUNT:
            return subject in controllers
        return subject.name.startswith("system:") and not subject.name.startswith(OPEN_TO_ALL)

    return test


def cut(
    snapshot: Snapshot,
    goal: Goal | str = "cluster-admin",
    *,
    subject: Subject | str | Iterable[Subject | str] | None = None,
    audit_log: AuditLog | None = None,
    keep: Iterable[Subject | str] = (),
    direct: bool = False,
    members: Members | None = None,
    sandbox: Sandbox | None = None,
) -> Cut:
    """The cheapest set of changes after which no untrusted subject reaches a goal.

    Parameters
    ----------
    goal
        See ``parse_goal``.
    subject
        Whose paths are to be closed: one subject or several; None for everybody but the control plane and those who
        have the goal already.
    audit_log
        An audit log: access that it shows in use is not taken away. Where a path can only be closed by a binding in
        use, its subject is left with just what it uses.
    keep
        Subjects whose access is not touched.
    direct
        Whether those who have the goal without a step are to lose it too.
    sandbox
        Where the cut shall be verified: ``cluster.cut`` gives the cluster itself.
    members
        Groups that the cluster does not keep, as for ``who_can``.

    Returns
    -------
    Cut
        Subjects taken out of bindings and permissions taken out of rules, weighed by the access that others lose with
        them. Bindings and roles that the server makes itself are not touched.

    Raises
    ------
    SimkitError
        For a text that is no subject or no goal, and for an audit log that is not there.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    A minimum cut with weights: paths are found, a cheapest set that meets all of them is chosen, and paths are looked
    for again, until none is left. Each step of a path may be closed at any of its needs, and a need that several
    grants meet is closed when all of them are.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> len(cluster.cut("cluster-admin"))
    0
    """
    members = members or NO_MEMBERS
    cutter = _Cutter(snapshot, parse_goal(goal), audit_log, frozenset(map(parse_subject, keep)), members)
    return replace(cutter.run(subject, direct=direct), sandbox=sandbox)


class _Cutter:
    """One search for a cut."""

    def __init__(
        self, snapshot: Snapshot, goal: Goal, log: AuditLog | None, keep: frozenset[Subject], members: Members
    ) -> None:
        self.snapshot, self.goal, self.members = snapshot, goal, members
        self.graph = graph_of(snapshot, members)
        self._used = dict(usage(snapshot, log).allowed) if log is not None else {}
        self._ways = PossibleRemovals(snapshot, keep, self._used)
        self._in_use = self._ways.in_use
        self._ends = GoalHolders(self.goal, self.graph)
        self._sets: dict[frozenset[Removal], dict[AttackState, Path]] = {}
        """The sets of removals that close paths, each with one path of each start that it closes."""
        self._left: dict[AttackState, Path] = {}
        self._solved: Solved[Removal] = {}

    def run(self, subject: Subject | str | Iterable[Subject | str] | None, *, direct: bool) -> Cut:
        """Find and close paths until none is left."""
        starts = self._starts(subject, direct=direct)
        chosen: frozenset[Removal] = frozenset()
        exact = True
        for _ in tracked(iter(range(ROUNDS)), "closing paths, round"):
            waiting = [state for state in starts if state not in self._left]
            paths = self._open(self.graph, waiting, chosen, direct=direct)
            paths = paths or self._still_open(waiting, chosen, direct=direct)
            if not paths:
                break
            for path in paths:
                self._learn(path, chosen)
            chosen, exact = self._chosen()
        return self._cut(starts, chosen, exact)

    def _cut(self, starts: tuple[AttackState, ...], chosen: frozenset[Removal], exact: bool) -> Cut:
        removals = tuple(sorted(chosen, key=str))
        costs = {one: self._ways.cost(one) for one in removals}
        found = {path: some for some, paths in self._sets.items() for path in paths.values()}
        ways = {path: some for path, some in found.items() if path.start not in self._left}
        made = self._changes(removals)
        left = tuple(self._left.values())
        return Cut(
            *(self.goal, removals, costs, tuple(ways), left, exact, self.snapshot, made),
            used=self._used,
            starts=starts,
            members=self.members,
            closed_by=ways,
        )

    def _starts(
        self, subject: Subject | str | Iterable[Subject | str] | None, *, direct: bool
    ) -> tuple[AttackState, ...]:
        if subject is not None:
            return tuple(subject_state(parse_subject(one)) for one in several(subject))
        is_trusted, found = trusted(self.snapshot), towards(self.graph, self.goal)
        return tuple(
            state
            for state in self.graph.sources()
            if state.subject is not None and not is_trusted(state.subject) and state in found
            if direct or path_towards(found, state, self.goal).hops
        )

    def _open(
        self, graph: EscalationGraph, starts: Iterable[AttackState], chosen: frozenset[Removal], *, direct: bool
    ) -> list[Path]:
        """The best path of each start that still reaches the goal."""
        usable = partial(self._ways.usable, chosen=chosen) if chosen else always
        listed = list(starts)
        holds = partial(self._holds, chosen=chosen) if chosen and self.goal.question else None
        found = towards(graph, self.goal, sources=listed, usable=usable, holds=holds)
        paths = (path_towards(found, state, self.goal) for state in listed if state in found)
        return [path for path in paths if direct or path.hops]

    def _holds(self, state: AttackState, chosen: frozenset[Removal]) -> bool:
        """True if an attacker in a state has the goal after some removals."""
        return self._ends.test(state) and not self._ways.stops(self._ends.requirements(state), chosen)

    def _still_open(self, starts: Iterable[AttackState], chosen: frozenset[Removal], *, direct: bool) -> list[Path]:
        """The paths in the changed snapshot, where more may be possible than the remaining steps say."""
        if not chosen:
            return []
        graph = graph_of(after(self.snapshot, self._changes(chosen)), self.members)
        return self._open(graph, starts, frozenset(), direct=direct)

    def _changes(self, removals: Iterable[Removal]) -> tuple[Change, ...]:
        return changes_of(removals, self.snapshot, self.graph.facts.index, self._in_use)

    def _learn(self, path: Path, chosen: frozenset[Removal]) -> None:
        """Record the removals that would close a path: for each requirement those of its first open source."""
        ways = {*self._ways.of_path(path, chosen), *self._ways.of_needs(self._ends.requirements(path.end), chosen)}
        options = frozenset(one for one in ways if one not in self._in_use.barred)
        if options - chosen:
            self._sets.setdefault(options - chosen, {})[path.start] = path
        else:
            self._left[path.start] = path

    def _chosen(self) -> tuple[frozenset[Removal], bool]:
        """The cheapest removals that close all known paths, and True if they are proven to be the cheapest."""
        while True:
            for some, paths in self._sets.items():
                if not some - self._in_use.barred:
                    self._left.update(paths)
            wanted = {
                some - self._in_use.barred
                for some, paths in self._sets.items()
                if any(state not in self._left for state in paths)
            }
            weights = {one: self._ways.cost(one) for some in wanted for one in some}
            chosen, exact = cheapest_hitting_set(wanted, weights, self._solved)
            if not self._in_use.bar(chosen):
                return chosen, exact
