"""Checks of unused or ineffective objects: bindings to missing roles or subjects, roles without bindings, rules
without effect, bindings that others made superfluous; and of default objects that were changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Final

from simkit.analysis.access.permissions import is_effective
from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES, REQUEST_VERBS, SPECIAL_VERBS
from simkit.analysis.catalogue import DEFINITIONS
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding, binding_evidence, delete_command, described_check
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.default_objects import settled_defaults
from simkit.analysis.rbac.objects import NAMESPACES, RBAC, SERVICE_ACCOUNTS, all_roles, display_name
from simkit.analysis.rbac.subject import normalize_subject, text_of
from simkit.analysis.rbac.tables import rule_text
from simkit.logic.rbac.aggregate import is_aggregated
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SERVICE_ACCOUNT, Binding, Subject
from simkit.logic.rbac.cover import covers, uncovered
from simkit.logic.rbac.rule import ALL, Rule, rules_of
from simkit.meta import labels
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of

AGGREGATES: Final = {f"{RBAC_GROUP}/aggregate-to-{name}": name for name in ("view", "edit", "admin")}
READ: Final = frozenset(("get", "list", "watch"))


def missing_roles(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings whose role does not exist."""
    for binding in survey.bindings:
        if survey.index.rules(binding.role) is None:
            yield check.finding(
                f"{display_name(binding.key)} grants {display_name(binding.role)}, which does not exist, to "
                f"{listed(map(normalize_subject, binding.subjects)) or 'nobody'}.",
                **binding_evidence(binding),
                command=delete_command(binding.key),
            )


