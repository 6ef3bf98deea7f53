"""Checks of what namespaces lack: a level of pod security where others may make pods, and network policies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding, described_check
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.objects import NAMESPACES, PODS, RBAC
from simkit.analysis.rbac.subject import EVERYONE, normalize_subject
from simkit.analysis.rendering import counted
from simkit.logic.rbac.binding import Subject
from simkit.logic.rbac.question import Question
from simkit.logic.workloads.pods import has_ended
from simkit.meta.domain import SYSTEM_NAMESPACE, api_group, label
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, labels_of, name_of, namespace_of
from simkit.present.escaping import kubectl_command

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


NAMESPACE_CHECKS: Final = (
    described_check("pod-security", open_to_privileged_pods, (*RBAC, NAMESPACES)),
    described_check("network-policy", without_network_policy, (*RBAC, NAMESPACES, PODS, NETWORK_POLICIES)),
)
"""In the order of a report."""
