"""The findings of KubiScan, Checkov and kubernetes-rbac-audit: all true ones are found, and no false alarm.

The inputs are ours. Each case names the rule of a tool, by its identifier or template; the rules were read, and Checkov
was run, to see what they fire on. docs/peers.md has the comparison in words.
"""

from __future__ import annotations

from typing import Any

import pytest

from simkit.analysis.findings import Severity, audit
from tests.analysis.worlds import account, binding, namespace, role, rule, world

RBAC, ALL = "rbac.authorization.k8s.io", "*"
CERTIFICATES, ADMISSION = "certificates.k8s.io", "admissionregistration.k8s.io"
CONTROLLERS = {
    "apps": ("deployments", "daemonsets", "statefulsets", "replicasets"),
    "batch": ("jobs", "cronjobs"),
    "core": ("replicationcontrollers",),
}


def found(*rules: dict[str, Any]) -> dict[str, Severity]:
    """The checks that find something where a service account has these rules everywhere, with the worst severity."""
    objects = [namespace("dev"), account("dev", "app"), role("r", *rules), binding("b", "r", "sa:dev/app")]
    worst: dict[str, Severity] = {}
    for finding in audit(world(*objects)).findings:
        worst[finding.check] = max(worst.get(finding.check, finding.severity), finding.severity)
    return worst


KUBISCAN = [
    ("risky-get-secrets", "secrets-get", [rule("get", "secrets")]),
    ("risky-list-secrets", "secrets-list", [rule("list", "secrets")]),
    ("risky-impersonate-groups", "impersonate", [rule("impersonate", "groups")]),
    ("risky-any-verb", "cluster-admin", [rule(ALL, ALL, groups=ALL)]),
    ("risky-any-verb-secrets", "secrets-list", [rule(ALL, "secrets")]),
    ("risky-any-verb-pods", "pod-create", [rule(ALL, "pods")]),
    *(
        (f"risky-any-verb-{plural}", "workload-write", [rule(ALL, plural, groups=group)])
        for group, plurals in CONTROLLERS.items()
        for plural in plurals
    ),
    ("risky-any-verb-roles", "rbac-escalate", [rule(ALL, "roles", groups=RBAC)]),
    ("risky-any-verb-clusterroles", "rbac-escalate", [rule(ALL, "clusterroles", groups=RBAC)]),
    ("risky-any-verb-rolebindings", "rbac-write", [rule(ALL, "rolebindings", groups=RBAC)]),
    ("risky-any-verb-clusterrolebindings", "rbac-write", [rule(ALL, "clusterrolebindings", groups=RBAC)]),
    ("risky-any-verb-users", "impersonate", [rule(ALL, "users")]),
    ("risky-any-verb-groups", "impersonate", [rule(ALL, "groups")]),
    *(
        (f"risky-any-resource-{verb}", "wildcard", [rule(verb, ALL, groups=ALL)])
        for verb in ("delete", "deletecollection", "create", "list", "get", "impersonate")
    ),
    *(
        (f"risky-{verb}-{plural}", "workload-write", [rule(verb, plural, groups=group)])
        for group, plurals in CONTROLLERS.items()
        for plural in plurals
        for verb in ("create", "update")
    ),
    (
        "risky-create-rolebinding-role",
        "rbac-bind",
        [rule("create", "rolebindings", groups=RBAC), rule("bind", "roles", groups=RBAC)],
    ),
    (
        "risky-create-rolebinding-clusterrole",
        "rbac-bind",
        [rule("create", "rolebindings", groups=RBAC), rule("bind", "clusterroles", groups=RBAC)],
    ),
    (
        "risky-create-clusterrolebinding-clusterrole",
        "rbac-bind",
        [rule("create", "clusterrolebindings", groups=RBAC), rule("bind", "clusterroles", groups=RBAC)],
    ),
    ("risky-create-pod", "pod-create", [rule("create", "pods")]),
    ("risky-exec-pods", "pod-exec", [rule("create", "pods/exec"), rule("get", "pods")]),
    ("risky-attach-pods", "pod-exec", [rule("create", "pods/attach"), rule("get", "pods")]),
    ("risky-add-rolebinding", "rbac-write", [rule("get,patch", "rolebindings", groups=RBAC)]),
]
CHECKOV = [
    ("CKV_K8S_49", "wildcard", [rule("get", ALL)]),
    ("CKV_K8S_49", "wildcard", [rule(ALL, "services")]),
    ("CKV_K8S_155", "webhook-write", [rule("create", "validatingwebhookconfigurations", groups=ADMISSION)]),
    ("CKV_K8S_155", "webhook-write", [rule("patch", "mutatingwebhookconfigurations", groups=ADMISSION)]),
    (
        "CKV_K8S_156",
        "certificate-approve",
        [
            rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES),
            rule("approve", "signers", groups=CERTIFICATES),
        ],
    ),
    ("CKV_K8S_158", "rbac-escalate", [rule("escalate,patch", "clusterroles", groups=RBAC)]),
    ("CKV2_K8S_1", "rbac-bind", [rule("bind", "roles", groups=RBAC), rule("patch", "rolebindings", groups=RBAC)]),
    ("CKV2_K8S_2", "node-proxy", [rule("create", "nodes/proxy")]),
    ("CKV2_K8S_2", "pod-exec", [rule("create", "pods/exec")]),
    ("CKV2_K8S_3", "impersonate-accounts", [rule("impersonate", "serviceaccounts")]),
    ("CKV2_K8S_4", "service-address", [rule("patch", "services/status")]),
    ("CKV2_K8S_5", "secrets-list", [rule("get,list,watch", "secrets")]),
]
RBAC_AUDIT = [
    ("get_read_secrets", "secrets-list", [rule("list", "secrets")]),
    ("clusteradmin_role", "wildcard", [rule(ALL, ALL)]),
    ("any_resources", "wildcard", [rule("list", ALL)]),
    ("any_verb", "impersonate", [rule(ALL, "users")]),
    ("high_risk_roles", "workload-write", [rule("update", "daemonsets", groups="apps")]),
    ("role_and_roleBindings", "rbac-write", [rule("create", "roles", groups=RBAC)]),
    ("create_pods", "pod-create", [rule("create", "pods")]),
    ("pods_exec", "pod-exec", [rule("create", "pods/exec")]),
    ("pods_attach", "pod-exec", [rule("create", "pods/attach")]),
]


