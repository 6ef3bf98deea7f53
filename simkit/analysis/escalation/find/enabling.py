"""Rules that enable an escalation: those that meet the requirements of primitives that give more access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from simkit.analysis.escalation.find.held_permissions import HeldPermission, HeldPermissions, watched_grants
from simkit.analysis.escalation.find.matching import match_variant
from simkit.analysis.escalation.table.primitive import primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission
from simkit.logic.rbac.rule import Rule
from simkit.logic.rbac.ruleset import RuleSet
from simkit.meta.domain import RBAC_GROUP


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
