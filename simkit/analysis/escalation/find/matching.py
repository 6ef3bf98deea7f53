"""Matches of a variant of a primitive with the permissions of a holder, and the edges of the graph that they make.

Rules enable an escalation if they meet the requirements of a primitive that gives more access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, NamedTuple

from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.held_permissions import (
    EVERYWHERE,
    GrantSource,
    HeldPermission,
    HeldPermissions,
    MetRequirement,
    common_namespaces,
    meet_requirement,
    watched_grants,
)
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.table.primitive import Primitive, Variant, primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission
from simkit.logic.rbac.binding import Subject
from simkit.logic.rbac.rule import Rule
from simkit.logic.rbac.ruleset import RuleSet
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.names import Key

Variables = dict[str, str]
"""The values that a condition or an outcome sets for one way to use a primitive."""
Outcomes = Iterator[tuple[AttackState, Variables]]
"""States that a use leads to, each with the variables that the choice sets."""
ONLY: Final = "only-"
"""The prefix of the variables with the names that a requirement is limited to."""


@dataclass(slots=True)
class Holder:
    """An identity in a state: its permissions as far as primitives need them, and its roles."""

    state: AttackState
    held: HeldPermissions
    principals: frozenset[Subject] = frozenset()
    bound: tuple[tuple[Key, str], ...] = ()
    """The bound roles, each with the namespace of the binding."""
    own: frozenset[Permission] | None = None
    """The permissions granted to the holder itself, apart from those of its one group; None if the difference does
    not matter."""
    wide_rules: tuple[Rule, ...] = field(default=(), repr=False)
    """All cluster-wide rules, for checks against all of them."""

    def widest_first(self) -> list[tuple[Key, str]]:
        """The bound roles, those that are bound in the whole cluster first."""
        return sorted(self.bound, key=lambda one: (bool(one[1]), one[1], one[0].name))


@dataclass(frozen=True, slots=True)
class VariantMatch:
    """A match: the holder meets all requirements of a variant in a namespace (``*``: in all)."""

    primitive: Primitive
    number: int
    namespace: str
    met: tuple[MetRequirement, ...]

    @property
    def variant(self) -> Variant:
        return self.primitive.variants[self.number]

    def names(self, label: str) -> tuple[str, ...] | None:
        """The names that all requirements with this label allow; None for all."""
        found: tuple[str, ...] | None = None
        for met in self.met:
            if met.requirement.label == label:
                names = met.names(self.namespace)
                if found is None:
                    found = names
                elif names is not None:
                    found = tuple(name for name in found if name in names)
        return found

    @property
    def by_name(self) -> bool:
        """True if some requirement is met for single names only, and the primitive does not ask for names itself."""
        return any(one.names(self.namespace) is not None for one in self.met if not one.requirement.names)

    def alike(self, *labels: str) -> bool:
        """True if all grants that meet the requirements with some labels are for the same names."""
        return all(
            len({hold.names for _, hold in met.holds(self.namespace)}) == 1
            for met in self.met
            if met.requirement.label in labels
        )

    def unlabelled(self, namespace: str) -> dict[str, str]:
        """The names for which requirements without a label are met, by number of the requirement, if names are
        limited."""
        found = {}
        for number, met in enumerate(self.met):
            if not met.requirement.label or met.requirement.any_of[0].permission.nameless:
                names = met.names(namespace)
                if names is not None:
                    found[f"{ONLY}{number}"] = ",".join(names)
        return found

    def allows(self, label: str, name: str) -> bool:
        """True if the requirements with this label allow a name."""
        names = self.names(label)
        return names is None or name in names

    def sources(self, variables: dict[str, str]) -> tuple[tuple[GrantSource, ...], ...]:
        """For each requirement the grants that each allow the names in the variables.

        None are said for a need that something reached on the way meets.
        """
        found = []
        for met in self.met:
            name = variables.get(met.requirement.label, "") if met.requirement.label else ""
            where = variables.get("namespace", self.namespace)
            found.append(() if met.free(where, name) else met.sources(where, name))
        return tuple(found)

    def served(self, knows: Callable[[Permission], bool]) -> bool:
        """True if the cluster serves a resource by which each requirement is met."""
        return all(any(knows(permission) for permission, _ in met.holds(self.namespace)) for met in self.met)

    def permissions(self, variables: dict[str, str], knows: Callable[[Permission], bool]) -> tuple[Permission, ...]:
        """The permission that meets each requirement; of several the first whose resource is served."""
        found = []
        for met in self.met:
            name = variables.get(met.requirement.label, "") if met.requirement.label else ""
            holds = met.holds(variables.get("namespace", self.namespace))
            fitting = {one for one, hold in holds if not name or hold.names is None or name in hold.names}
            fitting = fitting or {one for one, _ in holds}
            ordered = [option.permission for option in met.requirement.any_of if option.permission in fitting]
            found.append(next(filter(knows, ordered), ordered[0]))
        return tuple(found)


def match_variant(primitive: Primitive, number: int, held: HeldPermissions, release: str) -> Iterator[VariantMatch]:
    """The matches of one variant, one per namespace."""
    every: list[MetRequirement] = []
    for requirement in requirements_of(primitive.id, number, release):
        met = meet_requirement(requirement, held)
        if met is None:
            return
        every.append(met)
    for namespace in common_namespaces(every):
        yield VariantMatch(primitive, number, namespace, tuple(every))


Distance = tuple[int, float]
"""Hops and cost."""


class Edge(NamedTuple):
    """An edge between two states: a variant of a primitive, or a choice (an empty primitive), which costs nothing.

    ``granted_by`` holds for each needed grant the sources that are each enough; ``permissions`` what is used of them.
    """

    source: AttackState
    target: AttackState
    primitive: str = ""
    number: int = 0
    variables: tuple[tuple[str, str], ...] = ()
    granted_by: tuple[tuple[GrantSource, ...], ...] = ()
    permissions: tuple[Permission, ...] = ()
    cost: float = 0

    @property
    def definition(self) -> Primitive:
        """The primitive. Raises SimkitError for a choice."""
        return primitives().primitive(self.primitive)

    @property
    def variant(self) -> Variant:
        """The variant of the primitive."""
        return self.definition.variants[self.number]

    @property
    def hops(self) -> int:
        """1 if the edge takes something, 0 for choices and for what belongs to a state."""
        return 1 if self.cost else 0

    def value(self, name: str) -> str:
        """The value of a variable; empty if it is not known."""
        return dict(self.variables).get(name, "")


class Reached(NamedTuple):
    """The distance of a state, and the last edge of the best path to it (towards a goal: the first edge from it)."""

    distance: Distance
    edge: Edge | None


def any_of(
    facts: ClusterFacts, match: VariantMatch, title: str, members: Callable[[], Outcomes], *labels: str
) -> Outcomes:
    """One set if the choice is the same in all namespaces; else each member by itself.

    So the graph stays linear in grants: a holder has one edge, however many things there are.
    """
    if match.namespace != EVERYWHERE or not match.alike(*labels):
        yield from members()
        return
    place = facts.gathered(title, members)
    if place is not None:
        yield place, {}


def named(match: VariantMatch, label: str) -> str:
    """The names for which requirements are met, as a part of a title."""
    names = match.names(label)
    return "" if names is None else f" named {', '.join(names)}"


def by_name(
    facts: ClusterFacts,
    match: VariantMatch,
    label: str,
    words: str,
    whole: AttackState,
    members: Callable[[tuple[str, ...]], Outcomes],
    more: Variables | None = None,
) -> Outcomes:
    """A whole set where any name is allowed; else a choice among the members of the allowed names."""
    names = match.names(label)
    if names is None:
        yield whole, dict(more or {})
    else:
        yield from any_of(facts, match, f"{words}{named(match, label)}", lambda: members(names), label)


def without_rbac_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules without those about RBAC objects."""
    return tuple(rule for rule in rules if RBAC_GROUP not in rule.api_groups)


