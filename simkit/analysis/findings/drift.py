"""Checks of changes: default roles and bindings that differ, and bindings that others made superfluous."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding, binding_evidence, delete_command, described_check
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.default_objects import settled_defaults
from simkit.analysis.rbac.objects import display_name
from simkit.analysis.rbac.subject import normalize_subject
from simkit.analysis.rbac.tables import rule_text
from simkit.logic.rbac.aggregate import is_aggregated
from simkit.logic.rbac.binding import Binding, Subject
from simkit.logic.rbac.cover import covers, uncovered
from simkit.logic.rbac.rule import Rule, rules_of
from simkit.meta.names import Key
from simkit.meta.objects import Object


def changed_defaults(survey: Survey, check: Check) -> Iterator[Finding]:
    """Default roles and bindings that were changed or removed."""
    gone = []
    known = settled_defaults(survey.snapshot.release)
    for key, default in known.items():
        obj = survey.snapshot.get(key.resource, key.name, key.namespace)
        if obj is None:
            gone.append(key)
        elif "roleRef" in default:
            yield from _changed_binding(survey, check, key, Binding.of(key, obj), Binding.of(key, default))
        elif not is_aggregated(default):
            yield from _changed_role(check, key, obj, default)
    if gone and len(gone) < len(known):  # all of them: it is no whole cluster
        yield check.finding(
            f"{listed(map(display_name, gone), 6)} {'is' if len(gone) == 1 else 'are'} missing.", severity=Severity.INFO
        )


def _changed_role(check: Check, key: Key, obj: Object, default: Object) -> Iterator[Finding]:
    more = uncovered(rules_of(default), rules_of(obj))
    less = uncovered(rules_of(obj), rules_of(default))
    if more:
        yield check.finding(
            f"{display_name(key)} allows more than the Kubernetes default: {_told(more)}.",
            namespace=key.namespace,
            role=key,
            manifest=default,
        )
    if less:
        yield check.finding(
            f"{display_name(key)} allows less than the Kubernetes default: {_told(less)}.",
            severity=Severity.INFO,
            namespace=key.namespace,
            role=key,
            manifest=default,
        )


def _changed_binding(survey: Survey, check: Check, key: Key, now: Binding, own: Binding) -> Iterator[Finding]:
    added = [
        subject
        for subject in map(normalize_subject, now.subjects)
        if subject not in set(map(normalize_subject, own.subjects))
    ]
    if now.role != own.role or added:
        what = f"binds {display_name(now.role)}" if now.role != own.role else f"also names {listed(added)}"
        yield check.finding(
            f"{display_name(key)} is a default binding, but {what}.",
            severity=Severity.HIGH if now.role in survey.full_roles else check.severity,
            namespace=key.namespace,
            binding=key,
            role=now.role,
            subjects=tuple(added),
        )


def _told(rules: list[Rule]) -> str:
    return listed([rule_text(rule) for rule in rules], 3)


def subsumed_bindings(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings that give their subjects no access beyond that of other bindings with another role or in another
    place."""
    held: dict[Subject, list[Binding]] = defaultdict(list)
    for binding in survey.index.bindings():
        if survey.rules(binding.role):
            for subject in map(normalize_subject, binding.subjects):
                held[subject].append(binding)
    superfluous: set[Key] = set()
    for binding in sorted(survey.bindings, key=lambda one: (not one.namespace, one.key)):
        rules = survey.rules(binding.role)
        if not rules or not binding.subjects:
            continue
        by: dict[Key, None] = {}
        for subject in map(normalize_subject, binding.subjects):
            others = [one for one in held[subject] if _counts(one, binding) and one.key not in superfluous]
            if not others or not covers([rule for one in others for rule in survey.rules(one.role)], rules):
                break
            by |= {one.key: None for one in others if _gives_some(survey.rules(one.role), rules)}
        else:
            superfluous.add(binding.key)
            yield check.finding(
                f"{display_name(binding.key)} grants {display_name(binding.role)} to "
                f"{listed(map(normalize_subject, binding.subjects))}, but {listed(map(display_name, by), 2)} "
                f"already {'grants' if len(by) == 1 else 'grant'} the same access.",
                **binding_evidence(binding),
                command=delete_command(binding.key),
            )


def _gives_some(owned: tuple[Rule, ...], wanted: tuple[Rule, ...]) -> bool:
    """True if the owned rules cover a part of the wanted rules."""
    return len(uncovered(owned, wanted)) < len(uncovered((), wanted))


def _counts(other: Binding, binding: Binding) -> bool:
    """True if another binding covers the namespace of this one; the same role in the same place is a finding of its
    own."""
    same = other.role == binding.role and other.namespace == binding.namespace
    return other.key != binding.key and other.namespace in ("", binding.namespace) and not same


DRIFT_CHECKS: Final = (
    described_check("default-drift", changed_defaults),
    described_check("subsumed-binding", subsumed_bindings),
)
"""The checks, in the order of a report."""
