"""Paths from subjects to goals, and the single steps that a subject can take."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from simkit.analysis.caveats import about_access
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.goal import KNOWN as GOALS
from simkit.analysis.escalation.find.goal import Goal, parse_goal
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of, networkx_graph
from simkit.analysis.escalation.find.matching import Edge, Reached
from simkit.analysis.escalation.find.path import Path, by_way, shortest_first
from simkit.analysis.escalation.find.search import (
    each_way,
    first_steps,
    one_of,
    onwards,
    path_towards,
    towards,
    ways_to,
)
from simkit.analysis.escalation.find.states import AttackState, subject_state
from simkit.analysis.rbac.default_objects import skipped_line, unchanged_defaults
from simkit.analysis.rbac.index import NO_MEMBERS, members_in
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import table
from simkit.analysis.rbac.unknown_names import known_subject
from simkit.analysis.rendering import counted, first_of
from simkit.analysis.result import InLines, prove_claim
from simkit.logic.rbac.binding import GROUP, USER, Subject
from simkit.meta.errors import SimkitError
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.present.progress import tracked
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    from matplotlib.axes import Axes

    from simkit.analysis.escalation.prove.proof import Proofs

COLUMNS: Final = ("subject", "goal", "hops", "cost", "severity", "primitives", "path")
SHOWN: Final = 20
"""The ways that text shows; paths that go the same way are shown together."""
WELL_KNOWN: Final = ("cluster-admin", "all secrets", "a node")
Ways = Literal["best", "each"]
_MASTERS: Final = AttackState(GROUP, MASTERS)
"""Its members are listed only on request."""


@dataclass(frozen=True, repr=False)
class Escalations(InLines, Sequence[Path]):
    """The paths of a search, the shortest first. True in a condition if there is one.

    ``unknown`` names resources that the snapshot does not hold, so that paths through them were not found. ``skipped``
    counts the paths that unmodified default roles and bindings grant, which are left out unless they are asked for.
    ``held`` has the paths without a step that were left out: the goals that subjects which were asked for have already.
    """

    paths: tuple[Path, ...]
    unknown: tuple[str, ...] = ()
    members: Members = field(default_factory=dict, compare=False)
    skipped: int = 0
    held: tuple[Path, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: Any) -> Any:
        return replace(self, paths=self.paths[number]) if isinstance(number, slice) else self.paths[number]

    def __iter__(self) -> Iterator[Path]:
        return iter(self.paths)

    def to_frame(self) -> pd.DataFrame:
        """One row per path: subject, goal, hops, cost, severity, primitives (ids), path (its states)."""
        return table(map(path_row, self.paths), COLUMNS)

    def summary(self) -> pd.DataFrame:
        """One row per goal: what, count (paths), subjects, hops (of the shortest)."""
        found = self.to_frame().groupby("goal").agg({"path": "size", "subject": "nunique", "hops": "min"}).reset_index()
        return found.set_axis(["what", "count", "subjects", "hops"], axis=1)

    def to(self, goal: Goal | str) -> Escalations:
        """The paths to one goal."""
        name = parse_goal(goal).name
        return replace(self, paths=tuple(path for path in self.paths if path.goal.name == name))

    def prove(self, sandbox: Sandbox | None = None) -> Proofs:
        """Execute each path on a fork of its own, on all cores where processes can be forked (not in notebooks).

        Raises SimkitError if no cluster is known.
        """
        where = sandbox or next((path.sandbox for path in self.paths if path.sandbox is not None), None)
        if where is None and self.paths:
            raise SimkitError("paths are proven on a cluster: escalations.prove(simkit.load(...))")
        proofs: Proofs = prove_claim(self, where)
        return proofs

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """The steps of all paths as one graph, each once: see ``networkx_graph``."""
        return networkx_graph(dict.fromkeys(edge for path in self.paths for edge in path.edges))

    def plot(self, ax: Axes | None = None) -> Axes:
        """The paths as one picture, in a figure of its own unless axes are given."""
        from simkit.analysis.plots.paths import paths_figure

        return paths_figure(self.paths, ax=ax)

    def held_lines(self) -> Iterator[str]:
        """A line for each subject that was asked for and needs no step, with the goals that it has and the bindings."""
        for subject in dict.fromkeys(path.subject for path in self.held):
            own = [path for path in self.held if path.subject == subject]
            by = dict.fromkeys(
                display_name(some[0].binding) for path in own for edge in path.edges for some in edge.granted_by if some
            )
            goals = ", ".join(path.goal.name for path in own)
            yield f"{subject} already has {goals}{f', by {first_of(list(by), 3)}' if by else ''}"

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        subjects = len({path.subject for path in self.paths})
        if self.paths:
            yield f"{counted(len(self.paths), 'path')} of {counted(subjects, 'subject')}"
        elif not self.held:
            yield "no path was found"
        yield from self.held_lines()
        ways = list(by_way(self.paths).values())
        for some in ways[:SHOWN]:
            who = first_of(list(dict.fromkeys(path.subject for path in some)), 4)
            goals = ", ".join(dict.fromkeys(path.goal.name for path in some))
            yield f"{who} -> {goals}: {some[0].words} ({counted(some[0].hops, 'hop')})"
        if len(ways) > SHOWN:
            yield f"... and {counted(sum(map(len, ways[SHOWN:])), 'path')} more"
        if self.unknown:
            yield f"not in the snapshot, so not searched: {', '.join(self.unknown)}"
        if self.skipped:
            yield skipped_line(self.skipped, "path")


def path_row(path: Path) -> tuple[Any, ...]:
    """The row of a path in tables: ``COLUMNS``."""
    passed = " -> ".join(str(step.target) for step in path.steps)
    return path.subject, path.goal.name, path.hops, path.cost, path.severity, path.primitives, passed


@about_access()
def escalations(
    snapshot: Snapshot,
    subject: Subject | str | Iterable[Subject | str] | None = None,
    goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
    *,
    ways: Ways = "best",
    max_hops: int | None = None,
    direct: bool = False,
    include_defaults: bool = False,
    members: Members | None = None,
    sandbox: Sandbox | None = None,
) -> Escalations:
    """The best path of each subject to each goal, or the best one for each first step of the subject.

    Parameters
    ----------
    subject
        The attacker: ``alice``, ``group:devs``, ``sa:ns/name``, ``pod:ns/name`` for code in a pod, or several of them.
        None: every known subject, a user with any login and a user without one included.
    goal
        What the attacker wants: ``cluster-admin``, ``all secrets`` and others, see ``parse_goal``.
    ways
        ``best``: one path per subject and goal. ``each``: for every first step that leads to the goal, the best path
        that begins with it; closing one of them leaves the others.
    direct
        Whether to list also subjects that have the goal without any step.
    include_defaults
        Whether to list also paths that unmodified default roles and bindings grant, such as those of the controllers of
        kube-controller-manager. Paths of a ``subject`` that is given are listed in any case.
    members
        Groups that the cluster does not keep, as for ``who_can``.
    sandbox
        Where the paths shall be proven: ``cluster.escalations`` gives the cluster itself.
    max_hops
        Longer paths do not count.

    Returns
    -------
    Escalations
        The paths, the shortest first. ``.to_frame()`` has one row per path: subject, goal, hops, cost, severity,
        primitives (ids), path (what is passed); ``.prove()`` executes them.

    Raises
    ------
    SimkitError
        For a text that is no subject or no goal, for a pod that is not there, and for a negative ``max_hops``.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Notes
    -----
    Near-linear in grants and objects, for all subjects together.

    Examples
    --------
    >>> from simkit.analysis import escalations
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> len(escalations(MemorySnapshot([], captured=["*"])))
    0
    """
    members = members_in(snapshot, members)
    check_limit(max_hops)
    graph = graph_of(snapshot, members)
    goals = [parse_goal(one) for one in ([goal] if isinstance(goal, Goal | str) else goal)]
    sources = graph.sources() if subject is None else places_of(graph, subject)
    every = subject is None
    paths: list[Path] = []
    held: list[Path] = []
    found: Mapping[AttackState, Reached]
    for one in tracked(goals, "looking for paths to goals"):
        if every and max_hops is None:
            found = ways_to(graph, one)
        else:
            found = towards(graph, one, sources=None if every else sources, within=max_hops)
        for state in listed_sources(sources, found, every=every):
            best = path_towards(found, state, one)
            some = [best] if ways == "best" else each_way(graph, found, state, one)
            paths += [path for path in dict.fromkeys((*some, best)) if _listed(path, direct, max_hops)]
            held += [best] if not (best.hops or direct or every) else []
    hidden = granted_by_defaults(graph) if every and not include_defaults else None
    shown = paths if hidden is None else [path for path in paths if not hidden(path.start, path.edges)]
    answer = _found(graph, shortest_first(shown), members, sandbox)
    return replace(answer, skipped=len(paths) - len(shown), held=tuple(held))


def count_paths(snapshot: Snapshot, goals: Iterable[Goal], members: Members = NO_MEMBERS) -> int:
    """The number of paths that ``escalations`` finds for all subjects, counted without making them."""
    graph = graph_of(snapshot, members)
    sources, hidden = graph.sources(), granted_by_defaults(graph)
    counted = 0
    for goal in goals:
        found = ways_to(graph, goal)
        for state in listed_sources(sources, found, every=True):
            counted += bool(found[state].distance[0]) and not hidden(state, onwards(found, state))
    return counted


def granted_by_defaults(graph: EscalationGraph) -> Callable[[AttackState, Iterable[Edge]], bool]:
    """The predicate of paths (their start and edges) that begin with grants of unmodified default roles and bindings
    alone.
    """
    defaults = unchanged_defaults(graph.snapshot)

    def test(start: AttackState, edges: Iterable[Edge]) -> bool:
        first = next((some for edge in edges for some in edge.granted_by if some), None)
        if first is not None:
            return all(one.binding in defaults and one.role in defaults for one in first)
        grants = graph.facts.grants(start.subject) if start.subject is not None else ()
        return bool(grants) and all(one.binding in defaults and one.role in defaults for one in grants)

    return test


def listed_sources(
    sources: Iterable[AttackState], found: Container[AttackState], *, every: bool
) -> Iterator[AttackState]:
    """The sources that get to a goal and are listed; ``every`` says that nobody chose them."""
    return (state for state in sources if state in found and not (every and state == _MASTERS))


def check_limit(max_hops: int | None) -> None:
    """Raise SimkitError for a negative limit."""
    if max_hops is not None and max_hops < 0:
        raise SimkitError(f"max_hops is {max_hops}; write 0 to allow no step, or leave it out for no limit")


def _found(graph: EscalationGraph, paths: Iterable[Path], members: Members, sandbox: Sandbox | None) -> Escalations:
    placed = tuple(paths) if sandbox is None else tuple(replace(path, sandbox=sandbox) for path in paths)
    return Escalations(placed, tuple(map(str, graph.facts.unknown)), members)


def _listed(path: Path, direct: bool, within: int | None) -> bool:
    return bool(path.hops or direct) and (within is None or path.hops <= within)


@about_access()
def next_steps(
    snapshot: Snapshot, subject: Subject | str, *, members: Members | None = None, sandbox: Sandbox | None = None
) -> Escalations:
    """Every single step that a subject can take, with the identity, access or harm after it.

    Parameters
    ----------
    subject
        As for ``escalations``: one.
    members
        Groups that the cluster does not keep, as for ``who_can``.
    sandbox
        Where the steps shall be proven.

    Returns
    -------
    Escalations
        One path of a single step each.

    Raises
    ------
    SimkitError
        For a text that is no subject.
    IncompleteSnapshot
        Where roles or bindings were not captured.

    Examples
    --------
    >>> from simkit.analysis import next_steps
    >>> from simkit.snapshot.memory import MemorySnapshot
    >>> list(next_steps(MemorySnapshot([], captured=["*"]), "alice"))
    []
    """
    members = members_in(snapshot, members)
    graph = graph_of(snapshot, members)
    start = place_of(graph, subject)
    paths = []
    for edges in first_steps(graph, start):
        end = edges[-1].target
        paths.append(Path(Goal(str(end), nowhere), (*edges, *one_of(graph, end, start)), start))
    return _found(graph, paths, members, sandbox)


def nowhere(graph: EscalationGraph) -> Callable[[AttackState], bool]:
    """The test of a goal that no state has, for paths that only end somewhere."""
    return frozenset[AttackState]().__contains__


def places_of(graph: EscalationGraph, subject: Subject | str | Iterable[Subject | str]) -> tuple[AttackState, ...]:
    """The states in which some subjects start."""
    if isinstance(subject, Subject | str):
        return (place_of(graph, subject),)
    return tuple(place_of(graph, one) for one in subject)


def place_of(graph: EscalationGraph, subject: Subject | str) -> AttackState:
    """The state in which a subject starts. Raises SimkitError for a pod that does not exist."""
    if isinstance(subject, str) and subject.startswith("pod:"):
        namespace, _, name = subject[4:].partition("/")
        if graph.facts.pod(namespace, name) is None:
            raise SimkitError(f"there is no running pod {name!r} in namespace {namespace!r}; write pod:namespace/name")
        return AttackState(states.POD, name, namespace)
    if isinstance(subject, str) and subject in GOALS and Subject(USER, subject) not in graph.facts.subjects:
        raise SimkitError(
            f"{subject!r} is a goal, not a subject; write --goal {subject!r} (in Python, goal={subject!r})"
        )
    return subject_state(known_subject(graph.snapshot, subject))


def anyone() -> tuple[str, str, str]:
    """The groups and users of people without an account: authenticated, unauthenticated, and anonymous."""
    return f"group:{AUTHENTICATED}", f"group:{UNAUTHENTICATED}", f"user:{ANONYMOUS}"
