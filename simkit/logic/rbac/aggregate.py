"""Aggregated cluster roles: label selectors collect their rules from other cluster roles.

pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta import labels
from simkit.meta.objects import Draft, Object, at, labels_of, name_of


def is_aggregated(role: Object) -> bool:
    """True if the role is aggregated."""
    return role.get("aggregationRule") is not None


def gathered(role: Object, roles: Iterable[Object]) -> list[dict[str, Any]]:
    """The distinct rules that the selectors of an aggregated role collect.

    Selectors are taken in order, the roles that one selects by name, and a role never selects itself.

    Examples
    --------
    >>> rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    >>> part = {"metadata": {"name": "part", "labels": {"to": "whole"}}, "rules": [rule]}
    >>> selectors = {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}
    >>> gathered({"metadata": {"name": "whole"}, "aggregationRule": selectors}, [part]) == [rule]
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


def settled(roles: Iterable[Object]) -> list[Object]:
    """Cluster roles after aggregation, including roles that aggregate aggregated ones.

    For objects that no controller has seen, such as manifests. A role whose selectors find nothing keeps its rules.

    Notes
    -----
    Roles that gather from each other settle on the union of their parts. A rule that is gone from a part does not
    stay in the whole, which the controller may leave there while two roles feed each other.
    """
    known = {name_of(role): role for role in roles}
    own = {name: role.get("rules") for name, role in known.items()}
    present: Mapping[str, Object] = {
        name: _with_rules(role, []) if is_aggregated(role) else role for name, role in known.items()
    }
    while True:
        after = {
            name: _with_rules(role, gathered(role, present.values())) if is_aggregated(role) else role
            for name, role in present.items()
        }
        done = all(set(rules_of(after[name])) == set(rules_of(present[name])) for name in after)
        present = after
        if done:
            break
    return [role if role.get("rules") else _with_rules(role, own[name]) for name, role in present.items()]


def _with_rules(role: Object, rules: Any) -> Draft:
    return {**role, "rules": rules}