@pytest.mark.parametrize(
    ("name", "check", "rules"),
    [
        pytest.param(*case, id=f"{tool}-{number}-{case[0]}")
        for tool, cases in (("kubiscan", KUBISCAN), ("checkov", CHECKOV), ("rbac-audit", RBAC_AUDIT))
        for number, case in enumerate(cases)
    ],
)
def test_their_true_findings_are_found(name: str, check: str, rules: list[dict[str, Any]]) -> None:
    """Each of their rules has a check here, and its finding is more than untidy."""
    severities = found(*rules)
    assert severities.get(check, Severity.INFO) >= Severity.LOW, (name, severities)


ROLES_OF_OTHERS = [rule("list,create", "secrets,pods,jobs,users,groups", groups="example.com")]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (ROLES_OF_OTHERS, "another group's resources are called alike; KubiScan and rbac-audit do not look at groups"),
        ([rule("bind", "rolebindings,clusterrolebindings", groups=RBAC)], "bind is asked of roles; CKV_K8S_157 fires"),
        ([rule("escalate", "rolebindings", groups=RBAC)], "escalate is asked of roles alone"),
        ([rule("create", "pods/*")], "pods/* is not a wildcard"),
        ([rule("create", "secrets", names="db")], "a create names no object, so the rule allows nothing"),
        ([rule("approve", "certificatesigningrequests", groups=CERTIFICATES)], "approve is asked of signers"),
        ([rule("impersonate", "users", groups="authentication.k8s.io")], "users are in the core group"),
        ([rule("LIST", "secrets")], "verbs are in lower case"),
        (
            [
                rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES),
                rule("approve", "signers", groups=CERTIFICATES, names="example.com/*"),
            ],
            "the server takes certificates of its own signers alone for users",
        ),
        ([rule("impersonate", "users,groups,serviceaccounts", names="nobody")], "nobody has no access"),
        ([rule("create", "serviceaccounts/token", names="nobody")], "nobody has no access"),
        ([rule("update", "configmaps", names="own-settings")], "the cluster is set up by others"),
    ],
)
def test_their_false_alarms_are_none_here(rules: list[dict[str, Any]], why: str) -> None:
    """Grants that look alike and allow nothing of it are not worse than untidy."""
    severities = found(*rules)
    assert all(severity <= Severity.LOW for severity in severities.values()), (why, severities)


def test_writing_bindings_alone_makes_no_administrator() -> None:
    """The server hands out nothing that the writer does not hold: medium here, critical or high with others."""
    severities = found(rule("create", "clusterrolebindings,rolebindings,roles", groups=RBAC))
    assert severities.keys() - {"unused-account"} == {"rbac-write"}
    assert severities["rbac-write"] is Severity.MEDIUM


def test_rights_add_up_over_bindings() -> None:
    """Halves of a power in two roles are found; tools that look at one role at a time miss them."""
    objects = [
        role("half", rule("bind", "clusterroles", groups=RBAC)),
        role("other-half", rule("create", "clusterrolebindings", groups=RBAC)),
        *(binding(name, name, "user:ann") for name in ("half", "other-half")),
    ]
    assert "rbac-bind" in {finding.check for finding in audit(world(*objects)).findings}


def test_permissions_that_nobody_has_are_not_reported() -> None:
    """A role that no binding names is untidy, whatever is in it."""
    checks = {finding.check: finding.severity for finding in audit(world(role("r", rule("list", "secrets")))).findings}
    assert checks == {"unused-role": Severity.INFO}


def test_one_namespace_is_less_than_all() -> None:
    """A RoleBinding gives nothing of nodes, and less of secrets than a ClusterRoleBinding."""

    def severities(where: str) -> dict[str, Severity]:
        rules = [rule("list", "secrets"), rule("create", "nodes/proxy")]
        listed = audit(world(namespace("dev"), role("r", *rules), binding("b", "r", "user:ann", namespace=where)))
        return {finding.check: finding.severity for finding in listed.findings if finding.severity > Severity.INFO}

    assert set(severities("")) == {"escalation-path", "secrets-list", "node-proxy"}
    assert set(severities("dev")) == {"secrets-list"}
    assert severities("dev")["secrets-list"] < severities("")["secrets-list"]
