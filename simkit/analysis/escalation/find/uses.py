"""The uses of primitives that the permissions of a holder allow: which variants, on what, and where they lead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE, MetRequirement, primitives_by_permission
from simkit.analysis.escalation.find.matching import Edge, Holder, VariantMatch, match_variant
from simkit.analysis.escalation.find.outcomes import OUTCOMES
from simkit.analysis.escalation.find.primitive_conditions import CONDITIONS
from simkit.analysis.escalation.find.states import CLUSTER_ADMIN, AttackState
from simkit.analysis.escalation.table.primitive import EDGE_KINDS, Primitive, primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission, Requirement
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource

ESCALATE: Final = tuple(Permission(verb, RBAC_GROUP, "clusterroles") for verb in ("update", "patch", "create"))
_Shape = tuple[frozenset[Permission], frozenset[Permission] | None]
"""The permissions that somebody has, and those that are their own."""


class PrimitiveUses:
    """The uses of primitives in one cluster."""

    def __init__(self, facts: ClusterFacts) -> None:
        _check_words()
        self._facts, self._release = facts, facts.release
        self._shapes: dict[_Shape, tuple[tuple[Primitive, tuple[int, ...]], ...]] = {}
        self._known_served: dict[tuple[str, int], bool] = {}
        self._known_resources: dict[tuple[str, str], bool] = {}
        self._known_there: dict[tuple[str, int], bool] = {}

    def follow(self, earlier: PrimitiveUses) -> bool:
        """Keep what is known of an earlier cluster with the same kinds; False where other named objects exist now."""
        self._known_served, self._known_resources = earlier._known_served, earlier._known_resources
        self._shapes = earlier._shapes
        return all(self._all_there(*one) == known for one, known in earlier._known_there.items())

    def of(self, holder: Holder) -> Iterator[Edge]:
        """The edges that a holder's permissions give."""
        for primitive, numbers in self._fitting(holder):
            if holder.state.impersonated and primitive.impersonates:
                continue
            for edge in self._leading(holder, primitive, numbers):
                yield edge
                if edge.target == CLUSTER_ADMIN and not edge.cost:
                    return  # there is nothing beyond

    def _fitting(self, holder: Holder) -> tuple[tuple[Primitive, tuple[int, ...]], ...]:
        """The primitives that make edges and that a holder may use, each with the variants that it may meet.

        They are looked for once for all holders of the same permissions.
        """
        shape = frozenset(holder.held), holder.own
        known = self._shapes.get(shape)
        if known is None:
            found = ((one, tuple(self._variants(one, holder))) for one in self._candidates(holder))
            known = self._shapes[shape] = tuple((one, numbers) for one, numbers in found if numbers)
        return known

    def _candidates(self, holder: Holder) -> Iterator[Primitive]:
        """The primitives of this release with a requirement that the holder may meet, in the order of the table."""
        held = holder.held if holder.own is None else holder.own
        by_permission = primitives_by_permission(self._release)
        wanted = {
            *_without_requirements(),
            *(one for permission in held for one in by_permission.get(permission, ())),
        }
        if any(permission in holder.held for permission in ESCALATE):
            wanted.update(judging_holders())
        for primitive in primitives().primitives:
            edges = primitive.kind in EDGE_KINDS and not primitive.special_case
            if edges and primitive.id in wanted and primitive.holds_in(self._release):
                yield primitive

    def _variants(self, primitive: Primitive, holder: Holder) -> Iterator[int]:
        """The variants of a primitive of which the holder has, somewhere, a permission for each requirement."""
        for number in range(len(primitive.variants)):
            needs = requirements_of(primitive.id, number, self._release)
            if all(any(one.permission in holder.held for one in need.any_of) for need in needs):
                yield number

    def edges(self, holder: Holder, primitive: Primitive) -> Iterator[Edge]:
        """The edges of one primitive for a holder."""
        edges = self._leading(holder, primitive, range(len(primitive.variants)))
        return (edge for edge in edges if edge.target != holder.state)

    def _leading(self, holder: Holder, primitive: Primitive, numbers: Iterable[int]) -> Iterator[Edge]:
        """As ``edges`` for some variants, with the edges that lead where the holder is."""
        for number in numbers:
            if not self._served(primitive.id, number) or not self._is_there(primitive.id, number):
                continue
            for match, variables in self.usable(holder, primitive, number):
                yield from self._outcomes(holder, match, variables)

    def leading(self, holder: Holder, match: VariantMatch) -> Iterator[Edge]:
        """The edges of one match for a holder."""
        if self._is_there(match.primitive.id, match.number) and match.served(self._knows):
            for variables in CONDITIONS[match.variant.condition](self._facts, holder, match):
                yield from self._outcomes(holder, match, variables)

    def _outcomes(self, holder: Holder, match: VariantMatch, variables: dict[str, str]) -> Iterator[Edge]:
        for target, more in OUTCOMES[match.variant.outcome](self._facts, holder, match, variables):
            yield _edge(holder.state, target, match, {**variables, **more}, self._knows)

    def usable(
        self, holder: Holder, primitive: Primitive, number: int
    ) -> Iterator[tuple[VariantMatch, dict[str, str]]]:
        """As ``found``, without matches by resources that nothing serves."""
        return ((match, more) for match, more in self.found(holder, primitive, number) if match.served(self._knows))

    def _knows(self, permission: Permission) -> bool:
        """True if the cluster serves the resource of a permission."""
        resource = permission.group, permission.resource
        if resource not in self._known_resources:
            self._known_resources[resource] = self._facts.knows(*resource)
        return self._known_resources[resource]

    def _served(self, identifier: str, number: int) -> bool:
        """True if the cluster serves a resource of each requirement."""
        variant = identifier, number
        if variant not in self._known_served:
            self._known_served[variant] = all(
                any(self._knows(option.permission) for option in requirement.any_of)
                for requirement in requirements_of(*variant, self._release)
            )
        return self._known_served[variant]

    def _is_there(self, identifier: str, number: int) -> bool:
        """True if one of the objects that the table names exists, unless it can be created."""
        variant = identifier, number
        if variant not in self._known_there:
            self._known_there[variant] = self._all_there(*variant)
        return self._known_there[variant]

    def _all_there(self, identifier: str, number: int) -> bool:
        return all(
            any(self._named_object(option.permission, requirement) for option in requirement.any_of)
            for requirement in requirements_of(identifier, number, self._release)
            if requirement.names and requirement.any_of[0].permission.resource not in AUTHORIZATION_RESOURCES
        )

    def _named_object(self, permission: Permission, requirement: Requirement) -> bool:
        resource = GroupResource(permission.group, permission.resource)
        if permission.verb == "create" or resource not in self._facts.snapshot.captured():
            return True
        return any(
            self._facts.snapshot.get(resource, name, requirement.namespace) is not None for name in requirement.names
        )

    def found(self, holder: Holder, primitive: Primitive, number: int) -> Iterator[tuple[VariantMatch, dict[str, str]]]:
        """The matches of one variant for a holder, with the variables of its condition."""
        condition = CONDITIONS.get(primitive.variants[number].condition)
        if condition is None:
            return
        for match in match_variant(primitive, number, holder.held, self._release):
            if match.namespace == EVERYWHERE or all(self._is_free(met, match.namespace) for met in match.met):
                for variables in condition(self._facts, holder, match):
                    yield match, variables

    def _is_free(self, met: MetRequirement, namespace: str) -> bool:
        """False for a creation under certain names, all of which are taken."""
        made = met.requirement.any_of[0].permission
        names = met.names(namespace) if made.nameless else None
        if names is None:
            return True
        resource = GroupResource(made.group, made.resource)
        return any(self._facts.get(resource, name, namespace) is None for name in names)


@cache
def judging_holders() -> frozenset[str]:
    """The primitives that look at all permissions of a holder."""
    return frozenset(one.id for one in primitives().primitives if one.judges_holder)


@cache
def impersonating() -> frozenset[str]:
    """The primitives that impersonate."""
    return frozenset(one.id for one in primitives().primitives if one.impersonates)


@cache
def _without_requirements() -> frozenset[str]:
    """The primitives that require no grant, only a certain identity."""
    return frozenset(
        one.id
        for one in primitives().primitives
        if one.kind in EDGE_KINDS and any(not variant.requires for variant in one.variants)
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


@cache
def _check_words() -> None:
    """Raise SimkitError for a condition or an outcome that is not known, which a table of a package may name."""
    for primitive in primitives().primitives:
        for variant in primitive.variants if primitive.kind in EDGE_KINDS else ():
            for field, word, words in (
                ("condition", variant.condition, CONDITIONS),
                ("outcome", variant.outcome, OUTCOMES),
            ):
                if word not in words:
                    raise SimkitError(
                        f"escalation primitive {primitive.id}: no {field} {word!r} is known; use one of "
                        f"{', '.join(filter(None, words))}"
                    )
