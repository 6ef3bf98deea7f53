"""Conditions of primitives that use the aggregation of roles: labels by which others, or oneself, gain rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from simkit.analysis.escalation.find.enabling import (
    adds_escalation,
    enables_escalation,
    escalating_permissions,
    without_rbac_rules,
)
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.matching import Holder, Variables, VariantMatch
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, Subject
from simkit.logic.rbac.cover import covers
from simkit.logic.rbac.rule import Rule
from simkit.logic.rbac.ruleset import RuleSet
from simkit.meta.names import Key
from simkit.meta.objects import labels_of, name_of


class _Push(NamedTuple):
    """A role, and the aggregated roles with subjects to which a label adds its rules: name, scope, widest subject."""

    role: str
    rules: tuple[Rule, ...]
    needed: frozenset[Permission]
    beyond_rbac: bool
    """True if its rules lead further without those about RBAC objects."""
    into: tuple[tuple[str, str, Subject], ...]


def may_label(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """A role whose rules the holder has, and a bound aggregated role by which others gain rules that lead further."""
    everywhere = frozenset(one for one, holds in holder.held.items() if any(not hold.namespace for hold in holds))
    creating = not any(met.requirement.label == "role" for met in match.met)
    found = facts.answer(_push_for, holder.state.subject, everywhere, holder.wide_rules, match.names("role"), creating)
    if found is not None:
        role, (aggregated, scope, widest) = found
        yield {"role": role, "beneficiary": text_of(widest), "aggregated": aggregated, "scope": scope}


def _push_for(
    facts: ClusterFacts,
    subject: Subject | None,
    everywhere: frozenset[Permission],
    rules: tuple[Rule, ...],
    names: Collection[str] | None,
    creating: bool,
) -> tuple[str, tuple[str, str, Subject]] | None:
    """The first role that somebody with some rules may label, with whom it serves."""
    for one in facts.once(_pushes):
        into = next((found for found in one.into if found[2] != subject), None)
        if into is None or (creating and not one.beyond_rbac) or not one.needed <= everywhere:
            continue
        if (names is None or one.role in names) and covers(rules, one.rules):
            return one.role, into
    return None


def _pushes(facts: ClusterFacts) -> Iterator[_Push]:
    """The roles with aggregated roles that have subjects, do not include them and would give them more."""
    bound = {name: found for name, _ in facts.aggregated for found in (facts.binding_to(name),) if found is not None}
    targets = [
        (name, labels, bound[name], RuleSet.of(have))
        for name, selectors in facts.aggregated
        for labels in (_labels(selectors),)
        for have in (facts.rules(bound[name].role) if name in bound else None,)
        if labels and have is not None
    ]
    for role in facts.scan(CLUSTER_ROLES):
        name = name_of(role)
        rules = facts.rules(Key(CLUSTER_ROLES, "", name)) or ()
        if not enables_escalation(rules, facts.release):
            continue
        shared = RuleSet.of(rules)
        into = tuple(
            (aggregated, binding.namespace, min(binding.subjects, key=lambda one: (one.kind != GROUP, one)))
            for aggregated, labels, binding, have in targets
            if aggregated != name and not _has(labels_of(role), labels) and adds_escalation(shared, facts.release, have)
        )
        if into:
            beyond = enables_escalation(without_rbac_rules(rules), facts.release)
            yield _Push(name, rules, escalating_permissions(rules, facts.release), beyond, into)


def gathered_for_oneself(facts: ClusterFacts, holder: Holder, match: VariantMatch) -> Iterator[Variables]:
    """An aggregated role that the holder has, and a role to add to it: one that may be changed, or a new one."""
    if match.names("made") is not None:
        return  # a creation is not checked under its name
    selectors = dict(facts.aggregated)
    for key, scope in holder.widest_first():
        if key.resource != CLUSTER_ROLES or key.name not in selectors:
            continue
        role = next(_rewritten(facts, match, key.name), None)
        if role is not None and _labels(selectors[key.name]):
            yield {"role": role, "aggregated": key.name, "scope": scope}
            return


def _rewritten(facts: ClusterFacts, match: VariantMatch, aggregated: str) -> Iterator[str]:
    """The roles that may be changed and that no controller fills; the empty name stands for a new role."""
    if not any(met.requirement.label == "role" for met in match.met):
        yield ""
        return
    filled = dict(facts.aggregated)
    names = match.names("role")
    for name in facts.cluster_roles if names is None else names:
        there = facts.rules(Key(CLUSTER_ROLES, "", name)) is not None
        if there and name not in filled and name != aggregated:
            yield name


def _labels(selectors: Any) -> dict[str, str]:
    """Labels that match the first selector which has only labels."""
    for selector in selectors:
        if selector.get("matchLabels") and not selector.get("matchExpressions"):
            return dict(selector["matchLabels"])
    return {}


def _has(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())
