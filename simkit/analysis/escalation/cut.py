"""The cheapest changes that close all paths to a goal, without taking what a log shows in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from simkit.analysis.auditlog import Log
from simkit.analysis.escalation.gathering import as_settled
from simkit.analysis.escalation.goal import CLUSTER, Goal, parse_goal
from simkit.analysis.escalation.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.hitting import cheapest_hitting_set
from simkit.analysis.escalation.path import Path
from simkit.analysis.escalation.place import Place, at_subject
from simkit.analysis.escalation.removal import Ends, Narrow, Removal, Removals, changes_of
from simkit.analysis.escalation.search import always, path_towards, towards
from simkit.analysis.leastprivilege.proposal import Change
from simkit.analysis.leastprivilege.usage import default_bindings, usage
from simkit.analysis.leastprivilege.use import Action
from simkit.analysis.rbac.index import NO_MEMBERS, index_of
from simkit.analysis.rbac.subject import Members, normal, parse
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import amount, html_lines
from simkit.logic.rbac.binding import SERVICE_ACCOUNT, Subject
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, SERVICE_ACCOUNTS, UNAUTHENTICATED, Identity
from simkit.meta.names import Key
from simkit.snapshot.protocol import Sandbox, Snapshot

if TYPE_CHECKING:
    from simkit.analysis.escalation.verify import Verified

COLUMNS: Final = ("change", "kind", "object", "namespace", "cost", "closes", "subjects")
OPEN_TO_ALL: Final = (AUTHENTICATED, UNAUTHENTICATED, ANONYMOUS, SERVICE_ACCOUNTS)
ROUNDS: Final = 200
"""How often paths are looked for again after a cut; each round finds only what the cut before left open."""


@dataclass(frozen=True)
class Cut:
    """Changes that close paths to a goal.

    ``left`` are paths that nothing which may be taken away would close; ``exact`` says that no cheaper cut exists.
    """

    goal: Goal
    removals: tuple[Removal, ...]
    costs: Mapping[Removal, float] = field(repr=False)
    closed: tuple[Path, ...] = field(repr=False)
    left: tuple[Path, ...] = field(repr=False)
    exact: bool
    snapshot: Snapshot = field(repr=False, compare=False)
    changes: tuple[Change, ...] = field(repr=False)
    used: Mapping[tuple[Identity, Action], int] = field(repr=False, default_factory=dict)
    starts: tuple[Place, ...] = field(repr=False, default=())
    members: Members = field(repr=False, compare=False, default_factory=dict)
    ways: Mapping[Path, frozenset[Removal]] = field(repr=False, compare=False, default_factory=dict)
    """What would close each of the paths."""
    sandbox: Sandbox | None = field(repr=False, compare=False, default=None)
    """Where it is verified unless another place is said."""

    @property
    def cost(self) -> float:
        """The access that it takes: single permissions times subjects, and one for each change."""
        return sum(self.costs[one] for one in self.removals)

    def frame(self) -> pd.DataFrame:
        """One row per change: change (in words), kind, object, namespace, cost, closes (paths), subjects (of them)."""
        rows = []
        for one in self.removals:
            key = one.role if isinstance(one, Narrow) else one.binding
            paths = [path for path in self.closed if one in self.ways[path]]
            subjects = {path.subject for path in paths}
            kind = type(one).__name__.lower()
            rows.append((str(one), kind, key.name, key.namespace, self.costs[one], len(paths), len(subjects)))
        return table(rows, COLUMNS)

    def manifests(self) -> list[Mapping[str, Any]]:
        """The changed objects, to be applied."""
        return [change.obj for change in self.changes if change.obj is not None]

    def deletions(self) -> list[Key]:
        """The bindings that have no subject any more."""
        return [change.key for change in self.changes if change.obj is None]

    def yaml(self) -> str:
        """The manifests as YAML, the deletions as comments with their commands."""
        import yaml

        lines = [f"# {command}" for command in self.patches() if command.startswith("kubectl delete")]
        return "\n".join(lines) + ("\n---\n" if lines else "") + yaml.safe_dump_all(self.manifests(), sort_keys=False)

    def patches(self) -> list[str]:
        """The same as commands: ``kubectl apply`` for new objects, ``kubectl patch`` and ``kubectl delete``."""
        import orjson

        commands = []
        for change in self.changes:
            key, where = change.key, f" -n {change.key.namespace}" if change.key.namespace else ""
            if change.obj is None:
                commands.append(f"kubectl delete {key.resource.resource} {key.name}{where}")
            elif self.snapshot.get(key.resource, key.name, key.namespace) is None:
                commands.append(f"kubectl apply -f - <<< '{orjson.dumps(change.obj).decode()}'")
            else:
                content = {name: change.obj[name] for name in ("subjects", "rules") if name in change.obj}
                text = orjson.dumps(content).decode()
                commands.append(f"kubectl patch {key.resource.resource} {key.name}{where} --type merge -p '{text}'")
        return commands

    def after(self) -> Snapshot:
        """The snapshot as it would be."""
        return after(self.snapshot, self.changes)

    def verify(self, sandbox: Sandbox | None = None) -> Verified:
        """Make the changes on a fork, and see that no path is left and nothing in use is lost."""
        from simkit.analysis.escalation.verify import verify

        where = sandbox or self.sandbox
        if where is None:
            raise SimkitError("a cut is verified on a cluster: cut.verify(simkit.load(...))")
        return verify(self, where)

    def lines(self) -> Iterator[str]:
        how = "the cheapest cut" if self.exact else "a cut"
        yield f"{how} of all paths to {self.goal}: {amount(len(self.removals), 'change')}, cost {self.cost:g}"
        for one in self.removals:
            yield f"{one} (cost {self.costs[one]:g})"
        for path in self.left:
            yield f"left open: {path.subject} by {' '.join(path.primitives)}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_lines(self.lines())


def after(snapshot: Snapshot, changes: Iterable[Change]) -> Snapshot:
    """A snapshot as it would be after changes."""
    listed = list(changes)
    put = [change.obj for change in listed if change.obj is not None]
    return as_settled(snapshot, put, [change.key for change in listed if change.obj is None])


def trusted(snapshot: Snapshot) -> Callable[[Subject], bool]:
    """Whose access belongs to the control plane: its own users and groups, and the accounts of its controllers."""
    index, kept = index_of(snapshot), default_bindings(snapshot)
    controllers = {
        normal(subject)
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
    goal: Goal | str = CLUSTER,
    *,
    sources: Iterable[Subject | str] | None = None,
    log: Log | None = None,
    keep: Iterable[Subject | str] = (),
    direct: bool = False,
    members: Members = NO_MEMBERS,
    sandbox: Sandbox | None = None,
) -> Cut:
    """The cheapest set of changes after which nobody gets to a goal who should not.

    Parameters
    ----------
    goal
        See ``parse_goal``.
    sources
        Whose paths are to be closed; None for everybody but the control plane and those who have the goal already.
    log
        An audit log: access that it shows in use is not taken away. Where a path can only be closed by a binding in
        use, its subject is left with just what it uses.
    keep
        Subjects whose access is not touched.
    direct
        Whether those who have the goal without a step are to lose it too.
    sandbox
        Where the cut shall be verified: ``cluster.cut`` gives the cluster itself.

    Returns
    -------
    Cut
        Subjects taken out of bindings and permissions taken out of rules, weighed by the access that others lose with
        them. Bindings and roles that the server makes itself are not touched.

    Notes
    -----
    A minimum cut with weights: paths are found, a cheapest set that meets all of them is chosen, and paths are looked
    for again, until none is left. Each step of a path may be closed at any of its needs, and a need that several
    grants meet is closed when all of them are.
    """
    cutter = _Cutter(snapshot, parse_goal(goal), log, frozenset(map(parse, keep)), members)
    return replace(cutter.run(sources, direct=direct), sandbox=sandbox)


class _Cutter:
    """One search for a cut."""

    def __init__(
        self, snapshot: Snapshot, goal: Goal, log: Log | None, keep: frozenset[Subject], members: Members
    ) -> None:
        self.snapshot, self.goal, self.members = snapshot, goal, members
        self.graph = graph_of(snapshot, members)
        self._used = dict(usage(snapshot, log).allowed) if log is not None else {}
        self._ways = Removals(snapshot, keep, self._used)
        self._in_use = self._ways.in_use
        self._ends = Ends(self.goal, self.graph)
        self._sets: dict[frozenset[Removal], dict[Place, Path]] = {}
        """What would close paths, with one path of each start that has it."""
        self._left: dict[Place, Path] = {}

    def run(self, sources: Iterable[Subject | str] | None, *, direct: bool) -> Cut:
        """Find and close paths until none is left."""
        starts = self._starts(sources, direct=direct)
        chosen: frozenset[Removal] = frozenset()
        exact = True
        for _ in range(ROUNDS):
            waiting = [place for place in starts if place not in self._left]
            paths = self._open(self.graph, waiting, chosen, direct=direct)
            paths = paths or self._still_open(waiting, chosen, direct=direct)
            if not paths:
                break
            for path in paths:
                self._learn(path, chosen)
            chosen, exact = self._chosen()
        return self._cut(starts, chosen, exact)

    def _cut(self, starts: tuple[Place, ...], chosen: frozenset[Removal], exact: bool) -> Cut:
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
            ways=ways,
        )

    def _starts(self, sources: Iterable[Subject | str] | None, *, direct: bool) -> tuple[Place, ...]:
        if sources is not None:
            return tuple(at_subject(parse(one)) for one in sources)
        is_trusted, found = trusted(self.snapshot), towards(self.graph, self.goal)
        return tuple(
            place
            for place in self.graph.sources()
            if place.subject is not None and not is_trusted(place.subject) and place in found
            if direct or path_towards(found, place, self.goal).hops
        )

    def _open(
        self, graph: EscalationGraph, starts: Iterable[Place], chosen: frozenset[Removal], *, direct: bool
    ) -> list[Path]:
        """The best path of each start that is still open."""
        usable = partial(self._ways.usable, chosen=chosen) if chosen else always
        listed = list(starts)
        holds = partial(self._holds, chosen=chosen) if chosen and self.goal.question else None
        found = towards(graph, self.goal, sources=listed, usable=usable, holds=holds)
        paths = (path_towards(found, place, self.goal) for place in listed if place in found)
        return [path for path in paths if direct or path.hops]

    def _holds(self, place: Place, chosen: frozenset[Removal]) -> bool:
        """Whether somebody at a place has the goal after some removals."""
        return self._ends.test(place) and not self._ways.stops(self._ends.needs(place), chosen)

    def _still_open(self, starts: Iterable[Place], chosen: frozenset[Removal], *, direct: bool) -> list[Path]:
        """The paths in the cluster as it would be, where objects may say more than steps that are left out."""
        if not chosen:
            return []
        graph = EscalationGraph(after(self.snapshot, self._changes(chosen)), self.members)
        return self._open(graph, starts, frozenset(), direct=direct)

    def _changes(self, removals: Iterable[Removal]) -> tuple[Change, ...]:
        return changes_of(removals, self.snapshot, self.graph.world.index, self._in_use)

    def _learn(self, path: Path, chosen: frozenset[Removal]) -> None:
        """Note what would close a path: at any need, what stops the first of its sources that is not stopped yet."""
        ways = {*self._ways.of_path(path, chosen), *self._ways.of_needs(self._ends.needs(path.end), chosen)}
        options = frozenset(one for one in ways if one not in self._in_use.barred)
        if options - chosen:
            self._sets.setdefault(options - chosen, {})[path.start] = path
        else:
            self._left[path.start] = path

    def _chosen(self) -> tuple[frozenset[Removal], bool]:
        """The cheapest removals that close all known paths, without those that together take what is in use."""
        while True:
            for some, paths in self._sets.items():
                if not some - self._in_use.barred:
                    self._left.update(paths)
            wanted = {
                some - self._in_use.barred
                for some, paths in self._sets.items()
                if any(place not in self._left for place in paths)
            }
            weights = {one: self._ways.cost(one) for some in wanted for one in some}
            chosen, exact = cheapest_hitting_set(wanted, weights)
            if not self._in_use.bar(chosen):
                return chosen, exact
