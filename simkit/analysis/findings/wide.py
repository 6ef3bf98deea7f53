"""Checks of grants that are too wide: administrators, wildcards, everybody, default accounts, escalation paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import (
    Check,
    Finding,
    account_manifest,
    binding_evidence,
    delete_command,
    described_check,
    pods_run,
)
from simkit.analysis.findings.survey import NAMESPACE_ROLES, Survey, is_everybody, listed
from simkit.analysis.findings.workloads import pods_by_account
from simkit.analysis.rbac.index import MASTERS_GROUP, principals_of
from simkit.analysis.rbac.objects import PODS, RBAC, display_name
from simkit.analysis.rbac.subject import normalize_subject, parse_subject, text_of
from simkit.analysis.rbac.tables import rule_text
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Binding, Subject
from simkit.logic.rbac.rule import ALL, Rule
from simkit.meta.domain import SYSTEM_NAMESPACE
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED
from simkit.meta.names import Key
from simkit.seams.authorization import GRANTS


def administrators(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings to roles that allow everything."""
    for binding in survey.bindings:
        if binding.role in survey.full_roles and binding.subjects:
            where = f"in namespace {binding.namespace}" if binding.namespace else "in the whole cluster"
            yield check.finding(
                f"{listed(map(normalize_subject, binding.subjects))} can do anything {where}: "
                f"{display_name(binding.key)} grants {display_name(binding.role)}.",
                severity=Severity.HIGH if binding.namespace else Severity.CRITICAL,
                **binding_evidence(binding),
                command=delete_command(binding.key),
            )


