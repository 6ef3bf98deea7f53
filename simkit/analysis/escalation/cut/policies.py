"""Policies as changes: levels of pod security, and admission policies about service accounts of pods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar, Final, Literal

import orjson

from simkit.analysis.catalogue import POLICIES, POLICY_BINDINGS, binding_object, catalogue_of, policy_object
from simkit.analysis.escalation.cut.remedy import Remedy, as_written, stored
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.enabling import enables_escalation
from simkit.analysis.escalation.find.facts import ENFORCE, ClusterFacts
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.pod_specs import ACCOUNT, DEFAULT, POD_SPECS, account_named
from simkit.analysis.escalation.table.primitive import requirements_of
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.rbac.objects import NAMESPACES, PODS
from simkit.analysis.rbac.subject import is_principal, text_of
from simkit.analysis.rendering import counted, first_of
from simkit.logic.podsecurity.evaluate import violations
from simkit.logic.podsecurity.policy import LevelVersion
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, Subject
from simkit.logic.workloads.pods import has_ended
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.identity import service_account_user
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, labels_of, name_of
from simkit.seams.snapshot import Snapshot

Level = Literal["privileged", "baseline", "restricted"]
BASELINE: Final = "baseline"
OPEN_NAMESPACE: Final = "unrestricted-namespace"
"""The condition of primitives that need a namespace which lets privileged pods in."""
SHOWN: Final = 3
API_VERSION: Final = f"{ADMISSION_GROUP}/v1"
_LONGEST_NAME: Final = 63


@dataclass(frozen=True, order=True)
class EnforceLevel:
    """Enforce a level of pod security in a namespace."""

    kind: ClassVar[str] = "enforce pod security"
    namespace: str
    level: Level = BASELINE

    def __str__(self) -> str:
        return f"enforce the {self.level} pod security level in namespace {self.namespace}"

    @property
    def key(self) -> Key:
        """The key of the namespace."""
        return Key(NAMESPACES, "", self.namespace)

    def refused(self, snapshot: Snapshot) -> tuple[str, ...]:
        """The running pods of the namespace that the level would refuse if they were made again."""
        wanted = LevelVersion(self.level)

        def is_refused(pod: Object) -> bool:
            return bool(violations(wanted, pod.get("metadata") or {}, pod.get("spec") or {}, snapshot.behaviour))

        return tuple(name_of(pod) for pod in _running(snapshot, self.namespace) if is_refused(pod))

    def remedy(self, snapshot: Snapshot) -> Remedy:
        """The namespace with the label that enforces the level, and the workloads that this may break."""
        known: Object = stored(snapshot, self.key) or {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.namespace},
        }
        written = as_written(known)
        labels = {**labels_of(known), ENFORCE: self.level}
        change = Change(self.key, {**written, "metadata": {**written["metadata"], "labels": labels}})
        refused, risk = self.refused(snapshot), f"it refuses no running pod of {self.namespace}"
        if refused:
            pods = f"{counted(len(refused), 'running pod')} of {self.namespace}"
            risk = f"{pods} could not be recreated: {first_of(refused, SHOWN)}"
        return Remedy(sentence(self), risk, (change,), (), snapshot)

    def stops(self, edge: Edge) -> bool:
        """True if a step is no longer possible by it: one that makes a privileged pod there, and could nowhere else."""
        return (
            bool(edge.primitive)
            and edge.variant.condition == OPEN_NAMESPACE
            and edge.value("namespace") == self.namespace
            and _is_bound_to(self.namespace, edge)
        )


def _is_bound_to(namespace: str, edge: Edge) -> bool:
    """True if what a step needs is held in one namespace only: by bindings there, or by being in it."""
    granted = [source for requirement in edge.granted_by for source in requirement]
    if not granted:
        return edge.source.namespace == namespace and edge.source.namespace != states.ALL
    return all(any(source.binding.namespace == namespace for source in some) for some in edge.granted_by if some)


@dataclass(frozen=True, order=True)
class RefuseAccounts:
    """Refuse the pods and workloads of a subject in a namespace that run as some service accounts."""

    kind: ClassVar[str] = "admission policy"
    subject: Subject
    namespace: str
    accounts: tuple[str, ...]

    def __str__(self) -> str:
        named = first_of(self.accounts, SHOWN)
        return f"refuse pods of {text_of(self.subject)} in namespace {self.namespace} that run as {named}"

    @property
    def name(self) -> str:
        """The name of the policy, and of its binding."""
        words = f"accounts-of-{self.namespace}-not-for-{text_of(self.subject)}"
        plain = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
        if len(plain) <= _LONGEST_NAME and plain == words.replace(":", "-"):
            return plain
        return f"{plain[: _LONGEST_NAME - 9].rstrip('-')}-{sha256(words.encode()).hexdigest()[:8]}"

    @property
    def key(self) -> Key:
        """The key of the policy."""
        return Key(POLICIES, "", self.name)

    def running(self, snapshot: Snapshot) -> tuple[str, ...]:
        """The running pods of the namespace with one of the accounts."""
        pods = _running(snapshot, self.namespace)
        return tuple(name_of(pod) for pod in pods if account_named(pod) in self.accounts)

    def remedy(self, snapshot: Snapshot) -> Remedy:
        """The policy with its binding, and the workloads that they may break."""
        running, risk = self.running(snapshot), f"no running pod in {self.namespace} uses one of these service accounts"
        if running:
            risk = (
                f"{counted(len(running), 'running pod')} in {self.namespace} run as these service accounts: "
                f"{first_of(running, SHOWN)}; {text_of(self.subject)} will not be able to create or change their "
                "workloads"
            )
        binding = binding_object(self.name, {"policyName": self.name, "validationActions": ["Deny"]})
        changes = Change(self.key, _policy(self)), Change(Key(POLICY_BINDINGS, "", self.name), binding)
        return Remedy(sentence(self), risk, changes, (self.subject,), snapshot)


def _running(snapshot: Snapshot, namespace: str) -> Iterable[Object]:
    """The running pods of a namespace."""
    pods = snapshot.scan(PODS, namespace) if PODS in snapshot.captured() else ()
    return (pod for pod in pods if not has_ended(pod))


def sentence(change: object) -> str:
    """A change in words, as a sentence."""
    text = str(change)
    return f"{text[0].upper()}{text[1:]}."


def refusing(facts: ClusterFacts, edge: Edge) -> RefuseAccounts | None:
    """The policy by which a step does not lead to powerful accounts any more; None if none can be written.

    It can for steps of a subject with rights in one namespace, that make pods or workloads and need nothing else.
    """
    subject, namespace = edge.source.subject, edge.value("namespace")
    if subject is None or not edge.primitive or namespace in ("", states.ALL) or edge.source.impersonated:
        return None
    if is_principal(subject):  # whose requests carry another name
        return None
    if edge.variant.outcome != "accounts" or not _makes_pods(edge, facts.release):
        return None
    if any(source.binding.namespace != namespace for some in edge.granted_by for source in some):
        return None
    accounts = facts.once(_powerful_accounts)
    named = tuple(one.name for one in accounts if one.namespace == namespace and one != subject)
    return RefuseAccounts(subject, namespace, named) if named and is_served(facts.snapshot) else None


def is_served(snapshot: Snapshot) -> bool:
    """True if the release has admission policies in their stable version."""
    found = catalogue_of(snapshot).preferred(POLICIES)
    return found is not None and found.api_version == API_VERSION


def _makes_pods(edge: Edge, release: str) -> bool:
    """True if one of the requirements of a step is met by making or changing what makes pods, and by nothing else."""
    needs = requirements_of(edge.primitive, edge.number, release)
    return any(
        all(GroupResource(one.permission.group, one.permission.resource) in POD_SPECS for one in need.any_of)
        for need in needs
    )


def _powerful_accounts(facts: ClusterFacts) -> Iterable[Subject]:
    """The service accounts whose own grants lead further."""
    for some in facts.accounts.values():
        for account in some:
            rules = tuple(rule for grant in facts.grants(account) for rule in grant.rules)
            if rules and enables_escalation(rules, facts.release):
                yield account


def _policy(one: RefuseAccounts) -> Mapping[str, Any]:
    refused = [*one.accounts, *([""] if DEFAULT in one.accounts else [])]
    validation = {
        "expression": f"!(variables.account in [{', '.join(map(_quoted, refused))}])",
        "message": f"{text_of(one.subject)} may not run pods as this service account",
        "reason": "Forbidden",
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": list(_rules())},
        "matchConditions": [
            {"name": "namespace", "expression": f"request.namespace == {_quoted(one.namespace)}"},
            {"name": "subject", "expression": _is_subject(one.subject)},
        ],
        "variables": [{"name": "account", "expression": _account()}],
        "validations": [validation],
    }
    return policy_object(one.name, spec)


def _rules() -> Iterable[Mapping[str, Any]]:
    by_group: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for resource in POD_SPECS:
        operations = ("CREATE",) if resource == PODS else ("CREATE", "UPDATE")
        by_group.setdefault((resource.group, operations), []).append(resource.resource)
    for (group, allowed), resources in by_group.items():
        rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": list(allowed), "resources": resources}
        yield rule


def _is_subject(subject: Subject) -> str:
    if subject.kind == GROUP:
        return f"has(request.userInfo.groups) && {_quoted(subject.name)} in request.userInfo.groups"
    name = service_account_user(subject.namespace, subject.name) if subject.kind == SERVICE_ACCOUNT else subject.name
    return f"has(request.userInfo.username) && request.userInfo.username == {_quoted(name)}"


def _account() -> str:
    """The expression for the account of whatever makes pods."""
    cron, workload = "object.spec.jobTemplate", "object.spec.template"
    return (
        f"has({cron}) ? {_named(f'{cron}.spec.template.spec')} : "
        f"has({workload}) ? {_named(f'{workload}.spec')} : {_named('object.spec')}"
    )


def _named(spec: str) -> str:
    return f"(has({spec}.{ACCOUNT}) ? {spec}.{ACCOUNT} : {_quoted(DEFAULT)})"


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()
