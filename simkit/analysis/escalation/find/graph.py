"""The escalation graph of a cluster: states, and the primitives that lead from one to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.held_permissions import (
    GrantSource,
    WatchedRoles,
    add_grants,
    add_rules,
)
from simkit.analysis.escalation.find.inherent import inherent_edges
from simkit.analysis.escalation.find.joint_steps import add_joint_steps, parts_of
from simkit.analysis.escalation.find.matching import Edge, Holder, Reached
from simkit.analysis.escalation.find.remembered_facts import Read
from simkit.analysis.escalation.find.states import (
    ALL,
    AttackState,
    role_of,
    subject_state,
)
from simkit.analysis.escalation.find.uses import PrimitiveUses, impersonating, judging_holders
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.index import NO_MEMBERS, known_subjects, members_in, principals_of
from simkit.analysis.rbac.subject import Members, implied_groups
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Subject
from simkit.logic.rbac.rule import Rule
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.meta.names import Key
from simkit.meta.python_gc import collection_paused
from simkit.present.progress import task
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import networkx

ALL_IN_NAMESPACE: Final = (Rule(("*",), ("*",), ("*",)),)
ANYTHING: Final = Permission("*", "*", "*")


class EscalationGraph:
    """The states and the edges between them, computed on demand.

    Notes
    -----
    Edges lead to sets ("any service account in ci") whose members are spread once for all who reach the set, so that
    the whole graph is O(grants + objects), and not O(subjects x service accounts).
    """

    def __init__(self, snapshot: Snapshot, members: Members = NO_MEMBERS) -> None:
        self.snapshot, self.members = snapshot, members
        self.facts = ClusterFacts(snapshot)
        self.release = snapshot.release
        self._matches = WatchedRoles(self.release)
        self.uses = PrimitiveUses(self.facts)
        self._edges: dict[AttackState, tuple[Edge, ...]] = {}
        self._reads: dict[AttackState, tuple[Read, ...]] = {}
        self._earlier: tuple[EscalationGraph, Collection[Key]] | None = None
        """The graph to keep edges of, and the objects that have changed since; None once they are kept."""
        self._steps_of: dict[AttackState, tuple[tuple[Edge, ...], tuple[Read, ...]]] = {}
        """What identities can do, with what that was worked out from: also for those who impersonate them."""
        self._parts: dict[AttackState, int] = {}
        """The requests of joint steps that states may make."""
        self.ways: dict[str, Mapping[AttackState, Reached]] = {}
        """The states from which common goals can be reached: see ``ways_to``."""

    def after(self, snapshot: Snapshot, changed: Collection[Key]) -> EscalationGraph:
        """The graph of a snapshot that differs from this one by some objects.

        Notes
        -----
        The edges of a state are kept where nothing has changed that they were worked out from. All is worked out anew
        after a change of what decides what is served and admitted, such as a definition of custom resources.
        """
        own = self.members == members_in(self.snapshot, None)
        graph = EscalationGraph(snapshot, members_in(snapshot, None) if own else self.members)
        if self.facts.may_follow(changed):
            graph._earlier = self, changed
        return graph

    def _follow(self, earlier: EscalationGraph, changed: Collection[Key]) -> None:
        """Keep the edges of an earlier graph that a change of some objects leaves as they are."""
        self._matches = earlier._matches.without_grants()
        if not self.uses.follow(earlier.uses):
            return
        unchanged = self.facts.follow_all(earlier.facts, changed)
        stale = {state for read, states in earlier._readers.items() if not unchanged.same(read) for state in states}
        self._edges = {state: edges for state, edges in earlier._edges.items() if state not in stale}
        self._parts = earlier._parts.copy()
        self._reads = {state: reads for state, reads in earlier._reads.items() if state not in stale}

    @cached_property
    def _readers(self) -> Mapping[Read, Sequence[AttackState]]:
        """The states whose edges were worked out from each fact."""
        found: dict[Read, list[AttackState]] = defaultdict(list)
        for state, reads in self._reads.items():
            for read in reads:
                found[read].append(state)
        return found

    def edges(self, state: AttackState) -> tuple[Edge, ...]:
        """The edges from a state."""
        if self._earlier is not None:
            earlier, self._earlier = self._earlier, None
            self._follow(*earlier)
        known = self._edges.get(state)
        if known is None:
            known = self._edges[state] = self._new(state)
        return known

    def _new(self, state: AttackState) -> tuple[Edge, ...]:
        with self.facts.reads.noted() as reads:
            found = tuple(self._found(state))
        self._reads[state] = tuple(reads)
        vars(self).pop("_readers", None)
        return found

    def _found(self, state: AttackState) -> Iterator[Edge]:
        yield from inherent_edges(self.facts, state)
        groups = self._groups(state)
        for group in groups:
            yield Edge(state, subject_state(Subject(GROUP, group), impersonated=state.impersonated))
        if self._adds_something(state, groups):
            yield from self._own(state, groups)

    def _own(self, state: AttackState, groups: tuple[str, ...]) -> Iterator[Edge]:
        """The edges that the permissions of a state give.

        Who impersonates an identity can do what it can, but impersonate again; that is looked at once for both.
        """
        if state.impersonated and not self.members:
            others = impersonating()
            for edge in self._known_steps(state._replace(impersonated=False), groups):
                if edge.target != state and edge.primitive not in others:
                    yield edge._replace(source=state)
        else:
            yield from (edge for edge in self._known_steps(state, groups) if edge.target != state)

    def _known_steps(self, state: AttackState, groups: tuple[str, ...]) -> tuple[Edge, ...]:
        """The steps that the permissions of a state give, some of which may lead to the state itself."""
        known = self._steps_of.get(state)
        if known is None:
            with self.facts.reads.noted() as reads:
                holder = self.holder(state)
                self._parts[state._replace(impersonated=False)] = (
                    0 if holder is None else parts_of(frozenset(holder.held), self.release)
                )
                found = () if holder is None else tuple(self._further(holder, groups))
            known = self._steps_of[state] = found, tuple(reads)
        for read in known[1]:
            self.facts.reads.note(*read)
        return known[0]

    def _groups(self, state: AttackState) -> tuple[str, ...]:
        """The groups of a user or service account, without those that another of them implies."""
        if state.kind not in (USER, SERVICE_ACCOUNT) or state.subject is None:
            return ()
        found = [one.name for one in self.principals(state, state.subject)[1:]]
        implied = {name for group in found for name in implied_groups(group)}
        return tuple(name for name in found if name not in implied)

    def principals(self, state: AttackState, subject: Subject) -> tuple[Subject, ...]:
        """The subject and its groups; an impersonated identity has only the groups that the server adds."""
        return principals_of(subject, NO_MEMBERS if state.impersonated else self.members)

    def _adds_something(self, state: AttackState, groups: tuple[str, ...]) -> bool:
        """True if an identity has more than the grants of one group."""
        if state.subject is None or state.kind == GROUP or len(groups) != 1:
            return True
        constraints = self.facts.constraints
        listed = constraints is not None and state.subject.principal in constraints.listed
        return listed or bool(self.facts.grants(state.subject))

    def _further(self, holder: Holder, groups: tuple[str, ...]) -> Iterator[Edge]:
        """The steps of a holder, without those that one of its groups, or full control of a namespace, gives
        already."""
        closures = [frozenset(Subject(GROUP, name) for name in (group, *implied_groups(group))) for group in groups]
        if self.facts.constraints is not None:
            closures = []  # a pod may need one group to create it and another to admit it
        wide = self._wide(holder) if holder.state.kind != states.NAMESPACE else {}
        judging = judging_holders()
        for edge in self.uses.of(holder):
            if edge.granted_by and edge.primitive not in judging:
                every = [some for some in edge.granted_by if some]
                if any(all(any(one.subject in closure for one in some) for some in every) for closure in closures):
                    continue
                sources = wide.get(edge.value("namespace"))
                if (
                    sources
                    and not edge.definition.everything
                    and all(sources & set(requirement) for requirement in edge.granted_by)
                ):
                    continue
            yield edge

    @staticmethod
    def _wide(holder: Holder) -> dict[str, set[GrantSource]]:
        """The sources that grant everything in a namespace."""
        found: dict[str, set[GrantSource]] = {}
        for one in holder.held.get(ANYTHING, ()):
            if one.namespace and one.source is not None:
                found.setdefault(one.namespace, set()).add(one.source)
        return found

    def holder(self, state: AttackState) -> Holder | None:
        """The holder of permissions in a state; None if the state is no identity and no set of rules."""
        subject = state.subject
        if subject is not None:
            return self._subject(state, subject)
        if state.namespace == ALL:
            return None
        if state.kind == states.RULES:
            role = role_of(state)
            rules = self.facts.rules(role) or ()
            held = add_rules({}, rules, state.namespace, self._matches)
            wide = () if state.namespace else rules
            return Holder(state, held, bound=((role, state.namespace),), wide_rules=wide)
        if state.kind == states.NAMESPACE:
            return Holder(state, add_rules({}, ALL_IN_NAMESPACE, state.namespace, self._matches))
        return None

    def _subject(self, state: AttackState, subject: Subject) -> Holder:
        principals = self.principals(state, subject)
        grants = [grant for one in principals for grant in self.facts.grants(one)]
        bound: list[tuple[Key, str]] = [(grant.role, grant.namespace) for grant in grants if not grant.missing]
        wide = tuple(rule for grant in grants if not grant.namespace for rule in grant.rules)
        held = add_grants({}, grants, self._matches)
        own = None
        if subject.kind != GROUP and len(self._groups(state)) == 1 and self.facts.constraints is None:
            own = frozenset(add_grants({}, self.facts.grants(subject), self._matches))
        return Holder(state, held, frozenset(principals), tuple(dict.fromkeys(bound)), own, wide)

    def sources(self) -> tuple[AttackState, ...]:
        """All known identities: users and service accounts, groups that bindings name, and authenticated and
        anonymous users."""
        groups = [Subject(GROUP, AUTHENTICATED), Subject(GROUP, UNAUTHENTICATED), Subject(GROUP, MASTERS)]
        groups += self.facts.groups
        every = (Subject(USER, ANONYMOUS), *known_subjects(self.snapshot), *groups)
        return tuple(dict.fromkeys(map(subject_state, every)))

    @cached_property
    def everything(self) -> dict[AttackState, tuple[Edge, ...]]:
        """All states that any known identity can reach, with their edges."""
        found = self.reachable(self.sources())
        self.facts.follow(None)  # all that may be kept of the earlier graph is kept
        return found

    @cached_property
    def backward(self) -> Mapping[AttackState, Sequence[Edge]]:
        """The edges of ``everything`` by the state that they lead to."""
        return edges_by_target(self.everything)

    def reachable(self, sources: Iterable[AttackState]) -> dict[AttackState, tuple[Edge, ...]]:
        """All states that can be reached, with their edges."""
        found: dict[AttackState, tuple[Edge, ...]] = {}
        waiting = list(dict.fromkeys(sources))
        with collection_paused(), task("looking at what identities can reach") as looking:
            while waiting:
                state = waiting.pop()
                if state not in found:
                    found[state] = self.edges(state)
                    looking.advance()
                    waiting += [edge.target for edge in found[state] if edge.target not in found]
                if not waiting and add_joint_steps(self, found, self._parts):
                    waiting += {
                        edge.target: None for edges in found.values() for edge in edges if edge.target not in found
                    }
        return found


def edges_by_target(forward: Mapping[AttackState, Iterable[Edge]]) -> dict[AttackState, list[Edge]]:
    """The edges from some states by the state that they lead to."""
    backward: dict[AttackState, list[Edge]] = defaultdict(list)
    for edges in forward.values():
        for edge in edges:
            backward[edge.target].append(edge)
    return backward


_graphs: SnapshotMemo[EscalationGraph] = SnapshotMemo()


def graph_of(snapshot: Snapshot, members: Members = NO_MEMBERS) -> EscalationGraph:
    """The escalation graph of a snapshot, computed once. Raises IncompleteSnapshot without roles or bindings."""
    own = members_in(snapshot, None)
    if members and members != own:
        return EscalationGraph(snapshot, members_in(snapshot, members))
    return _graphs.of(snapshot, lambda one: EscalationGraph(one, own))


def derive_graph(before: Snapshot, after: Snapshot, changed: Collection[Key]) -> None:
    """Make the graph of a snapshot out of that of another one, from which it differs by some objects.

    Nothing is made where the graph of the other one is not known as a whole.
    """
    known = _graphs.known(before)
    if known is not None and "everything" in vars(known):
        _graphs.of(after, lambda snapshot: known.after(snapshot, changed))


def forget_graph(snapshot: Snapshot) -> None:
    """Let the graph of a snapshot go, on which later ones stand that have kept what they need of it."""
    _graphs.forget(snapshot)


def networkx_graph(edges: Iterable[Edge]) -> networkx.MultiDiGraph[str]:
    """Edges of the escalation graph as a networkx multigraph.

    Returns
    -------
    networkx.MultiDiGraph
        Nodes are texts: ``sa:ci/runner``, ``cluster-admin``, ``full access to shop``, so that
        ``networkx.shortest_path(graph, "sa:ci/runner", "cluster-admin")`` works. They have the attributes state (the
        ``AttackState``), kind, name, namespace and impersonated. Edges have
        primitive (its id; empty for a choice among the members of a set), title, severity, cost, hops (1 where the
        step takes something) and granted_by (for each requirement the sources that are each enough).

    Examples
    --------
    >>> networkx_graph([]).number_of_nodes()
    0
    """
    import networkx

    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
    for edge in edges:
        for state in (edge.source, edge.target):
            graph.add_node(
                str(state),
                state=state,
                kind=state.kind,
                name=state.name,
                namespace=state.namespace,
                impersonated=state.impersonated,
            )
        graph.add_edge(
            str(edge.source),
            str(edge.target),
            primitive=edge.primitive,
            title=edge.definition.title if edge.primitive else "",
            severity=edge.definition.severity.word if edge.primitive else "",
            cost=edge.cost,
            hops=edge.hops,
            granted_by=edge.granted_by,
        )
    return graph
