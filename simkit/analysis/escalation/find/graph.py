"""The escalation graph of a cluster: who gets where, by which primitive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.conditions import CONDITIONS
from simkit.analysis.escalation.find.edge import Edge
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.held_permissions import GrantSource, WatchedRoles, add_grants, add_rules
from simkit.analysis.escalation.find.inherent import inherent_edges
from simkit.analysis.escalation.find.matching import Holder, VariantMatch, match_variant
from simkit.analysis.escalation.find.outcomes import OUTCOMES
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
from simkit.meta.garbage_collection import collection_paused
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED
from simkit.meta.names import GroupResource, Key
from simkit.snapshot.protocol import Snapshot

ALL_IN_NAMESPACE: Final = (Rule(("*",), ("*",), ("*",)),)
EDGE_KINDS: Final = ("escalation", "sharing", "impact", "deputy", "composite")
"""Classes of primitives that lead somewhere. The others are only told of."""
IMPERSONATION: Final = ("A14", "B1", "B2", "B3", "B4", "B5", "B6", "B7")
"""What an identity that is only impersonated cannot do: requests carry one impersonation."""
REPEATED: Final = ("A2", "A14", "J9", "J10")
"""Primitives that name a special case of others; they are told of, but are no edges of their own."""


class EscalationGraph:
    """Places and the steps between them, worked out as they are asked for.

    Notes
    -----
    Edges lead to sets ("any service account of ci") whose members are spread once for all who reach the set, so that
    the whole graph is O(grants + objects), and not O(subjects x service accounts).
    """

    def __init__(self, snapshot: Snapshot, members: Members = NO_MEMBERS) -> None:
        self.snapshot, self.members = snapshot, members
        self.world = ClusterFacts(snapshot)
        self.release = snapshot.release
        self._matches = WatchedRoles(self.release)
        self._known_served: dict[tuple[str, int], bool] = {}
        self._edges: dict[AttackState, tuple[Edge, ...]] = {}
        self._by_permission = _watching(self.release)

    def edges(self, place: AttackState) -> tuple[Edge, ...]:
        """The steps from a place."""
        known = self._edges.get(place)
        if known is None:
            known = self._edges[place] = tuple(self._found(place))
        return known

    def _found(self, place: AttackState) -> Iterator[Edge]:
        yield from inherent_edges(self.world, place)
        groups = self._groups(place)
        for group in groups:
            yield Edge(place, subject_state(Subject(GROUP, group), worn=place.worn))
        holder = self.holder(place) if self._adds_something(place, groups) else None
        if holder is not None:
            yield from self._own(holder, groups)

    def _groups(self, place: AttackState) -> tuple[str, ...]:
        """The groups of a user or service account, without those that another of them implies."""
        if place.kind not in (USER, SERVICE_ACCOUNT) or place.subject is None:
            return ()
        found = [one.name for one in self.principals(place, place.subject)[1:]]
        implied = {name for group in found for name in implied_groups(group)}
        return tuple(name for name in found if name not in implied)

    def principals(self, place: AttackState, subject: Subject) -> tuple[Subject, ...]:
        """The subject and its groups; an identity that is only impersonated has those alone that the server adds."""
        return principals_of(subject, NO_MEMBERS if place.worn else self.members)

    def _adds_something(self, place: AttackState, groups: tuple[str, ...]) -> bool:
        """Whether somebody has more than the one group that it is in."""
        if place.subject is None or place.kind == GROUP or len(groups) != 1:
            return True
        return next(self.world.index.grants_of_subject(place.subject), None) is not None

    def _own(self, holder: Holder, groups: tuple[str, ...]) -> Iterator[Edge]:
        """The steps of a holder, without those that one of its groups, or all it has in a namespace, is enough for."""
        closures = [frozenset(Subject(GROUP, name) for name in (group, *implied_groups(group))) for group in groups]
        wide = self._wide(holder) if holder.place.kind != states.NAMESPACE else {}
        for edge in self.steps(holder):
            if edge.primitive not in OF_HOLDER and edge.needs:
                if any(_enough(edge, closure) for closure in closures):
                    continue
                sources = wide.get(edge.value("namespace"))
                if sources and edge.primitive != WIDE and all(sources & set(need) for need in edge.needs):
                    continue
            yield edge

    @staticmethod
    def _wide(holder: Holder) -> dict[str, set[GrantSource]]:
        """The sources that give everything in a namespace."""
        found: dict[str, set[GrantSource]] = {}
        for one in holder.held.get(ANYTHING, ()):
            if one.namespace and one.source is not None:
                found.setdefault(one.namespace, set()).add(one.source)
        return found

    def holder(self, place: AttackState) -> Holder | None:
        """What somebody at a place holds; None where a place is not somebody."""
        subject = place.subject
        if subject is not None:
            return self._subject(place, subject)
        if place.namespace == ALL:
            return None
        if place.kind == states.RULES:
            role = role_of(place)
            rules = self.world.index.rules(role) or ()
            held = add_rules({}, rules, place.namespace, self._matches)
            wide = () if place.namespace else rules
            return Holder(place, held, bound=((role, place.namespace),), wide_rules=wide)
        if place.kind == states.NAMESPACE:
            return Holder(place, add_rules({}, ALL_IN_NAMESPACE, place.namespace, self._matches))
        return None

    def _subject(self, place: AttackState, subject: Subject) -> Holder:
        principals = self.principals(place, subject)
        grants = [grant for one in principals for grant in self.world.index.grants_of_subject(one)]
        bound: list[tuple[Key, str]] = [(grant.role, grant.namespace) for grant in grants if not grant.missing]
        wide = tuple(rule for grant in grants if not grant.namespace for rule in grant.rules)
        held = add_grants({}, grants, self._matches)
        own = None
        if subject.kind != GROUP and len(self._groups(place)) == 1:
            own = frozenset(add_grants({}, self.world.index.grants_of_subject(subject), self._matches))
        return Holder(place, held, frozenset(principals), tuple(dict.fromkeys(bound)), own, wide)

    def steps(self, holder: Holder, *, kinds: Iterable[str] = EDGE_KINDS) -> Iterator[Edge]:
        """What a holder can do with what it holds."""
        for primitive in self.candidates(holder):
            if primitive.kind not in kinds or primitive.id in REPEATED:
                continue
            if holder.place.worn and primitive.id in IMPERSONATION:
                continue
            for edge in self.uses(holder, primitive):
                yield edge
                if edge.target == CLUSTER_ADMIN and not edge.cost:
                    return  # there is nothing beyond

    def candidates(self, holder: Holder) -> Iterator[Primitive]:
        """The primitives of this release of which the holder may meet some need, in the order of the table."""
        held = holder.held if holder.own is None else holder.own
        wanted = {AT_ONCE, *(one for permission in held for one in self._by_permission.get(permission, ()))}
        if any(permission in holder.held for permission in ESCALATE):
            wanted.update(OF_HOLDER)
        for primitive in primitives().primitives:
            if primitive.id in wanted and primitive.holds_in(self.release):
                yield primitive

    def uses(self, holder: Holder, primitive: Primitive) -> Iterator[Edge]:
        """How a holder can use one primitive."""
        for number in range(len(primitive.ways)):
            if primitive.kind in ("impact", "deputy") and not self._served(primitive.id, number):
                continue
            if not self._is_there(primitive.id, number):
                continue
            for solution, variables in self.found(holder, primitive, number):
                reached = OUTCOMES[solution.way.yields](self.world, holder, solution, variables)
                for target, more in reached:
                    if target != holder.place:
                        yield _edge(holder.place, target, solution, {**variables, **more})

    def _served(self, identifier: str, number: int) -> bool:
        """Whether the cluster has something of what each need is about."""
        known = self._known_served.get((identifier, number))
        if known is None:
            known = self._known_served[identifier, number] = self._all_served(identifier, number)
        return known

    def _is_there(self, identifier: str, number: int) -> bool:
        """Whether of the objects that the table itself names by name some is there, where none can be made."""
        return all(
            any(self._named_object(option.permission, need) for option in need.any_of)
            for need in requirements_of(identifier, number, self.release)
            if need.names and need.any_of[0].permission.resource not in AUTHORIZATION_RESOURCES
        )

    def _named_object(self, permission: Permission, need: Requirement) -> bool:
        resource = GroupResource(permission.group, permission.resource)
        if permission.verb == "create" or resource not in self.snapshot.captured():
            return True
        return any(self.snapshot.get(resource, name, need.namespace) is not None for name in need.names)

    def _all_served(self, identifier: str, number: int) -> bool:
        return all(
            any(self.world.knows(option.permission.group, option.permission.resource) for option in need.any_of)
            for need in requirements_of(identifier, number, self.release)
        )

    def found(self, holder: Holder, primitive: Primitive, number: int) -> Iterator[tuple[VariantMatch, dict[str, str]]]:
        """How a holder meets one way of a primitive, with what its condition found."""
        condition = CONDITIONS.get(primitive.ways[number].when)
        if condition is None:
            return
        for solution in match_variant(primitive, number, holder.held, self.release):
            for variables in condition(self.world, holder, solution):
                yield solution, variables

    def sources(self) -> tuple[AttackState, ...]:
        """Everybody known: users and service accounts, groups that bindings name, and anybody at all."""
        groups = [Subject(GROUP, AUTHENTICATED), Subject(GROUP, UNAUTHENTICATED), Subject(GROUP, MASTERS)]
        groups += self.world.groups
        every = (Subject(USER, ANONYMOUS), *known_subjects(self.snapshot), *groups)
        return tuple(dict.fromkeys(map(subject_state, every)))

    def reachable(self, sources: Iterable[AttackState]) -> dict[AttackState, tuple[Edge, ...]]:
        """All places that can be reached, with their steps."""
        found: dict[AttackState, tuple[Edge, ...]] = {}
        waiting = list(dict.fromkeys(sources))
        with collection_paused():
            while waiting:
                place = waiting.pop()
                if place in found:
                    continue
                found[place] = self.edges(place)
                waiting += [edge.target for edge in found[place] if edge.target not in found]
        return found


AT_ONCE: Final = "A3"
"""The primitive that needs no grant."""
WIDE: Final = "A1"
ANYTHING: Final = Permission("*", "*", "*")
ESCALATE: Final = tuple(Permission(verb, RBAC_GROUP, "clusterroles") for verb in ("update", "patch", "create"))
OF_HOLDER: Final = ("A5", "A8", "A9", "A10")
"""Primitives that look at all that a holder has, and not only at what they need."""


def _enough(edge: Edge, closure: frozenset[Subject]) -> bool:
    """Whether grants to these groups meet all needs."""
    return all(any(source.subject in closure for source in need) for need in edge.needs if need)


def _edge(source: AttackState, target: AttackState, solution: VariantMatch, variables: dict[str, str]) -> Edge:
    variables.setdefault("namespace", solution.namespace)
    variables.update(solution.unlabelled(variables["namespace"]))
    return Edge(
        source,
        target,
        solution.primitive.id,
        solution.number,
        tuple(sorted(variables.items())),
        solution.sources(variables),
        solution.permissions(variables),
        solution.way.cost,
    )


def _watching(release: str) -> dict[object, tuple[str, ...]]:
    """The primitives that need each permission."""
    found: dict[object, dict[str, None]] = {}
    for primitive in primitives().primitives:
        for number in range(len(primitive.ways)):
            for need in requirements_of(primitive.id, number, release):
                for option in need.any_of:
                    found.setdefault(option.permission, {})[primitive.id] = None
    return {permission: tuple(names) for permission, names in found.items()}


_graphs: SnapshotMemo[EscalationGraph] = SnapshotMemo()


def graph_of(snapshot: Snapshot, members: Members = NO_MEMBERS) -> EscalationGraph:
    """The escalation graph of a snapshot, made once. IncompleteSnapshot without roles or bindings."""
    if members:
        return EscalationGraph(snapshot, members)
    return _graphs.of(snapshot, EscalationGraph)
