"""The escalation graph of a cluster: states, and the primitives that lead from one to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.edge import Edge, Reached
from simkit.analysis.escalation.find.facts import CHANGEABLE, ClusterFacts
from simkit.analysis.escalation.find.held_permissions import (
    GrantSource,
    WatchedRoles,
    add_grants,
    add_rules,
    primitives_by_permission,
)
from simkit.analysis.escalation.find.inherent import inherent_edges
from simkit.analysis.escalation.find.matching import Holder, VariantMatch, match_variant
from simkit.analysis.escalation.find.networkx_graph import networkx_graph
from simkit.analysis.escalation.find.outcomes import OUTCOMES
from simkit.analysis.escalation.find.primitive_conditions import CONDITIONS
from simkit.analysis.escalation.find.reads import Read, UnchangedReads
from simkit.analysis.escalation.find.states import (
    ALL,
    CLUSTER_ADMIN,
    AttackState,
    role_of,
    subject_state,
)
from simkit.analysis.escalation.table.primitive import Primitive, primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission, Requirement
from simkit.analysis.memo import SnapshotMemo
from simkit.analysis.rbac.index import NO_MEMBERS, known_subjects, principals_of
from simkit.analysis.rbac.subject import Members, implied_groups
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Subject
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.meta.names import GroupResource, Key
from simkit.meta.python_gc import collection_paused
from simkit.present.progress import task
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import networkx

ALL_IN_NAMESPACE: Final = (Rule(("*",), ("*",), ("*",)),)
EDGE_KINDS: Final = ("escalation", "sharing", "impact", "deputy", "composite")
"""Classes of primitives that make edges. The others are only listed."""


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
        self._known_served: dict[tuple[str, int], bool] = {}
        self._known_resources: dict[tuple[str, str], bool] = {}
        self._known_there: dict[tuple[str, int], bool] = {}
        self._edges: dict[AttackState, tuple[Edge, ...]] = {}
        self._reads: dict[AttackState, tuple[Read, ...]] = {}
        self._earlier: tuple[EscalationGraph, UnchangedReads] | None = None
        self.ways: dict[str, Mapping[AttackState, Reached]] = {}
        """The states from which common goals can be reached: see ``ways_to``."""

    def after(self, snapshot: Snapshot, changed: Collection[Key]) -> EscalationGraph:
        """The graph of a snapshot that differs from this one by some objects.

        Notes
        -----
        The edges of a state are kept where nothing has changed that they were worked out from, if the objects are
        roles, bindings and namespaces; else all is worked out anew.
        """
        graph = EscalationGraph(snapshot, self.members)
        if all(key.resource in CHANGEABLE for key in changed):
            graph._follow(self, changed)
        return graph

    def _follow(self, earlier: EscalationGraph, changed: Collection[Key]) -> None:
        self._known_served = earlier._known_served
        self._matches = earlier._matches.without_grants()
        if any(self._all_there(*one) != known for one, known in earlier._known_there.items()):
            return
        self._earlier = earlier, UnchangedReads(earlier.facts, self.facts, changed)
        self.facts.follow(self._earlier[1])

    def edges(self, state: AttackState) -> tuple[Edge, ...]:
        """The edges from a state."""
        known = self._edges.get(state)
        if known is None:
            kept = self._kept(state)
            known = self._edges[state] = self._new(state) if kept is None else kept
        return known

    def _kept(self, state: AttackState) -> tuple[Edge, ...] | None:
        """The edges of a state in the earlier graph, if all that they were worked out from is unchanged."""
        earlier, unchanged = self._earlier or (None, None)
        reads = earlier._reads.get(state) if earlier is not None else None
        if earlier is None or unchanged is None or reads is None or not unchanged.all(reads):
            return None
        self._reads[state] = reads
        return earlier._edges[state]

    def _new(self, state: AttackState) -> tuple[Edge, ...]:
        with self.facts.reads.noted() as reads:
            found = tuple(self._found(state))
        self._reads[state] = tuple(reads)
        return found

    def _found(self, state: AttackState) -> Iterator[Edge]:
        yield from inherent_edges(self.facts, state)
        groups = self._groups(state)
        for group in groups:
            yield Edge(state, subject_state(Subject(GROUP, group), impersonated=state.impersonated))
        holder = self.holder(state) if self._adds_something(state, groups) else None
        if holder is not None:
            yield from self._own(holder, groups)

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
        return bool(self.facts.grants(state.subject))

    def _own(self, holder: Holder, groups: tuple[str, ...]) -> Iterator[Edge]:
        """The edges of a holder, without those that one of its groups, or full control of a namespace, gives
        already."""
        closures = [frozenset(Subject(GROUP, name) for name in (group, *implied_groups(group))) for group in groups]
        wide = self._wide(holder) if holder.state.kind != states.NAMESPACE else {}
        judging = _judging_holders()
        for edge in self.steps(holder):
            if edge.granted_by and edge.primitive not in judging:
                if any(_enough(edge, closure) for closure in closures):
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
        if subject.kind != GROUP and len(self._groups(state)) == 1:
            own = frozenset(add_grants({}, self.facts.grants(subject), self._matches))
        return Holder(state, held, frozenset(principals), tuple(dict.fromkeys(bound)), own, wide)

    def steps(self, holder: Holder, *, kinds: Iterable[str] = EDGE_KINDS) -> Iterator[Edge]:
        """The edges that a holder's permissions give."""
        for primitive in self.candidates(holder):
            if primitive.kind not in kinds or primitive.special_case:
                continue
            if holder.state.impersonated and primitive.impersonates:
                continue
            for edge in self.uses(holder, primitive):
                yield edge
                if edge.target == CLUSTER_ADMIN and not edge.cost:
                    return  # there is nothing beyond

    def candidates(self, holder: Holder) -> Iterator[Primitive]:
        """The primitives of this release with a requirement that the holder may meet, in the order of the table."""
        held = holder.held if holder.own is None else holder.own
        by_permission = primitives_by_permission(self.release)
        wanted = {
            *_without_requirements(),
            *(one for permission in held for one in by_permission.get(permission, ())),
        }
        if any(permission in holder.held for permission in ESCALATE):
            wanted.update(_judging_holders())
        for primitive in primitives().primitives:
            if primitive.id in wanted and primitive.holds_in(self.release):
                yield primitive

    def uses(self, holder: Holder, primitive: Primitive) -> Iterator[Edge]:
        """The edges of one primitive for a holder."""
        for number in range(len(primitive.variants)):
            if not self._served(primitive.id, number) or not self._is_there(primitive.id, number):
                continue
            for match, variables in self.usable(holder, primitive, number):
                reached = OUTCOMES[match.variant.outcome](self.facts, holder, match, variables)
                for target, more in reached:
                    if target != holder.state:
                        yield _edge(holder.state, target, match, {**variables, **more}, self._knows)

    def usable(
        self, holder: Holder, primitive: Primitive, number: int
    ) -> Iterator[tuple[VariantMatch, dict[str, str]]]:
        """As ``found``, without matches by resources that nothing serves."""
        return ((match, more) for match, more in self.found(holder, primitive, number) if match.served(self._knows))

    def _knows(self, permission: Permission) -> bool:
        """True if the cluster serves the resource of a permission."""
        known = self._known_resources.get((permission.group, permission.resource))
        if known is None:
            known = self.facts.knows(permission.group, permission.resource)
            self._known_resources[permission.group, permission.resource] = known
        return known

    def _served(self, identifier: str, number: int) -> bool:
        """True if the cluster serves a resource of each requirement."""
        known = self._known_served.get((identifier, number))
        if known is None:
            known = self._known_served[identifier, number] = self._all_served(identifier, number)
        return known

    def _is_there(self, identifier: str, number: int) -> bool:
        """True if one of the objects that the table names exists, unless it can be created."""
        known = self._known_there.get((identifier, number))
        if known is None:
            known = self._known_there[identifier, number] = self._all_there(identifier, number)
        return known

    def _all_there(self, identifier: str, number: int) -> bool:
        return all(
            any(self._named_object(option.permission, requirement) for option in requirement.any_of)
            for requirement in requirements_of(identifier, number, self.release)
            if requirement.names and requirement.any_of[0].permission.resource not in AUTHORIZATION_RESOURCES
        )

    def _named_object(self, permission: Permission, requirement: Requirement) -> bool:
        resource = GroupResource(permission.group, permission.resource)
        if permission.verb == "create" or resource not in self.snapshot.captured():
            return True
        return any(self.snapshot.get(resource, name, requirement.namespace) is not None for name in requirement.names)

    def _all_served(self, identifier: str, number: int) -> bool:
        return all(
            any(self._knows(option.permission) for option in requirement.any_of)
            for requirement in requirements_of(identifier, number, self.release)
        )

    def found(self, holder: Holder, primitive: Primitive, number: int) -> Iterator[tuple[VariantMatch, dict[str, str]]]:
        """The matches of one variant for a holder, with the variables of its condition."""
        condition = CONDITIONS.get(primitive.variants[number].condition)
        if condition is None:
            return
        for match in match_variant(primitive, number, holder.held, self.release):
            for variables in condition(self.facts, holder, match):
                yield match, variables

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
        self._earlier = None  # all that may be kept of it is kept
        self.facts.follow(None)
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
                if state in found:
                    continue
                found[state] = self.edges(state)
                looking.advance()
                waiting += [edge.target for edge in found[state] if edge.target not in found]
        return found

    def to_networkx(self, sources: Iterable[AttackState] | None = None) -> networkx.MultiDiGraph[str]:
        """All states that can be reached from some states (by default all known identities), as ``networkx_graph``
        gives them.

        Notes
        -----
        O(grants + objects), as ``reachable``.
        """
        found = self.everything if sources is None else self.reachable(sources)
        return networkx_graph(edge for edges in found.values() for edge in edges)