def missing_accounts(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings that name a service account which does not exist, in a namespace that does."""
    for binding, subject in _account_subjects(survey):
        known = (subject.namespace, subject.name) in survey.accounts
        if not known and subject.namespace in survey.namespaces:
            finding = _missing(survey, check, binding, subject, "which does not exist")
            yield replace(finding, namespace=subject.namespace)


def missing_namespaces(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings that name a service account of a namespace which does not exist."""
    for binding, subject in _account_subjects(survey):
        if subject.namespace not in survey.namespaces:
            yield _missing(survey, check, binding, subject, "whose namespace does not exist")


def _missing(survey: Survey, check: Check, binding: Binding, subject: Subject, what: str) -> Finding:
    return check.finding(
        f"{display_name(binding.key)} grants {display_name(binding.role)} to {text_of(subject)}, {what}.",
        severity=Severity.HIGH if binding.role in survey.full_roles else Severity.MEDIUM,
        **binding_evidence(binding, subject),
        manifest=_without(survey, binding, subject),
        command="" if len(binding.subjects) > 1 else delete_command(binding.key),
    )


def _account_subjects(survey: Survey) -> Iterator[tuple[Binding, Subject]]:
    for binding in survey.bindings:
        for subject in map(normalize_subject, binding.subjects):
            if subject.kind == SERVICE_ACCOUNT:
                yield binding, subject


def _without(survey: Survey, binding: Binding, subject: Subject) -> dict[str, object] | None:
    """The binding without one of its subjects, ready to apply; None if no subject would be left."""
    obj = survey.snapshot.get(binding.key.resource, binding.key.name, binding.key.namespace) or {}
    named = ((entry, Binding.of(binding.key, {"subjects": [entry]}).subjects[0]) for entry in obj.get("subjects") or ())
    kept = [entry for entry, one in named if normalize_subject(one) != subject]
    metadata = {"name": binding.key.name} | ({"namespace": binding.namespace} if binding.namespace else {})
    head = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": metadata}
    return {**head, "roleRef": obj.get("roleRef"), "subjects": kept} if kept else None


def empty_bindings(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings without subjects."""
    for binding in survey.bindings:
        if not binding.subjects:
            yield check.finding(
                f"{display_name(binding.key)} grants {display_name(binding.role)} to nobody.",
                **binding_evidence(binding),
                command=delete_command(binding.key),
            )


def duplicate_bindings(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings that give the same role to the same subjects in the same namespace as another one."""
    alike: dict[tuple[Key, str, frozenset[Subject]], list[Binding]] = defaultdict(list)
    for binding in survey.index.bindings():
        if binding.subjects:
            alike[binding.role, binding.namespace, frozenset(map(normalize_subject, binding.subjects))].append(binding)
    for found in alike.values():
        first, *others = sorted(found, key=lambda binding: (binding.key not in survey.defaults, binding.key))
        for other in others:
            yield check.finding(
                f"{display_name(other.key)} grants the same as {display_name(first.key)}: "
                f"{display_name(first.role)} to {listed(map(normalize_subject, first.subjects))}.",
                **binding_evidence(other),
                command=delete_command(other.key),
            )


def unused_roles(survey: Survey, check: Check) -> Iterator[Finding]:
    """Roles that no binding names and no role aggregates."""
    selectors = [
        labels.of_object(selector)
        for role in survey.snapshot.scan(CLUSTER_ROLES)
        for selector in at(role, "aggregationRule", "clusterRoleSelectors") or ()
    ]
    for key, role in all_roles(survey.snapshot):
        if key in survey.defaults or survey.index.bindings_of(key):
            continue
        collected = key.resource == CLUSTER_ROLES and any(one.matches(labels_of(role)) for one in selectors)
        if not collected:
            yield check.finding(
                f"No binding grants {display_name(key)}.",
                namespace=key.namespace,
                role=key,
                command=delete_command(key),
            )


def aggregated(survey: Survey, check: Check) -> Iterator[Finding]:
    """Custom roles that extend the default view, edit and admin roles beyond the meaning of their names."""
    for key, role in all_roles(survey.snapshot):
        extended = [name for label, name in AGGREGATES.items() if labels_of(role).get(label) == "true"]
        if key.resource == CLUSTER_ROLES and extended and key not in survey.defaults:
            rules = survey.rules(key)
            numbers = tuple(number for number, rule in enumerate(rules) if _is_too_much(rule, extended[0]))
            if numbers:
                shown = "; ".join(rule_text(rules[number]) for number in numbers[:2])
                yield check.finding(
                    f"{display_name(key)} is aggregated into {extended[0]}, whose subjects also get: {shown}.",
                    severity=Severity.MEDIUM if extended[0] == "view" else Severity.LOW,
                    role=key,
                    rules=numbers,
                )


def _is_too_much(rule: Rule, role: str) -> bool:
    """True if a rule goes beyond what a reader of the role's name expects."""
    core = "" in rule.api_groups or ALL in rule.api_groups
    if role == "view":
        return bool(set(rule.verbs) - READ) or (core and bool({"secrets", ALL} & set(rule.resources)))
    return RBAC_GROUP in rule.api_groups or ALL in rule.api_groups or bool({"escalate", "bind"} & set(rule.verbs))


def dead_rules(survey: Survey, check: Check) -> Iterator[Finding]:
    """Rules of bound roles that have no effect, because of the scope of the binding or the way they are written."""
    for role in sorted({binding.role for binding in survey.bindings}):
        for number, why in _dead_rules(survey, role).items():
            bindings = [binding for binding in survey.index.bindings_of(role) if binding.subjects]
            yield check.finding(
                f"Rule {number} of {display_name(role)} ({rule_text(survey.rules(role)[number])}) {why}.",
                namespace=role.namespace,
                binding=bindings[0].key if bindings else None,
                role=role,
                rules=(number,),
            )


def _dead_rules(survey: Survey, role: Key) -> dict[int, str]:
    """The rules of a role without effect, in whole or in part, by number, each with the reason."""
    bindings = [binding for binding in survey.index.bindings_of(role) if binding.subjects]
    rules = survey.rules(role)
    changes = any({"patch", "update", ALL}.intersection(one.verbs) for one in rules)
    reasons = ((number, _why_dead(survey, rule, bindings, changes=changes)) for number, rule in enumerate(rules))
    whole = {number: f"does nothing: {why}" for number, why in reasons if why}
    parts = ((number, list(_dead_parts(survey, rule))) for number, rule in enumerate(rules))
    partly = {number: f"does nothing in part: {'; '.join(why)}" for number, why in parts if why}
    return dict(sorted({**partly, **whole}.items()))


def _dead_parts(survey: Survey, rule: Rule) -> Iterator[str]:
    """The words of a rule that no request has, each with the reason, though other words of it may allow something."""
    for resource in rule.resources:
        if resource.endswith("/*") and resource != f"{ALL}/*":
            yield f"{resource} is not a wildcard"
    for group in rule.api_groups:
        if "/" in group:
            yield f"{group} includes a version, but rules take only the API group"
    resources = survey.catalogue.resources
    built_in = survey.once("built-in groups", lambda: {one.group for one in resources() if not one.custom})
    if rule.resources and set(rule.api_groups) <= built_in:
        for verb in rule.verbs:
            if verb not in (*REQUEST_VERBS, *SPECIAL_VERBS, ALL):
                yield f"no request has the verb {verb}"


def _why_dead(survey: Survey, rule: Rule, bindings: list[Binding], *, changes: bool) -> str:
    literal = [one for one in rule.resources if one.endswith("/*")]
    if literal and len(literal) == len(rule.resources):
        return f"{literal[0]} is not a wildcard; name each subresource, or write */name"
    top_level = all("/" not in resource for resource in rule.resources)
    if rule.resource_names and top_level and set(rule.verbs) <= {"create", "deletecollection"}:
        if "create" not in rule.verbs:
            return "deletecollection requests do not name an object, so resourceNames never match them"
        if not changes:  # an apply, or an update that creates, is checked for create with the name
            return "create requests name an object only in server-side apply, for which the role lacks patch"
    local = bool(bindings) and all(binding.key.resource != CLUSTER_ROLE_BINDINGS for binding in bindings)
    if local and not is_effective(rule, bindings[0].namespace, survey.catalogue):
        return "a RoleBinding cannot grant access to URLs or to cluster-scoped resources"
    return ""


def unknown_resources(survey: Survey, check: Check) -> Iterator[Finding]:
    """Rules of bound roles about resources that a known group does not have in the release."""
    served = {(one.group, one.resource) for one in survey.catalogue.resources()}
    groups = {group for group, _ in served}
    served |= {(one.api_group, name) for name, one in AUTHORIZATION_RESOURCES.items()}
    for role in sorted({binding.role for binding in survey.bindings}):
        for number, rule in enumerate(survey.rules(role)):
            plurals = dict.fromkeys(resource.partition("/")[0] for resource in rule.resources)
            unknown = [one for one in plurals if one != ALL and served.isdisjoint(product(rule.api_groups, (one,)))]
            if unknown and groups.issuperset(rule.api_groups):
                named = listed(group or "the core group" for group in rule.api_groups)
                yield check.finding(
                    f"Rule {number} of {display_name(role)} names {listed(unknown)}, which {named} does not serve.",
                    namespace=role.namespace,
                    role=role,
                    rules=(number,),
                )


STALE: Final = (
    *("missing-role", "missing-account", "missing-namespace", "empty-binding", "duplicate-binding", "unused-role"),
    "dead-rule",
)
"""The checks for leftovers: what nobody needs, and what names an object that does not exist."""


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
    own, wanted = rules_of(obj), rules_of(default)
    more, less = uncovered(wanted, own), uncovered(own, wanted)
    for word, rules, severity in (("more", more, check.severity), ("less", less, Severity.INFO)):
        if rules:
            told = listed(map(rule_text, rules), 3)
            yield check.finding(
                f"{display_name(key)} allows {word} than the Kubernetes default: {told}.",
                severity=severity,
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


LOOSE_CHECKS: Final = (
    described_check("missing-role", missing_roles),
    described_check("missing-account", missing_accounts, (*RBAC, SERVICE_ACCOUNTS, NAMESPACES)),
    described_check("missing-namespace", missing_namespaces, (*RBAC, NAMESPACES)),
    described_check("aggregation", aggregated),
    described_check("duplicate-binding", duplicate_bindings),
    described_check("empty-binding", empty_bindings),
    described_check("unused-role", unused_roles),
    described_check("dead-rule", dead_rules),
    described_check("unknown-resource", unknown_resources, (*RBAC, DEFINITIONS)),
    described_check("default-drift", changed_defaults),
    described_check("subsumed-binding", subsumed_bindings),
)
"""The checks, in the order of a report."""