@lru_cache(maxsize=16384)
def enables_escalation(rules: tuple[Rule, ...], release: str, have: tuple[Rule, ...] = ()) -> bool:
    """True if the rules enable an escalation that the other rules do not.

    Notes
    -----
    O(grants of the rules and primitives that need one of them): what needs none of them is possible without them.
    """
    known = _escalations(have, release) if have else frozenset[str]()
    return any(True for one in _enabled((*have, *rules), release, by=rules) if one not in known)


@lru_cache(maxsize=16384)
def adds_escalation(rules: RuleSet, release: str, have: RuleSet) -> bool:
    """As ``enables_escalation`` for shared rules, which are told apart without a look at each."""
    return enables_escalation(rules.rules, release, have.rules)


@lru_cache(maxsize=4096)
def _escalations(rules: tuple[Rule, ...], release: str) -> frozenset[str]:
    """The primitives that give more access and whose requirements the rules meet if granted everywhere."""
    return frozenset(_enabled(rules, release, by=rules))


def _enabled(rules: tuple[Rule, ...], release: str, *, by: tuple[Rule, ...]) -> Iterator[str]:
    """The primitives that give more access, whose requirements the rules meet, and that need one of some rules."""
    held: HeldPermissions = {}
    for permission, _, names in watched_grants(rules, release):
        held.setdefault(permission, []).append(HeldPermission("", names, None))
    needing = _escalating(release)
    given = dict.fromkeys(one for one, _, _ in watched_grants(by, release))
    for identifier, number in dict.fromkeys(way for one in given for way in needing.get(one, ())):
        one = primitives().primitive(identifier)
        if one.holds_in(release) and any(match_variant(one, number, held, release)):
            yield identifier


@lru_cache(maxsize=4096)
def escalating_permissions(rules: tuple[Rule, ...], release: str) -> frozenset[Permission]:
    """The permissions of primitives that give more access, as far as the rules grant them."""
    return frozenset(one for one, _, _ in watched_grants(rules, release)) & _escalating(release).keys()


@cache
def _escalating(release: str) -> Mapping[Permission, tuple[tuple[str, int], ...]]:
    """The permissions of all primitives that give more access, with the primitives and the variants that need them."""
    found: dict[Permission, dict[tuple[str, int], None]] = {}
    for one in primitives().primitives:
        if one.kind == "escalation":
            for number in range(len(one.variants)):
                for requirement in requirements_of(one.id, number, release):
                    for option in requirement.any_of:
                        found.setdefault(option.permission, {})[one.id, number] = None
    return {permission: tuple(ways) for permission, ways in found.items()}
