"""Checks of pods and their service accounts: dangerous pods, unused accounts, tokens that nothing needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.analysis.escalation.find.pod_specs import POD_SPECS, account_named
from simkit.analysis.escalation.table.risky_permission import risky_permission_table
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding, account_manifest, described_check, pods_run
from simkit.analysis.findings.holders import holders
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.default_objects import control_plane
from simkit.analysis.rbac.objects import PODS, RBAC, SERVICE_ACCOUNTS, display_name
from simkit.analysis.rbac.subject import text_of
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, Binding, Subject
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.identity import SERVICE_ACCOUNTS as ALL_ACCOUNTS
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.seams.snapshot import Snapshot

_TEMPLATES: Final = {
    GroupResource("", "podtemplates"): ("template", "spec"),
    **{resource: path for resource, path in POD_SPECS.items() if resource != PODS},
}
"""The path to the pod specification in each resource that creates pods."""


def dangerous_pods(survey: Survey, check: Check) -> Iterator[Finding]:
    """Pods whose account has a risky permission in the whole cluster without being an administrator."""
    pods = pods_by_account(survey)
    held: dict[Subject, dict[str, tuple[Severity, Any]]] = defaultdict(dict)
    for permission in risky_permission_table().permissions if pods else ():
        for (subject, namespace), holding in holders(survey, permission).items():
            severity = holding.severity(namespace) if not namespace and subject in pods else None
            if severity is not None and severity >= Severity.HIGH:
                held[subject][permission.title.lower()] = (severity, holding.grants[0].grant)
    for subject, permissions in held.items():
        worst, grant = max(permissions.values(), key=lambda each: each[0])
        yield check.finding(
            f"{pods_run(pods[subject])} as {text_of(subject)}, which {listed(list(permissions), 3)}.",
            severity=min(worst, check.severity),
            namespace=subject.namespace,
            binding=grant.binding,
            role=grant.role,
            subjects=(subject,),
        )


def unused_accounts(survey: Survey, check: Check) -> Iterator[Finding]:
    """Service accounts with bindings of their own which no pod runs as and no template names.

    The control plane's own controllers run in no pods, and count as used.
    """
    used = accounts_in_use(survey)
    bindings: dict[Subject, list[Binding]] = defaultdict(list)
    for binding in survey.bindings:
        for subject in binding.subjects:
            bindings[subject].append(binding)
    for obj in survey.snapshot.scan(SERVICE_ACCOUNTS):
        subject = Subject(SERVICE_ACCOUNT, name_of(obj), namespace_of(obj))
        found = bindings.get(subject)
        if found and subject not in used:
            if not has_pods(survey.snapshot):
                raise IncompleteSnapshot([PODS])
            first = found[0]
            roles = listed(dict.fromkeys(display_name(one.role) for one in found), 3)
            yield check.finding(
                f"No pod runs as {text_of(subject)} and no workload names it, but it is granted {roles}.",
                severity=Severity.MEDIUM if any(one.role in survey.full_roles for one in found) else check.severity,
                namespace=subject.namespace,
                binding=first.key,
                role=first.role,
                subjects=(subject,),
            )


def has_pods(snapshot: Snapshot) -> bool:
    """True if the snapshot has a pod, so that it shows what runs; every running cluster has some."""
    return PODS in snapshot.captured() and next(iter(snapshot.scan(PODS)), None) is not None


def accounts_in_use(survey: Survey) -> frozenset[Subject]:
    """The accounts that pods run as, that templates of pods name, and those of the server's own controllers."""

    def found() -> frozenset[Subject]:
        running = pods_by_account(survey).keys()
        return frozenset((*running, *_named_in_templates(survey), *control_plane(survey.snapshot.release)))

    known: frozenset[Subject] = survey.once("accounts in use", found)
    return known


def needless_tokens(survey: Survey, check: Check) -> Iterator[Finding]:
    """Pods that mount the token of an account with no more access than everybody has."""
    for subject, (obj, names) in sorted(_mounting(survey).items()):
        if not _is_bound(survey, subject):
            manifest = dict(account_manifest(subject.namespace, subject.name))
            yield check.finding(
                f"{pods_run(names)} with the token of {text_of(subject)}, which no binding names.",
                namespace=subject.namespace,
                subjects=(subject,),
                manifest=manifest if obj is not None else None,
            )


def _is_bound(survey: Survey, subject: Subject) -> bool:
    """True if a binding names the account or the group of its namespace's accounts."""
    group = Subject(GROUP, f"{ALL_ACCOUNTS}:{subject.namespace}")
    return any(next(iter(survey.index.grants_of_subject(one)), None) is not None for one in (subject, group))


def _mounting(survey: Survey) -> Mapping[Subject, tuple[Object | None, list[str]]]:
    """The pods that mount a token, by account, with the account object if it exists."""
    known: Mapping[Subject, tuple[Object | None, list[str]]] = survey.once("mounting", lambda: _found_mounting(survey))
    return known


def _found_mounting(survey: Survey) -> Mapping[Subject, tuple[Object | None, list[str]]]:
    accounts = {(namespace_of(obj), name_of(obj)): obj for obj in survey.snapshot.scan(SERVICE_ACCOUNTS)}
    found: dict[Subject, tuple[Object | None, list[str]]] = {}
    for pod in survey.snapshot.scan(PODS):
        subject = _account_of(pod)
        obj = accounts.get((subject.namespace, subject.name))
        wanted = at(pod, "spec", "automountServiceAccountToken")
        if wanted is None:
            wanted = (obj or {}).get("automountServiceAccountToken")
        if wanted is not False:
            found.setdefault(subject, (obj, []))[1].append(name_of(pod))
    return found


def pods_by_account(survey: Survey) -> Mapping[Subject, list[str]]:
    """The names of the pods that run as each service account."""

    def found() -> Mapping[Subject, list[str]]:
        pods: dict[Subject, list[str]] = defaultdict(list)
        for pod in survey.snapshot.scan(PODS):
            pods[_account_of(pod)].append(name_of(pod))
        return pods

    known: Mapping[Subject, list[str]] = survey.once("pods by account", found)
    return known


def _account_of(pod: Object) -> Subject:
    return Subject(SERVICE_ACCOUNT, account_named(pod), namespace_of(pod))


def _named_in_templates(survey: Survey) -> set[Subject]:
    """The accounts that captured pod templates name."""
    found = set()
    for resource in _TEMPLATES.keys() & set(survey.snapshot.captured()):
        for obj in survey.snapshot.scan(resource):
            found.add(Subject(SERVICE_ACCOUNT, account_named(obj, _TEMPLATES[resource]), namespace_of(obj)))
    return found


WORKLOAD_CHECKS: Final = (
    described_check("power-pods", dangerous_pods, (*RBAC, PODS)),
    described_check("unused-account", unused_accounts, (*RBAC, PODS, SERVICE_ACCOUNTS)),
    described_check("needless-token", needless_tokens, (*RBAC, PODS, SERVICE_ACCOUNTS)),
)
"""The checks, in the order of a report."""
