"""Aggregated cluster roles: label selectors collect their rules from other cluster roles.

pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta import labels
from simkit.meta.objects import Object, at, labels_of, metadata, name_of

CONTROLLER: Final = "clusterrole-aggregation-controller"
"""The name of the controller, of its account, and of its field manager."""
Rules = tuple[Rule, ...]


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
    known = {name_of(one): one for one in roles}
    found = dict.fromkeys(rule for name in _selected(role, known) for rule in rules_of(known[name]))
    return [rule.entry() for rule in found]


def with_aggregated_rules(roles: Iterable[Object]) -> list[Object]:
    """Cluster roles after the controller has settled, including roles that aggregate aggregated ones.

    Own rules of an aggregated role are overwritten. Where its selectors find no rules, the role keeps those that
    another field manager wrote, since the controller then applies none.

    Notes
    -----
    Roles that gather from each other settle on the union of their parts. A rule that is gone from a part does not
    stay in the whole, which the controller may leave there while two roles feed each other.
    """
    known = {name_of(role): role for role in roles}
    parts = {name: tuple(_selected(role, known)) for name, role in known.items() if is_aggregated(role)}
    involved = {name for some in parts.values() for name in some} | parts.keys()
    rules: dict[str, Rules] = {name: () if name in parts else rules_of(known[name]) for name in involved}
    _settle(rules, parts)
    kept = {name: _kept(known[name]) for name in parts if not rules[name]}
    if any(kept.values()):
        rules |= kept
        _settle(rules, parts)
    changed = {name for name in parts if rules[name] != rules_of(known[name])}
    return [
        {**role, "rules": [rule.entry() for rule in rules[name]]} if name in changed else role
        for name, role in known.items()
    ]


def _settle(rules: dict[str, Rules], parts: Mapping[str, Sequence[str]]) -> None:
    """Give each aggregated role the rules of its parts, one role after the other, until no role gets other rules."""
    for _ in range(len(parts) + 1):
        before = dict(rules)
        for name, some in parts.items():
            rules[name] = tuple(dict.fromkeys(rule for part in some for rule in rules[part])) or rules[name]
        if rules == before:
            return


def _kept(role: Object) -> Rules:
    """The rules that an aggregated role keeps while its parts have none: those not owned by the controller alone."""
    entries = metadata(role).get("managedFields") or ()
    owners = {entry.get("manager") for entry in entries if "f:rules" in (entry.get("fieldsV1") or ())}
    return () if owners == {CONTROLLER} else rules_of(role)


def _selected(role: Object, roles: Mapping[str, Object]) -> Iterator[str]:
    """The names of the other roles that the selectors of a role take, in their order."""
    for entry in at(role, "aggregationRule", "clusterRoleSelectors") or ():
        selector = labels.of_object(entry)
        for name in sorted(roles):
            if name != name_of(role) and selector.matches(labels_of(roles[name])):
                yield name
