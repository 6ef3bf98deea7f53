"""Checks of pods, their service accounts and namespaces: dangerous pods, unused accounts, tokens that nothing needs, no
pod security, no network policies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from simkit.analysis.escalation.find.pod_specs import account_named
from simkit.analysis.escalation.table.risky_permission import risky_permission_table
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding, account_manifest, described_check, pods_run
from simkit.analysis.findings.holders import holders
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.default_objects import control_plane
from simkit.analysis.rbac.objects import NAMESPACES, PODS, RBAC, SERVICE_ACCOUNTS, display_name
from simkit.analysis.rbac.subject import EVERYONE, normalize_subject, text_of
from simkit.analysis.rendering import counted
from simkit.logic.podsecurity.evaluate import POD_TEMPLATES
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, Binding, Subject
from simkit.logic.rbac.question import Question
from simkit.logic.workloads.pods import has_ended
from simkit.meta.domain import SYSTEM_NAMESPACE, api_group, label
from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.identity import SERVICE_ACCOUNTS as ALL_ACCOUNTS
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, labels_of, name_of, namespace_of
from simkit.present.escaping import kubectl_command
from simkit.seams.snapshot import Snapshot

_TEMPLATES: Final = {resource: (*path, "spec") for resource, path in POD_TEMPLATES.items()}
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
    own = control_plane(survey.snapshot.release)
    return survey.once(
        "accounts in use", lambda: frozenset((*pods_by_account(survey), *_named_in_templates(survey), *own))
    )


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

    return survey.once("pods by account", found)


def _account_of(pod: Object) -> Subject:
    return Subject(SERVICE_ACCOUNT, account_named(pod), namespace_of(pod))


def _named_in_templates(survey: Survey) -> set[Subject]:
    """The accounts that captured pod templates name."""
    found = set()
    for resource in _TEMPLATES.keys() & set(survey.snapshot.captured()):
        for obj in survey.snapshot.scan(resource):
            found.add(Subject(SERVICE_ACCOUNT, account_named(obj, _TEMPLATES[resource]), namespace_of(obj)))
    return found


ENFORCE: Final = label("enforce", "pod-security")
NETWORK_POLICIES: Final = GroupResource(api_group("networking"), "networkpolicies")
OPEN: Final = ("", "privileged")
"""The levels that let privileged pods in."""
LEAST: Final = "baseline"
"""The least level that keeps them out."""


def open_to_privileged_pods(survey: Survey, check: Check) -> Iterator[Finding]:
    """Namespaces without a level of pod security in which a binding there lets somebody make pods."""
    makers_of = _makers(survey)
    for obj in survey.snapshot.scan(NAMESPACES):
        name, level = name_of(obj), labels_of(obj).get(ENFORCE, "")
        if name == SYSTEM_NAMESPACE or level not in OPEN:
            continue
        makers = tuple(makers_of.get(name, ()))
        if makers:
            everybody = any(subject.name.startswith(EVERYONE) for subject in makers)
            yield check.finding(
                f"{listed(makers)} may make pods in namespace {name}, which "
                f"{'enforces the level privileged' if level else 'enforces no level of pod security'}: such a pod can "
                "have the host's disk and processes.",
                severity=Severity.HIGH if everybody else check.severity,
                namespace=name,
                subjects=makers,
                manifest=labelled(obj, LEAST),
                command=kubectl_command("label", "namespace", name, "", f"{ENFORCE}={LEAST}", "--overwrite"),
            )


def _makers(survey: Survey) -> Mapping[str, Collection[Subject]]:
    """The subjects that may create pods in each namespace by a binding there."""
    found: dict[str, dict[Subject, None]] = defaultdict(dict)
    for grant, _ in survey.who(Question("create", "", "pods", namespace=None)):
        if grant.namespace:
            found[grant.namespace][normalize_subject(grant.subject)] = None
    return found


def labelled(namespace: Object, level: str) -> Mapping[str, Any]:
    """A namespace as an object to apply that enforces a level of pod security."""
    metadata = {"name": name_of(namespace), "labels": {**labels_of(namespace), ENFORCE: level}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def without_network_policy(survey: Survey, check: Check) -> Iterator[Finding]:
    """Namespaces with running pods and no network policy."""
    limited = {namespace_of(obj) for obj in survey.snapshot.scan(NETWORK_POLICIES)}
    pods = Counter(namespace_of(pod) for pod in survey.snapshot.scan(PODS) if not has_ended(pod))
    for name in sorted(pods.keys() - limited - {SYSTEM_NAMESPACE}):
        yield check.finding(
            f"{counted(pods[name], 'pod')} of namespace {name} can be reached from every pod of the cluster, and can "
            "reach every pod.",
            namespace=name,
            manifest=deny_all(name),
        )


def deny_all(namespace: str) -> Mapping[str, Any]:
    """A network policy that lets no traffic into the pods of a namespace but from that namespace."""
    own: Mapping[str, Any] = {"from": [{"podSelector": {}}]}
    return {
        "apiVersion": f"{NETWORK_POLICIES.group}/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "within-the-namespace", "namespace": namespace},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [own]},
    }


WORKLOAD_CHECKS: Final = (
    described_check("power-pods", dangerous_pods, (*RBAC, PODS)),
    described_check("unused-account", unused_accounts, (*RBAC, PODS, SERVICE_ACCOUNTS)),
    described_check("needless-token", needless_tokens, (*RBAC, PODS, SERVICE_ACCOUNTS)),
    described_check("pod-security", open_to_privileged_pods, (*RBAC, NAMESPACES)),
    described_check("network-policy", without_network_policy, (*RBAC, NAMESPACES, PODS, NETWORK_POLICIES)),
)
"""The checks, in the order of a report."""
