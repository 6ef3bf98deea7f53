"""Rules that enable an escalation: those that meet the requirements of primitives that give more access."""

from __future__ import annotations

from functools import cache, lru_cache

from simkit.analysis.escalation.find.held_permissions import HeldPermission, HeldPermissions, watched_grants
from simkit.analysis.escalation.find.matching import match_variant
from simkit.analysis.escalation.table.primitive import primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP


def without_rbac_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules without those about RBAC objects."""
    return tuple(rule for rule in rules if RBAC_GROUP not in rule.api_groups)


def enables_escalation(rules: tuple[Rule, ...], release: str, have: tuple[Rule, ...] = ()) -> bool:
    """True if the rules enable an escalation that the other rules do not."""
    return bool(_escalations((*have, *rules), release) - _escalations(have, release))


@lru_cache(maxsize=4096)
def _escalations(rules: tuple[Rule, ...], release: str) -> frozenset[str]:
    """The primitives that give more access and whose requirements the rules meet if granted everywhere."""
    held: HeldPermissions = {}
    for permission, _, names in watched_grants(rules, release):
        held.setdefault(permission, []).append(HeldPermission("", names, None))
    return frozenset(
        one.id
        for one in primitives().primitives
        if one.kind == "escalation" and one.holds_in(release)
        for number, variant in enumerate(one.variants)
        if variant.requires and any(match_variant(one, number, held, release))
    )


@lru_cache(maxsize=4096)
def escalating_permissions(rules: tuple[Rule, ...], release: str) -> frozenset[Permission]:
    """The permissions of primitives that give more access, as far as the rules grant them."""
    return frozenset(one for one, _, _ in watched_grants(rules, release)) & _escalating(release)


@cache
def _escalating(release: str) -> frozenset[Permission]:
    """The permissions of all primitives that give more access."""
    return frozenset(
        option.permission
        for one in primitives().primitives
        if one.kind == "escalation"
        for number in range(len(one.variants))
        for requirement in requirements_of(one.id, number, release)
        for option in requirement.any_of
    )
