"""A way of a primitive, met by what somebody holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from simkit.analysis.escalation.find.held_permissions import (
    GrantSource,
    HeldPermissions,
    MetRequirement,
    common_namespaces,
    meet_requirement,
)
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.escalation.table.primitive import Primitive, Variant, requirements_of
from simkit.analysis.escalation.table.requirement import Permission
from simkit.logic.rbac.binding import Subject
from simkit.logic.rbac.rule import Rule
from simkit.meta.names import Key

ONLY: Final = "only-"
"""How the variables begin that hold the names a need is limited to."""


@dataclass(slots=True)
class Holder:
    """Somebody at a place: what they hold of what primitives need, and the roles that they are bound to."""

    state: AttackState
    held: HeldPermissions
    principals: frozenset[Subject] = frozenset()
    bound: tuple[tuple[Key, str], ...] = ()
    """The roles, each with the namespace of the binding."""
    own: frozenset[Permission] | None = None
    """What is granted to the holder itself, where the rest is that of its one group; None where that is no matter."""
    wide_rules: tuple[Rule, ...] = field(default=(), repr=False)
    """All rules held in the whole cluster, for what is checked against all of them."""


@dataclass(frozen=True, slots=True)
class VariantMatch:
    """That a holder meets all needs of a way, in a namespace (``*``: in all)."""

    primitive: Primitive
    number: int
    namespace: str
    met: tuple[MetRequirement, ...]

    @property
    def variant(self) -> Variant:
        return self.primitive.variants[self.number]

    def names(self, label: str) -> tuple[str, ...] | None:
        """The names that all needs of this label allow; None for all."""
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
        """True if some requirement is met for single names only, which the primitive itself does not ask for."""
        return any(one.names(self.namespace) is not None for one in self.met if not one.requirement.names)

    def alike(self, *labels: str) -> bool:
        """True if all grants that meet the needs of some labels are for the same names, so that each gives the same."""
        return all(
            len({hold.names for _, hold in met.holds(self.namespace)}) == 1
            for met in self.met
            if met.requirement.label in labels
        )

    def unlabelled(self, namespace: str) -> dict[str, str]:
        """The names that needs without a label are met for, by the number of the need; only where they are limited."""
        found = {}
        for number, met in enumerate(self.met):
            if not met.requirement.label:
                names = met.names(namespace)
                if names is not None:
                    found[f"{ONLY}{number}"] = ",".join(names)
        return found

    def allows(self, label: str, name: str) -> bool:
        """True if the needs of this label allow a name."""
        names = self.names(label)
        return names is None or name in names

    def sources(self, variables: dict[str, str]) -> tuple[tuple[GrantSource, ...], ...]:
        """For each need the grants that are each enough for the names in the variables.

        None are said for a need that something reached on the way meets.
        """
        found = []
        for met in self.met:
            name = variables.get(met.requirement.label, "") if met.requirement.label else ""
            where = variables.get("namespace", self.namespace)
            found.append(() if met.free(where, name) else met.sources(where, name))
        return tuple(found)

    def permissions(self, variables: dict[str, str]) -> tuple[Permission, ...]:
        """The permission that meets each need, the first of several."""
        found = []
        for met in self.met:
            name = variables.get(met.requirement.label, "") if met.requirement.label else ""
            holds = met.holds(variables.get("namespace", self.namespace))
            fitting = [one for one, hold in holds if not name or hold.names is None or name in hold.names]
            order = [option.permission for option in met.requirement.any_of]
            found.append(min(fitting or [one for one, _ in holds], key=order.index))
        return tuple(found)


def match_variant(primitive: Primitive, number: int, held: HeldPermissions, release: str) -> Iterator[VariantMatch]:
    """How the requirements of one variant are met, once per namespace."""
    every: list[MetRequirement] = []
    for requirement in requirements_of(primitive.id, number, release):
        met = meet_requirement(requirement, held)
        if met is None:
            return
        every.append(met)
    for namespace in common_namespaces(every):
        yield VariantMatch(primitive, number, namespace, tuple(every))
