"""Admission policies of a cluster that keep service accounts out of pods, and the paths that are left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simkit.analysis import escalations
from simkit.cluster.cluster import Cluster
from tests.analysis.escalation.scenes import fenced, served
from tests.analysis.worlds import account, binding, namespace, role, rule

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
