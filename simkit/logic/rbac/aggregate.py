"""Aggregated cluster roles: label selectors collect their rules from other cluster roles.

pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta import labels
from simkit.meta.objects import Draft, Object, at, labels_of, name_of


def is_aggregated(role: Object) -> bool:
    """True if the role is aggregated."""
    return role.get("aggregationRule") is not None


def aggregated_rules(role: Object, roles: Iterable[Object]) -> list[dict[str, Any]]:
    """The distinct rules that the selectors of an aggregated role collect.

    Selectors are taken in order, the roles that one selects by name, and a role never selects itself.

    Examples
    --------
    >>> rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    >>> part = {"metadata": {"name": "part", "labels": {"to": "whole"}}, "rules": [rule]}
    >>> selectors = {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}
    >>> aggregated_rules({"metadata": {"name": "whole"}, "aggregationRule": selectors}, [part]) == [rule]
    True
    """
    others = sorted((one for one in roles if name_of(one) != name_of(role)), key=name_of)
    found: dict[Rule, None] = {}
    for entry in at(role, "aggregationRule", "clusterRoleSelectors") or ():
        selector = labels.of_object(entry)
        for other in others:
            if selector.matches(labels_of(other)):
                found.update(dict.fromkeys(rules_of(other)))
    return [rule.entry() for rule in found]


def with_aggregated_rules(roles: Iterable[Object]) -> list[Object]:
    """Cluster roles after aggregation, including roles that aggregate aggregated ones.

    For objects that no controller has seen, such as manifests. A role whose selectors find nothing keeps its rules.

    Notes
    -----
    Roles that gather from each other settle on the union of their parts. A rule that is gone from a part does not
    stay in the whole, which the controller may leave there while two roles feed each other.
    """
    known = {name_of(role): role for role in roles}
    parts = {name: tuple(_selected(role, known)) for name, role in known.items() if is_aggregated(role)}
    rules: dict[str, tuple[Rule, ...]] = {
        name: () if name in parts else tuple(rules_of(known[name]))
        for name in {one for some in parts.values() for one in some}
    }
    while True:
        after = {
            name: tuple(dict.fromkeys(rule for one in some for rule in rules[one])) for name, some in parts.items()
        }
        done = all(set(found) == set(rules.get(name, ())) for name, found in after.items())
        rules |= after
        if done:
            break
    return [
        _with_rules(role, [rule.entry() for rule in after[name]]) if after.get(name) else role
        for name, role in known.items()
    ]


def _selected(role: Object, roles: Mapping[str, Object]) -> Iterator[str]:
    """The names of the other roles that the selectors of a role take, in their order."""
    for entry in at(role, "aggregationRule", "clusterRoleSelectors") or ():
        selector = labels.of_object(entry)
        for name in sorted(roles):
            if name != name_of(role) and selector.matches(labels_of(roles[name])):
                yield name


def _with_rules(role: Object, rules: Any) -> Draft:
    return {**role, "rules": rules}
