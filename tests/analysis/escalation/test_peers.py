"""The grants that other tools look for are found, if the API server makes them an escalation."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.analysis.escalation import risky_permissions
from simkit.cluster.cluster import Cluster
from tests.analysis.escalation.probes import CERTIFICATES, HOOKS, LABORATORY, PROBE, granted
from tests.analysis.escalation.scenes import RBAC, served
from tests.analysis.worlds import rule

WORKLOADS = ("deployments", "daemonsets", "statefulsets", "replicasets", "replicationcontrollers", "cronjobs", "jobs")
Rules = tuple[dict[str, Any], ...]

RBAC_POLICE: dict[str, tuple[str, Rules]] = {
    "approve_csrs": (
        "F1",
        (
            rule("create,list", "certificatesigningrequests", groups=CERTIFICATES),
            rule("patch", "certificatesigningrequests/approval", groups=CERTIFICATES),
            rule("approve", "signers", groups=CERTIFICATES),
        ),
    ),
    "assign_sa": ("J9", (rule("create", "pods"),)),
    "assign_sa, by workloads": ("D2", (rule("update", "deployments", groups="apps"),)),
    "bind_roles": ("A4", (rule("bind,create", "clusterroles,clusterrolebindings", groups=RBAC),)),
    "cluster_admin": ("A1", (rule("*", "*", groups="*"),)),
    "control_webhooks": ("G1", (rule("create", "mutatingwebhookconfigurations", groups=HOOKS),)),
    "control_webhooks, validating": ("G2", (rule("patch", "validatingwebhookconfigurations", groups=HOOKS),)),
    "eks_modify_aws_auth": ("H1", (rule("update", "configmaps", names="aws-auth"),)),
    "escalate_roles": ("A5", (rule("escalate,update", "clusterroles", groups=RBAC),)),
    "impersonate, users": ("B1", (rule("impersonate", "users"),)),
    "impersonate, groups": ("B2", (rule("impersonate", "users,groups"),)),
    "impersonate, accounts": ("B3", (rule("impersonate", "serviceaccounts"),)),
    "issue_token_secrets, create and read": ("C3", (rule("create,get", "secrets"),)),
    "issue_token_secrets, patch": ("C4", (rule("patch", "secrets"),)),
    "issue_token_secrets, update": ("C4", (rule("update", "secrets"),)),
    "list_secrets": ("C2", (rule("list", "secrets"),)),
    "modify_node_status": ("E4", (rule("patch", "nodes/status"),)),
    "modify_pods": ("D3", (rule("patch", "pods"),)),
    "modify_pod_status": ("D14", (rule("patch", "pods/status"),)),
    "modify_service_status_cve_2020_8554": ("I6", (rule("patch", "services/status"),)),
    "nodes_proxy": ("E1", (rule("create", "nodes/proxy"),)),
    "pods_ephemeral_ctrs": ("D7", (rule("patch", "pods/ephemeralcontainers"),)),
    "pods_exec": ("D5", (rule("create", "pods/exec"),)),
    "retrieve_secrets": ("C1", (rule("get", "secrets"),)),
    "steal_pods, evict": ("D13", (rule("create", "pods/eviction"), rule("patch", "nodes"))),
    "steal_pods, nodes alone": ("D13", (rule("patch", "nodes"),)),
    "steal_pods, nodes deleted": ("D13", (rule("delete", "nodes"), rule("update", "nodes/status"))),
    "token_request": ("C5", (rule("create", "serviceaccounts/token"),)),
}
"""Left out: providerIAM, which reads annotations and no rights; its step is H5."""

KUBISCAN: dict[str, tuple[str, Rules]] = {
    "get-secrets": ("C1", (rule("get", "secrets", groups="*"),)),
    "list-secrets": ("C2", (rule("list", "secrets", groups="*"),)),
    "any-verb": ("A1", (rule("*", "*", groups="*"),)),
    "any-verb-secrets": ("C3", (rule("*", "secrets", groups="*"),)),
    "any-verb-pods": ("D1", (rule("*", "pods", groups="*"),)),
    **{f"any-verb-{one}": ("D2", (rule("*", one, groups="*"),)) for one in WORKLOADS},
    "any-verb-clusterroles": ("A5", (rule("*", "clusterroles", groups="*"),)),
    "any-verb-users": ("B1", (rule("*", "users", groups="*"),)),
    "any-resource-delete": ("G3", (rule("delete", "*", groups="*"),)),
    "any-resource-deletecollection": ("C2", (rule("deletecollection", "*", groups="*"),)),
    "any-resource-create": ("C5", (rule("create", "*", groups="*"),)),
    "any-resource-list": ("C2", (rule("list", "*", groups="*"),)),
    "any-resource-get": ("D5", (rule("get", "*", groups="*"),)),
    "any-resource-impersonate": ("B2", (rule("impersonate", "*", groups="*"),)),
    **{f"create-{one}": ("D2", (rule("create", one, groups="*"),)) for one in WORKLOADS},
    **{f"update-{one}": ("D2", (rule("update", one, groups="*"),)) for one in WORKLOADS[:-1]},
    "create-rolebinding-clusterrole": ("A4", (rule("create,bind", "rolebindings,clusterroles", groups=RBAC),)),
    "create-rolebinding-role": ("A4", (rule("create,bind", "rolebindings,roles", groups=RBAC),)),
    "create-clusterrolebinding-clusterrole": (
        "A4",
        (rule("create,bind", "clusterrolebindings,clusterroles", groups=RBAC),),
    ),
    "create-pod": ("D1", (rule("create", "pods", groups="*"),)),
    "exec-pods": ("D5", (rule("create,get", "pods/exec,pods", groups="*"),)),
    "attach-pods": ("D6", (rule("create,get", "pods/attach,pods", groups="*"),)),
}
"""Left out, since the server gives nothing for them: impersonation of groups without a user, writing bindings without
``bind``, and changes of jobs, whose template cannot be changed."""

CHECKOV: dict[str, tuple[str, Rules]] = {
    "CKV_K8S_49": ("A1", (rule("*", "*", groups="*"),)),
    "CKV_K8S_155": ("G1", (rule("update", "mutatingwebhookconfigurations", groups=HOOKS, names="vendor"),)),
    "CKV_K8S_156": (
        "F1",
        (
            rule("create,get", "certificatesigningrequests", groups=CERTIFICATES),
            rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES),
            rule("approve", "signers", groups=CERTIFICATES, names="kubernetes.io/kube-apiserver-client"),
        ),
    ),
    "CKV_K8S_158": ("A5", (rule("escalate,patch", "clusterroles", groups=RBAC),)),
    "CKV2_K8S_1": ("A4", (rule("bind,update", "clusterroles,clusterrolebindings", groups=RBAC),)),
    "CKV2_K8S_2": ("E1", (rule("create", "nodes/proxy"),)),
    "CKV2_K8S_3": ("B1", (rule("impersonate", "users"),)),
    "CKV2_K8S_4": ("I6", (rule("update", "services/status"),)),
    "CKV2_K8S_5": ("C2", (rule("list", "secrets"),)),
    "CKV2_K8S_6": ("D5", (rule("create", "pods/exec"),)),
}
"""Left out: CKV_K8S_157, which looks for ``bind`` on bindings, where the server never asks for it."""

CASES = [
    pytest.param(primitive, rules, id=f"{tool}: {name}")
    for tool, found in (("rbac-police", RBAC_POLICE), ("KubiScan", KUBISCAN), ("Checkov", CHECKOV))
    for name, (primitive, rules) in found.items()
]


@pytest.fixture(scope="module")
def laboratory() -> Cluster:
    workloads = [
        {
            "apiVersion": {"replicationcontrollers": "v1", "cronjobs": "batch/v1"}.get(plural, "apps/v1"),
            "kind": kind,
            "metadata": {"name": "there", "namespace": "ops"},
            "spec": _spec(plural),
        }
        for plural, kind in (
            ("deployments", "Deployment"),
            ("daemonsets", "DaemonSet"),
            ("statefulsets", "StatefulSet"),
            ("replicasets", "ReplicaSet"),
            ("replicationcontrollers", "ReplicationController"),
            ("cronjobs", "CronJob"),
        )
    ]
    return served(*LABORATORY, *workloads)


def _spec(plural: str) -> dict[str, Any]:
    labels = {"app": "there"}
    containers = [{"name": "main", "image": "app"}]
    template: dict[str, Any] = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    if plural == "cronjobs":
        template["spec"]["restartPolicy"] = "Never"
        return {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
    if plural == "replicationcontrollers":
        return {"replicas": 0, "selector": labels, "template": template}
    spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
    if plural != "daemonsets":
        spec["replicas"] = 0
    return {**spec, "serviceName": "there"} if plural == "statefulsets" else spec


@pytest.mark.parametrize(("primitive", "rules"), CASES)
def test_their_findings_are_ours(laboratory: Cluster, primitive: str, rules: Rules) -> None:
    """Flagged, and executed where that is possible at all."""
    cluster = laboratory.fork()
    for obj in granted(*rules):
        cluster.apply([obj])
    table = risky_permissions(cluster.snapshot(), PROBE, sandbox=cluster).set_index("primitive")
    assert primitive in table.index
    assert table.loc[primitive, "flagged"]
    expected = "possible" if primitive == "H1" else "proven"  # the laboratory is not in that cloud
    assert str(table.loc[primitive, "verdict"]).partition(",")[0] == expected, table.loc[primitive, "reason"]
