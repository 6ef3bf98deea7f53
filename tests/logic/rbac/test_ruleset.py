"""Rules found by their resource are the rules that match one by one."""

from __future__ import annotations

from hypothesis import given

from simkit.logic.rbac.rule import Rule, rule_allows, rules_of
from simkit.logic.rbac.ruleset import RuleSet
from tests.logic.rbac.test_cover import ASKS, rules


@given(rules)
def test_first_rule(some: list[Rule]) -> None:
    """The first rule that allows is found, or none."""
    for ask in ASKS:
        expected = next((index for index, rule in enumerate(some) if rule_allows(rule, ask)), -1)
        assert RuleSet.of(tuple(some)).first(ask) == expected


def test_equal_rules_are_shared() -> None:
    """Roles with equal rules share one arrangement."""
    first, second = ((Rule(("get",), ("",), ("shared",)),) for _ in range(2))
    assert RuleSet.of(first) is RuleSet.of(second)


def test_rules_round_trip() -> None:
    """A rule is written as it was read, its fields in kube-apiserver's order."""
    entry = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
    assert [list(rule.entry().items()) for rule in rules_of({"rules": [entry]})] == [list(entry.items())]
    assert rules_of({"rules": None}) == ()