def namespace_administrators(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings of the default edit and admin roles in a namespace."""
    for binding in survey.bindings:
        if binding.namespace and binding.role in NAMESPACE_ROLES and binding.subjects:
            system = binding.namespace == SYSTEM_NAMESPACE
            yield check.finding(
                f"{listed(map(normalize_subject, binding.subjects))} can read secrets, run commands in pods "
                f"and act as any service account in namespace {binding.namespace}: {display_name(binding.key)} grants "
                f"{display_name(binding.role)}.",
                severity=Severity.HIGH if system else Severity.LOW,
                **binding_evidence(binding),
            )


def wildcards(survey: Survey, check: Check) -> Iterator[Finding]:
    """Rules of bound roles with ``*`` as verb, or with ``*`` as resource or group together with a verb that writes."""
    for role in sorted({binding.role for binding in survey.bindings} - survey.full_roles):
        numbers = tuple(number for number, rule in enumerate(survey.rules(role)) if _is_wide(rule))
        bindings = [one for one in survey.bindings if one.role == role and one.subjects] if numbers else []
        if bindings:
            yield _wildcard(survey, check, role, numbers, bindings)


def _wildcard(survey: Survey, check: Check, role: Key, numbers: tuple[int, ...], bindings: list[Binding]) -> Finding:
    rules = [survey.rules(role)[number] for number in numbers]
    anything = any(ALL in rule.resources and ALL in rule.api_groups for rule in rules)
    everywhere = any(not binding.namespace for binding in bindings)
    subjects = tuple(dict.fromkeys(normalize_subject(subject) for binding in bindings for subject in binding.subjects))
    shown = "; ".join(rule_text(rule) for rule in rules[:2])
    more = f" and {len(rules) - 2} more" if len(rules) > 2 else ""
    severity = (Severity.HIGH if everywhere else Severity.MEDIUM) if anything else Severity.LOW
    return check.finding(
        f"{display_name(role)} allows {shown}{more}. It is granted to {listed(subjects)}.",
        severity=severity,
        namespace=role.namespace,
        binding=bindings[0].key,
        role=role,
        rules=numbers,
        subjects=subjects,
    )


def _is_wide(rule: Rule) -> bool:
    return bool(rule.resources) and ALL in (*rule.verbs, *rule.resources, *rule.api_groups)


def everybody(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings to groups that contain everybody, or that need no credential."""
    for binding in survey.bindings:
        named = [subject for subject in binding.subjects if is_everybody(subject)]
        rules = survey.rules(binding.role)
        if named and rules:
            yield check.finding(
                f"{display_name(binding.key)} grants {display_name(binding.role)} to {listed(named)}: "
                f"{'; '.join(rule_text(rule) for rule in rules[:3])}{' ...' if len(rules) > 3 else ''}.",
                severity=_how_bad(named, rules),
                **binding_evidence(binding, *named),
                command=delete_command(binding.key),
            )


def _how_bad(named: list[Subject], rules: tuple[Rule, ...]) -> Severity:
    """The severity of access for everybody: worst for anonymous users except single reads, then writing, reading,
    URLs."""
    nameless = any(subject.name in (UNAUTHENTICATED, ANONYMOUS) for subject in named)
    if not any(rule.resources for rule in rules):
        return Severity.MEDIUM if nameless else Severity.LOW
    if nameless:
        published = all(rule.resource_names and set(rule.verbs) <= {"get"} for rule in rules if rule.resources)
        return Severity.MEDIUM if published else Severity.CRITICAL
    writes = any(set(rule.verbs) - {"get", "list", "watch"} for rule in rules if rule.resources)
    return Severity.HIGH if writes else Severity.MEDIUM


def always_allowed(survey: Survey, check: Check) -> Iterator[Finding]:
    """The authorizer AlwaysAllow, which no role or binding can restrict."""
    authorization = survey.snapshot.authorization
    if authorization.allows_everything:
        modes = ",".join(authorization.modes)
        yield check.finding(
            f"kube-apiserver runs with --authorization-mode={modes}, so everyone can do anything.",
            subjects=(Subject(GROUP, AUTHENTICATED), Subject(GROUP, UNAUTHENTICATED)),
        )


def default_accounts(survey: Survey, check: Check) -> Iterator[Finding]:
    """Bindings that name a namespace's default service account."""
    for binding in survey.bindings:
        named = [
            one
            for one in map(normalize_subject, binding.subjects)
            if (one.kind, one.name) == (SERVICE_ACCOUNT, "default")
        ]
        if named:
            yield check.finding(
                f"{display_name(binding.key)} grants {display_name(binding.role)} to {listed(named)}, and so to "
                "every pod there that does not name a service account.",
                severity=Severity.MEDIUM if binding.namespace else Severity.HIGH,
                **binding_evidence(binding, *named),
                manifest=account_manifest(named[0].namespace, f"{binding.key.name.replace(':', '-')}-user"),
            )


def admin_pods(survey: Survey, check: Check) -> Iterator[Finding]:
    """Pods that run as a service account with all permissions in the whole cluster."""
    pods = pods_by_account(survey)
    for binding in survey.bindings:
        if binding.namespace or binding.role not in survey.full_roles:
            continue
        for subject in map(normalize_subject, binding.subjects):
            if subject in pods:
                names = pods[subject]
                yield check.finding(
                    f"{pods_run(names)} as {text_of(subject)}, "
                    f"which {display_name(binding.key)} makes a cluster administrator.",
                    **{**binding_evidence(binding, subject), "namespace": subject.namespace},
                )


def cloud_administrators(survey: Survey, check: Check) -> Iterator[Finding]:
    """Service accounts whose pods can become a principal of the provider that administers the cluster."""
    access = survey.snapshot.authorization.access
    for namespace, account, principal in access.pod_roles if access is not None else ():
        who = Subject(USER, principal)
        every = principals_of(who, survey.members)
        grants = (grant for one in every for grant in survey.index.grants_of_subject(one) if not grant.namespace)
        grant = next((one for one in grants if one.role in survey.full_roles), None)
        if grant is not None or MASTERS_GROUP in every:
            by = display_name(grant.binding) if grant is not None else f"its membership in {text_of(MASTERS_GROUP)}"
            pod = Subject(SERVICE_ACCOUNT, account, namespace)
            yield check.finding(
                f"Pods that run as {text_of(pod)} can become {text_of(who)}, which {by} makes a cluster administrator.",
                namespace=namespace,
                binding=grant.binding if grant is not None else None,
                role=grant.role if grant is not None else None,
                subjects=(pod,),
            )


def cloud_masters(survey: Survey, check: Check) -> Iterator[Finding]:
    """Principals of the provider that it makes members of ``system:masters``, all in one finding."""
    access = survey.snapshot.authorization.access
    names = access.members().get(MASTERS_GROUP.name, ()) if access is not None else ()
    if access is not None and names:
        subjects = tuple(map(parse_subject, names))
        yield check.finding(
            f"{access.provider} lets {listed(subjects)} become members of {text_of(MASTERS_GROUP)}.", subjects=subjects
        )


def cloud_trust(survey: Survey, check: Check) -> Iterator[Finding]:
    """Principals of the provider that trust more than single principals or service accounts."""
    access = survey.snapshot.authorization.access
    for name, whom in access.trusts if access is not None else ():
        who = Subject(USER, name)
        yield check.finding(f"{text_of(who)} can be assumed by {whom}.", subjects=(who,))


def cloud_changes(survey: Survey, check: Check) -> Iterator[Finding]:
    """Principals of the provider that may give themselves all access, as its policies say."""
    access = survey.snapshot.authorization.access
    if access is None:
        return
    for text, certain in access.changers:
        who, how = parse_subject(text), f"may make itself an administrator by an {GRANTS[access.provider][0]}"
        told = f"{text_of(who)} {how}." if certain else f"Whether {text_of(who)} {how} is not known."
        yield check.finding(told, severity=Severity.HIGH if certain else Severity.MEDIUM, subjects=(who,))


ESCALATION_PATH: Final = "escalation-path"
"""The id of the check."""


def escalation_paths(survey: Survey, check: Check) -> Iterator[Finding]:
    """One finding for all paths whose first step has the same grants."""
    grouped: dict[tuple[Any, ...], list[Path]] = {}
    for path in escalations(survey.snapshot, include_defaults=True, members=survey.members):
        sources = next(iter(path.grants), ())
        if not sources or not all(survey.is_set_aside(one.binding, one.role) for one in sources):
            granted = tuple((one.binding, one.role, one.rule) for one in sources)
            grouped.setdefault((path.primitives[:1], granted), []).append(path)
    for paths in grouped.values():
        yield _finding(check, paths, next(iter(paths[0].grants), ()))


def _finding(check: Check, paths: Sequence[Path], sources: Sequence[GrantSource]) -> Finding:
    first = paths[0]
    subjects = tuple(dict.fromkeys(path.start.subject for path in paths if path.start.subject is not None))
    goals = ", ".join(dict.fromkeys(path.goal.name for path in paths))
    evidence: dict[str, Any] = {"subjects": subjects}
    granted = ""
    if sources:
        source = sources[0]
        evidence |= {"binding": source.binding, "role": source.role, "rules": (source.rule,)}
        evidence["namespace"] = source.binding.namespace
        granted = f" because {display_name(source.binding)} grants {display_name(source.role)}"
    names = listed(dict.fromkeys(path.subject for path in paths))
    return check.finding(
        f"{names} can reach {goals}{granted}: {first.words}.",
        severity=max(Severity.HIGH, *(path.severity for path in paths)),
        fix=first.steps[0].primitive.mitigation if first.steps else check.fix,
        **evidence,
    )


WIDE_CHECKS: Final = (
    described_check("always-allow", always_allowed, ()),
    described_check("cluster-admin", administrators),
    described_check("namespace-admin", namespace_administrators),
    described_check("admin-pods", admin_pods, (*RBAC, PODS)),
    described_check("cloud-admin", cloud_administrators),
    described_check("cloud-masters", cloud_masters),
    described_check("cloud-trust", cloud_trust),
    described_check("cloud-changes", cloud_changes),
    described_check("everybody", everybody),
    described_check("default-account", default_accounts),
    described_check("wildcard", wildcards),
    described_check(ESCALATION_PATH, escalation_paths),
)
"""The checks, in the order of a report."""
