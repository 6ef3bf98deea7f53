"""Admission policies that close an escalation path where taking the right away would break what needs it.

A policy is returned only if it is checked: the path's proof fails on a fork where it is in force, nothing that its
subject runs or has asked for is refused, and its expressions have no type warnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.admission.policies import policy_effect
from simkit.analysis.audit_log.events import AuditLog, read_events
from simkit.analysis.catalogue import binding_object, catalogue_of, policy_object
from simkit.analysis.escalation.find.path import Path as EscalationPath
from simkit.analysis.escalation.find.pod_specs import POD_SPECS
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.escalation.prove.proof import NOT_PROVEN, prove
from simkit.analysis.escalation.prove.session import SOMEBODY, member_of
from simkit.analysis.findings.check import Finding
from simkit.analysis.prove.policy import CheckedPolicy
from simkit.analysis.rbac.index import chain_of
from simkit.analysis.rbac.subject import identity_of, is_principal
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted, text_lines
from simkit.analysis.result import Result
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.logic.policy.typecheck import expression_warnings
from simkit.logic.rbac.binding import GROUP
from simkit.meta.attributes import ALLOW, Attributes
from simkit.meta.domain import label
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, Identity, administrator
from simkit.meta.message import Request
from simkit.meta.objects import Object, name_of
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.releases import minor_of
from simkit.seams.snapshot import Sandbox, Snapshot

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("validation", "resource", "reason")
_FIRST: Final = 30
"""The minor release from which on policies are stable."""
_WRITE: Final = re.compile(r"(POST|PUT|PATCH|DELETE|GET) (/apis?/[^?]*)")
_OPERATIONS: Final = {
    "POST": ("CREATE",),
    "PUT": ("CREATE", "UPDATE"),
    "PATCH": ("CREATE", "UPDATE"),
    "DELETE": ("DELETE",),
}
_CONNECTS: Final = ("exec", "attach", "portforward", "proxy")
_VERBS: Final = {"create": "CREATE", "update": "UPDATE", "patch": "UPDATE", "delete": "DELETE"}
_TEMPLATES: Final = {resource.resource: ".".join(("object", *path)) for resource, path in POD_SPECS.items()}
_HOST: Final = (
    "!{0}.?hostNetwork.orValue(false) && !{0}.?hostPID.orValue(false) && !{0}.?hostIPC.orValue(false)"
    " && {0}.?volumes.orValue([]).all(v, !has(v.hostPath))"
    " && {0}.containers.all(c, !c.?securityContext.?privileged.orValue(false))"
    " && {0}.?initContainers.orValue([]).all(c, !c.?securityContext.?privileged.orValue(false))"
)
_ENFORCED: Final = f"metadata.?labels[?'{label('enforce', 'pod-security')}'].orValue('')"
_NARROW: Final[dict[str, tuple[str, ...]]] = {
    "namespaces": (f"oldObject == null || object.{_ENFORCED} == oldObject.{_ENFORCED}",),
    "secrets": (f"object.?type.orValue('') != '{label('service-account-token')}'",),
    "rolebindings": ("object.roleRef.name != 'cluster-admin'",),
    "clusterrolebindings": ("object.roleRef.name != 'cluster-admin'",),
    "clusterroles": ("object.?rules.orValue([]).all(r, !('*' in r.verbs))",),
    "roles": ("object.?rules.orValue([]).all(r, !('*' in r.verbs))",),
    "certificatesigningrequests": (f"object.spec.signerName != '{label('kube-apiserver-client')}'",),
}
"""What writes of a resource need not do, each as an expression that holds of the others."""
_NOTHING: Final = "false"


@dataclass(frozen=True)
class ClosingPolicy(Result):
    """A policy that closes a path; false where there is none.

    Attributes
    ----------
    path
        The path.
    policy, binding
        The ValidatingAdmissionPolicy and its binding; None if no policy passed all checks.
    tried
        The expressions that were tried, each with the resource and the reason for which it is not the one.
    """

    path: EscalationPath
    policy: Object | None
    binding: Object | None
    tried: tuple[tuple[str, str, str], ...]

    def __bool__(self) -> bool:
        return self.policy is not None

    @property
    def manifests(self) -> tuple[Object, ...]:
        """The policy and its binding; empty if there is none."""
        return tuple(obj for obj in (self.policy, self.binding) if obj is not None)

    def to_frame(self) -> pd.DataFrame:
        """One row per expression that was tried: validation, resource, reason (empty for the one that closes it)."""
        return table(self.tried, COLUMNS)

    def summary(self) -> pd.DataFrame:
        """One row: path, policy."""
        name = name_of(self.policy) if self.policy is not None else ""
        return table([(f"{self.path.subject} -> {self.path.goal}", name)], ("path", "policy"))

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        told = f"closed by {name_of(self.policy)}" if self.policy is not None else "no policy closes it"
        yield f"{self.path.subject} -> {self.path.goal}: {told}"
        yield from (f"  {resource}: {text}: {reason or 'closes the path'}" for text, resource, reason in self.tried)

    def __str__(self) -> str:
        return text_lines(self.lines())

    __repr__ = __str__


def closing_policy(
    snapshot: Snapshot,
    path: EscalationPath | Finding,
    *,
    audit_log: AuditLog | None = None,
    sandbox: Sandbox,
) -> ClosingPolicy:
    """The narrowest admission policy that closes an escalation path, and refuses nothing else that is known.

    Parameters
    ----------
    path
        A path of ``escalations``; or a finding, of whose subjects the shortest path counts that needs its binding.
    audit_log
        Requests that must not be refused.
    sandbox
        The cluster on forks of which the path is executed, without the policy and with it.

    Returns
    -------
    ClosingPolicy
        True if there is one: ``manifests`` has the policy and its binding. ``to_frame()`` has one row per expression
        that was tried: validation, resource, reason (why it is not the one).

    Raises
    ------
    SimkitError
        For a path whose proof does not succeed even without a policy, and for a finding from which no path follows.

    Notes
    -----
    A policy is about the identity that takes the step alone, and about what the step needs: the service account of a
    pod, access to the host, the role of a binding. If nothing narrower closes the path, the write is refused as a
    whole. Reads, impersonation and requests to kubelets are not seen by admission, so that no policy stops them.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.demo()
    >>> path = next(path for path in cluster.escalations() if path.primitives == ("A4",))
    >>> found = cluster.closing_policy(path)
    >>> found.policy["spec"]["validations"][0]["expression"]
    "object.roleRef.name != 'cluster-admin'"
    """
    path = _path_of(snapshot, path) if isinstance(path, Finding) else path
    proof = prove(path, sandbox)
    if not proof:
        raise SimkitError(f"there is no proof of the path that a policy could stop: {proof.verdict} {proof.reason}")
    events = list(read_events(audit_log)) if audit_log is not None else []
    search = _Search(path, snapshot, sandbox, events)
    tried = []
    for performed in proof.performed:
        for candidate in search.candidates(performed):
            reason = search.fault(candidate)
            tried.append((candidate.expression, str(candidate.resource.group_resource), reason))
            if not reason:
                return ClosingPolicy(path, *candidate.manifests, tuple(tried))
    return ClosingPolicy(path, None, None, tuple(tried))


def _path_of(snapshot: Snapshot, finding: Finding) -> EscalationPath:
    """The shortest path of the subjects of a finding that needs its binding."""
    for path in escalations(snapshot, finding.subjects, include_defaults=True):
        if any(source.binding == finding.binding for sources in path.grants for source in sources):
            return path
    raise SimkitError(f"no path of escalation follows from the finding: {finding.message}")


@dataclass(frozen=True)
class _Candidate:
    """A policy about the writes of one identity to one resource."""

    expression: str
    resource: Resource
    subresource: str
    operations: tuple[str, ...]
    condition: str
    identity: Identity

    @property
    def manifests(self) -> tuple[Object, Object]:
        """The policy and its binding."""
        place = f"{self.resource.resource}/{self.subresource}" if self.subresource else self.resource.resource
        rule = {"apiGroups": [self.resource.group], "apiVersions": [self.resource.version], "resources": [place]}
        words = re.sub(r"[^a-z0-9]+", "-", f"{self.identity.user} {place}".lower()).strip("-")
        name = f"close-{words}"[:60].strip("-")
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{**rule, "operations": list(self.operations)}]},
            "matchConditions": [{"name": "identity", "expression": self.condition}],
            "validations": [{"expression": self.expression}],
        }
        return policy_object(name, spec), binding_object(name, {"policyName": name, "validationActions": ["Deny"]})


class _Search:
    """The search for a policy against one path."""

    def __init__(
        self,
        path: EscalationPath,
        snapshot: Snapshot,
        sandbox: Sandbox,
        events: Sequence[Object],
    ) -> None:
        self._path, self._snapshot, self._sandbox, self._events = path, snapshot, sandbox, events
        self._catalogue = catalogue_of(self._snapshot)

    def candidates(self, performed: Any) -> Iterator[_Candidate]:
        """Policies against a request of the attacker, the narrowest first."""
        match = _WRITE.match(performed.request)
        who = self._attacker(performed)
        if match is None or who is None:
            return
        found = _target(self._catalogue, match[2])
        if found is None:
            return
        resource, subresource = found
        operations: tuple[str, ...] = ("CONNECT",) if subresource in _CONNECTS else _OPERATIONS.get(match[1], ())
        if not operations or (subresource and "CONNECT" not in operations):
            operations = operations and (operations[-1],)
        identity, condition = who
        for expression in self._expressions(resource, subresource, performed.step) if operations else ():
            yield _Candidate(expression, resource, subresource, operations, condition, identity)

    def _attacker(self, performed: Any) -> tuple[Identity, str] | None:
        """The identity of a request and the condition that it is this one; None for what others do."""
        if performed.status >= 400 and "kubelet would run" not in performed.assumption:
            return None
        passed = (self._path.start, *(step.becomes for step in self._path.steps[: performed.step - 1]))
        for state in passed:
            subject = state.subject if state is not None and not state.impersonated else None
            if subject is None or is_principal(subject):  # whose requests carry a name for each session
                continue
            if subject.kind == GROUP and performed.actor == member_of(subject.name):
                groups = (subject.name, AUTHENTICATED)
                return Identity(SOMEBODY, groups), f"{subject.name!r} in request.userInfo.groups"
            identity = identity_of(subject)
            if performed.actor == identity.user:
                return identity, f"request.userInfo.username == {identity.user!r}"
        return None

    def _expressions(self, resource: Resource, subresource: str, step: int) -> Iterator[str]:
        becomes = str(self._path.steps[step - 1].becomes)
        account = becomes.rpartition("/")[2] if becomes.startswith("sa:") else ""
        spec = _TEMPLATES.get(resource.resource) if not subresource else None
        if spec is not None:
            if account:
                yield f"{spec}.?serviceAccountName.orValue('default') != {account!r}"
            yield _HOST.format(spec)
        if (resource.resource, subresource) == ("serviceaccounts", "token") and account:
            yield f"request.name != {account!r}"
        yield from _NARROW.get(resource.resource, ()) if not subresource else ()
        yield _NOTHING

    def fault(self, candidate: _Candidate) -> str:
        """The reason for which a policy must not be used; empty if there is none."""
        policy, binding = candidate.manifests
        told = self._untyped(policy)
        if told:
            return told
        fork = self._sandbox.fork()
        for obj in (policy, binding):
            kind = self._catalogue.resource_of(obj)
            response = fork.perform(Request.of("POST", f"{kind.path}/{kind.resource}", obj), identity=administrator())
            if response.status >= 400:
                return f"the server does not take it: {(response.object or {}).get('message')}"
        proof = prove(self._path, fork)
        if proof or proof.outcome != NOT_PROVEN:
            return "the path is still open" if proof else f"the path was not executed: {proof.reason}"
        return self._harm(candidate)

    def _untyped(self, policy: Object) -> str:
        """What is wrong with the types of a policy at the release of the cluster."""
        release = self._snapshot.release
        if minor_of(release) < _FIRST:
            return f"release {release} has no stable policies"
        return next((str(one.get("warning")) for one in expression_warnings(policy, self._catalogue)), "")

    def _harm(self, candidate: _Candidate) -> str:
        """What a policy refuses that is running, or was asked for."""
        policy, binding = candidate.manifests
        if candidate.resource.resource in _TEMPLATES and not candidate.subresource:
            effect = policy_effect(self._snapshot, [policy, binding], identity=candidate.identity)
            rows = effect.denied[["namespace", "name"]].astype(str).itertuples(index=False)
            denied = [f"{place}/{name}" for place, name in rows if self._may_write(candidate, place, name)]
            if denied:
                kind = candidate.resource.group_resource
                return f"{counted(len(denied), 'workload')} would be refused, such as {kind} {denied[0]}"
        checked = CheckedPolicy(policy, self._snapshot, binding)
        for event in self._events:
            if not checked.admits_attributes(_attributes(event, self._catalogue)):
                reference = event.get("objectRef") or {}
                return f"the audit log has a request that it refuses: {event.get('verb')} {reference.get('resource')}"
        return ""

    def _may_write(self, candidate: _Candidate, namespace: str, name: str) -> bool:
        """True if the identity may write an object that is there."""
        resource = candidate.resource
        place = resource.group, resource.version, resource.resource, "", namespace
        asks = (Attributes(candidate.identity, verb, *place, name) for verb in ("create", "update", "patch"))
        return any(chain_of(self._snapshot).authorize(ask).verdict == ALLOW for ask in asks)


def _target(catalogue: Catalogue, path: str) -> tuple[Resource, str] | None:
    """The resource and the subresource of a path; None for a path of something else."""
    parts = path.strip("/").split("/")
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    resource = catalogue.find(group, version, rest[0]) if rest else None
    return None if resource is None else (resource, rest[2] if len(rest) > 2 else "")


def _attributes(event: Object, catalogue: Catalogue) -> AdmissionAttributes | None:
    """The write of an audit event; None for reads. An object that the log does not have is an empty one."""
    reference = event.get("objectRef") or {}
    resource = catalogue.find(
        reference.get("apiGroup") or "", reference.get("apiVersion") or "", reference.get("resource") or ""
    )
    operation = _VERBS.get(event.get("verb") or "")
    if reference.get("subresource") in _CONNECTS:
        operation = "CONNECT"
    if operation is None or resource is None:
        return None
    user = event.get("impersonatedUser") or event.get("user") or {}
    identity = Identity(user.get("username") or "", tuple(user.get("groups") or ()))
    header = {"apiVersion": resource.api_version, "kind": resource.kind}
    metadata = {"name": reference.get("name") or "", "namespace": reference.get("namespace") or ""}
    obj = event.get("requestObject") or {**header, "metadata": metadata}
    return AdmissionAttributes(
        identity,
        operation,
        resource.gvr,
        resource.gvk,
        reference.get("subresource") or "",
        reference.get("namespace") or "",
        reference.get("name") or "",
        None if operation == "DELETE" else obj,
        None if operation in ("CREATE", "CONNECT") else obj,
    )
