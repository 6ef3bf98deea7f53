"""Which rules lead further: what of them primitives need that give more access."""

from __future__ import annotations

from functools import cache, lru_cache

from simkit.analysis.escalation.holdings import Held, Hold, matched
from simkit.analysis.escalation.need import Permission
from simkit.analysis.escalation.primitive import needs_of, primitives
from simkit.analysis.escalation.solution import solutions
from simkit.logic.rbac.rule import Rule
from simkit.meta.domain import RBAC_GROUP


def besides_roles(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that are not about access itself: what lets somebody write roles is no reason to fear it."""
    return tuple(rule for rule in rules if RBAC_GROUP not in rule.api_groups)


def opens(rules: tuple[Rule, ...], release: str, have: tuple[Rule, ...] = ()) -> bool:
    """Whether rules are enough for some escalation that other rules alone are not enough for."""
    return bool(_escalations((*have, *rules), release) - _escalations(have, release))


@lru_cache(maxsize=4096)
def _escalations(rules: tuple[Rule, ...], release: str) -> frozenset[str]:
    """The primitives that give more access, all of whose needs the rules meet where they hold everywhere."""
    held: Held = {}
    for permission, _, names in matched(rules, release):
        held.setdefault(permission, []).append(Hold("", names, None))
    return frozenset(
        one.id
        for one in primitives().primitives
        if one.kind == "escalation" and one.holds_in(release)
        for number, way in enumerate(one.ways)
        if way.needs and any(solutions(one, number, held, release))
    )


@lru_cache(maxsize=4096)
def needed(rules: tuple[Rule, ...], release: str) -> frozenset[Permission]:
    """What rules grant of the permissions that primitives need which give more access."""
    return frozenset(one for one, _, _ in matched(rules, release)) & _escalating(release)


@cache
def _escalating(release: str) -> frozenset[Permission]:
    """The permissions that primitives need which give more access."""
    return frozenset(
        option.permission
        for one in primitives().primitives
        if one.kind == "escalation"
        for number in range(len(one.ways))
        for need in needs_of(one.id, number, release)
        for option in need.any_of
    )
