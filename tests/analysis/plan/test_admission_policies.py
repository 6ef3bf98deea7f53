"""Admission policies as changes of a plan, and the policies that a cluster has already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simkit.analysis import escalations, remediation_plan
from simkit.analysis.escalation.cut.policies import RefuseAccounts
from simkit.cluster.cluster import Cluster
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.escalation.scenes import fenced, pod, served
from tests.analysis.worlds import account, binding, namespace, role, rule, world

WORKLOADS = (rule("create,update,patch", "deployments,cronjobs", groups="apps,batch"), rule("create", "pods"))
ORDINARY = rule("get,list,watch,create,update,patch,delete", "configmaps,services,events,endpoints")


def company(subject: str = "group:devs") -> list[dict[str, Any]]:
    """Somebody who deploys into a namespace that also has an administrator's account, as others do elsewhere."""
    others = (f"user:u{number}" for number in range(9))
    return [
        *(namespace("dev"), fenced("ops"), account("ops", "admin"), account("ops", "plain")),
        *(role("all", rule("*", "*", groups="*")), binding("boss", "all", "sa:ops/admin")),
        *(role("deployer", *WORKLOADS, ORDINARY), binding("devs", "deployer", subject, namespace="ops")),
        binding("elsewhere", "deployer", *others, namespace="dev"),
    ]


def event(verb: str, resource: str, name: str) -> dict[str, Any]:
    return {
        "kind": "Event",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": "ann", "groups": ["devs", "system:authenticated"]},
        "objectRef": {"resource": resource, "apiGroup": "apps", "apiVersion": "v1", "namespace": "ops", "name": name},
        "responseStatus": {"code": 200},
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }


def deployment(name: str, of: str) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"serviceAccountName": of, "containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ops"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
    }


@pytest.mark.parametrize("subject", ["group:devs", "user:ann", "sa:dev/ci"])
def test_a_policy_takes_less_than_a_binding(subject: str) -> None:
    """It is proposed, closes the paths by pods and workloads alike, and the fork refuses what went through before."""
    cluster = served(*company(subject))
    assert all(path.prove(cluster).proven for path in escalations(cluster.snapshot(), subject, goal="cluster-admin"))
    found = cluster.remediation_plan(goal="cluster-admin", subject=subject, keep=["sa:ops/admin"])
    [step] = found
    assert isinstance(step.change, RefuseAccounts)
    assert (step.change.accounts, step.harm, found.left) == (("admin",), "nothing known", ())
    evidence = found.verify()
    assert evidence
    assert all("ValidatingAdmissionPolicy" in str(one) for each in evidence.steps for one in each.refused)
    assert step.remedy.way_back()[0].startswith("kubectl delete validatingadmissionpolicybindings")
    assert "kind: ValidatingAdmissionPolicyBinding" in step.remedy.yaml()


def test_what_the_log_shows_in_use_passes_the_policy() -> None:
    """Deployments with harmless accounts are written as before; one that runs as the account makes the policy harmful."""
    cluster = served(*company(), deployment("web", "plain"), deployment("operator", "admin"))
    asked: dict[str, Any] = {"goal": "cluster-admin", "subject": "group:devs", "keep": ["sa:ops/admin"]}
    harmless = [event("update", "deployments", "web"), event("create", "deployments", "web")]
    found = cluster.remediation_plan(audit_log=harmless, **asked)
    assert [step.change.kind for step in found] == ["admission policy"]
    evidence = found.verify()
    assert evidence
    assert not evidence.steps[0].lost
    used = [*harmless, event("update", "deployments", "operator")]
    worse = cluster.remediation_plan(audit_log=used, **asked)
    policies = [step for step in worse if isinstance(step.change, RefuseAccounts)]
    assert all(step.harm == "something in use" and "operator" in str(step.breaks) for step in policies)


POLICY: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "accounts"},
}