ANYTHING: Final = Permission("*", "*", "*")
ESCALATE: Final = tuple(Permission(verb, RBAC_GROUP, "clusterroles") for verb in ("update", "patch", "create"))


@cache
def _judging_holders() -> frozenset[str]:
    """The primitives that look at all permissions of a holder."""
    return frozenset(one.id for one in primitives().primitives if one.judges_holder)


@cache
def _without_requirements() -> frozenset[str]:
    """The primitives that require no grant, only a certain identity."""
    return frozenset(
        one.id
        for one in primitives().primitives
        if one.kind in EDGE_KINDS and any(not variant.requires for variant in one.variants)
    )


def _enough(edge: Edge, closure: frozenset[Subject]) -> bool:
    """True if grants to these groups meet all requirements."""
    return all(
        any(source.subject in closure for source in requirement) for requirement in edge.granted_by if requirement
    )


def _edge(
    source: AttackState,
    target: AttackState,
    match: VariantMatch,
    variables: dict[str, str],
    knows: Callable[[Permission], bool],
) -> Edge:
    variables.setdefault("namespace", match.namespace)
    variables.update(match.unlabelled(variables["namespace"]))
    return Edge(
        source,
        target,
        match.primitive.id,
        match.number,
        tuple(sorted(variables.items())),
        match.sources(variables),
        match.permissions(variables, knows),
        match.variant.cost,
    )


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
    if members:
        return EscalationGraph(snapshot, members)
    return _graphs.of(snapshot, EscalationGraph)


def derive_graph(before: Snapshot, after: Snapshot, changed: Collection[Key]) -> None:
    """Make the graph of a snapshot out of that of another one, from which it differs by some objects.

    Nothing is made where the graph of the other one is not known as a whole.
    """
    known = _graphs.known(before)
    if known is not None and "everything" in vars(known):
        _graphs.of(after, lambda snapshot: known.after(snapshot, changed))
