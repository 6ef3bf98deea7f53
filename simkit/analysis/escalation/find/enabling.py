"""Which rules lead further: what of them primitives need that give more access."""

from __future__ import annotations

from functools import cache, lru_cache

from simkit.analysis.escalation.find.held_permissions import HeldPermission, HeldPermissions, watched_grants
from simkit.analysis.escalation.find.matching import match_variant
from simkit.analysis.escalation.table.primitive import primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP


def without_rbac_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that are not about access itself: what lets somebody write roles is no reason to fear it."""
    return tuple(rule for rule in rules if RBAC_GROUP not in rule.api_groups)


def enables_escalation(rules: tuple[Rule, ...], release: str, have: tuple[Rule, ...] = ()) -> bool:
    """True if rules are enough for some escalation that other rules alone are not enough for."""
    return bool(_escalations((*have, *rules), release) - _escalations(have, release))


@lru_cache(maxsize=4096)
def _escalations(rules: tuple[Rule, ...], release: str) -> frozenset[str]:
    """The primitives that give more access, all of whose needs the rules meet where they hold everywhere."""
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
    """What rules grant of the permissions that primitives need which give more access."""
    return frozenset(one for one, _, _ in watched_grants(rules, release)) & _escalating(release)


@cache
def _escalating(release: str) -> frozenset[Permission]:
    """The permissions that primitives need which give more access."""
    return frozenset(
        option.permission
        for one in primitives().primitives
        if one.kind == "escalation"
        for number in range(len(one.variants))
        for requirement in requirements_of(one.id, number, release)
        for option in requirement.any_of
    )