def policy(expression: str, **more: Any) -> list[dict[str, Any]]:
    """A policy for pods, bound to namespaces with the label of ``ops``."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}], **more}
    select = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}}}
    bound = {"policyName": "accounts", "validationActions": ["Deny"], "matchResources": select}
    kind = "ValidatingAdmissionPolicyBinding"
    return [{**POLICY, "spec": spec}, {**POLICY, "kind": kind, "spec": bound}]


def reached(*objects: Mapping[str, Any], subject: str = "user:ann") -> Cluster:
    return served(
        *(namespace("dev"), fenced("ops"), account("ops", "admin"), account("dev", "admin")),
        *(role("all", rule("*", "*", groups="*")), binding("boss", "all", "sa:ops/admin", "sa:dev/admin")),
        *(role("runner", rule("create", "pods")), binding("runs", "runner", subject, namespace="ops")),
        *objects,
    )


NOT_ADMIN = "!has(object.spec.serviceAccountName) || object.spec.serviceAccountName != 'admin'"


@pytest.mark.parametrize(
    ("objects", "subject", "open_paths"),
    [
        ((), "user:ann", 1),
        (policy(NOT_ADMIN), "user:ann", 0),
        (policy("request.userInfo.username != 'ann'"), "user:ann", 0),
        (policy("request.userInfo.username != 'bob'"), "user:ann", 1),
        (policy("!('devs' in request.userInfo.groups)"), "group:devs", 0),
        # Another group or another name may be exempt, and an object may be written so that it passes.
        (policy("request.userInfo.username == 'boss'"), "group:devs", 1),
        (policy("!('devs' in request.userInfo.groups) || 'system:nodes' in request.userInfo.groups"), "group:devs", 1),
        (policy("has(object.metadata.labels) && 'team' in object.metadata.labels"), "user:ann", 1),
        (policy(NOT_ADMIN, failurePolicy="Ignore"), "user:ann", 0),
        (policy(NOT_ADMIN, matchConditions=[{"name": "a", "expression": "request.namespace == 'dev'"}]), "user:ann", 1),
        ([policy(NOT_ADMIN)[0]], "user:ann", 1),
    ],
)
def test_policies_of_the_cluster_count_where_nothing_passes_them(
    objects: list[dict[str, Any]], subject: str, open_paths: int
) -> None:
    """Paths are not claimed that a policy refuses whatever the object says; what goes through is claimed, and proven."""
    nodes = binding("nodes", "view", "group:system:nodes")
    cluster = reached(*objects, nodes, subject=subject)
    found = escalations(cluster.snapshot(), subject, goal="cluster-admin")
    assert len(found) == open_paths
    if not any(word in str(objects) for word in ("labels)", "boss'", "system:nodes")):
        assert all(path.prove(cluster).proven for path in found)


def test_a_policy_of_one_namespace_stops_nothing_elsewhere() -> None:
    """Whoever may run pods in all namespaces goes through another one."""
    cluster = reached(*policy(NOT_ADMIN), binding("wide", "runner", "user:ann"))
    [path] = escalations(cluster.snapshot(), "user:ann", goal="cluster-admin")
    assert len(path.edges) >= 2


def test_releases_without_policies_get_none() -> None:
    """Before 1.30 there is no stable version."""
    snapshot = MemorySnapshot([obj for _, obj in world(*company()).items()], captured=["*"], release="1.29")
    found = remediation_plan(snapshot, goal="cluster-admin", subject="group:devs", keep=["sa:ops/admin"])
    assert found.steps
    assert not any(isinstance(step.change, RefuseAccounts) for step in found)


def test_running_pods_with_the_account_are_a_risk() -> None:
    """Without a log nobody knows who makes them."""
    snapshot = world(*company(), pod("ops", "operator-0", "admin"))
    found = remediation_plan(snapshot, goal="cluster-admin", subject="group:devs", keep=["sa:ops/admin"])
    harms = {step.harm for step in found if isinstance(step.change, RefuseAccounts)}
    assert "nothing known" not in harms
