"""Grants that are escalations, each phrased in another way, and grants that only look like them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.analysis.escalation.scenes import RBAC, fenced, node, pod
from tests.analysis.worlds import account, binding, namespace, role, rule

PROBE = "sa:lab/probe"
CERTIFICATES = "certificates.k8s.io"
HOOKS = "admissionregistration.k8s.io"
AUTHN = "authentication.k8s.io"


@dataclass(frozen=True)
class Probe:
    """A grant to ``sa:lab/probe`` on top of the laboratory.

    ``primitive`` is what it must be found as (empty for a look-alike), ``verdict`` what executing it says, ``goal``
    what is reached by it, where it is more access.
    """

    name: str
    objects: tuple[dict[str, Any], ...]
    primitive: str = ""
    verdict: str = "proven"
    goal: str = ""
    never: tuple[str, ...] = field(default=())
    """For look-alikes: the primitives that they look like."""
    taken: bool = False
    """For look-alikes: whether the step can be taken all the same, and leads nowhere."""


def granted(*rules: dict[str, Any], place: str = "") -> tuple[dict[str, Any], ...]:
    """A ClusterRole bound to the probe: in the cluster, or in a namespace."""
    return role("probe", *rules), binding("probe", "probe", PROBE, namespace=place)


def split(*rules: dict[str, Any], place: str = "") -> tuple[dict[str, Any], ...]:
    """Each rule in a role and a binding of its own."""
    made: list[dict[str, Any]] = []
    for number, one in enumerate(rules):
        made += [role(f"probe-{number}", one), binding(f"probe-{number}", f"probe-{number}", PROBE, namespace=place)]
    return tuple(made)


def by_group(group: str, *rules: dict[str, Any], place: str = "") -> tuple[dict[str, Any], ...]:
    """Bound to a group that the probe is in."""
    return role("probe", *rules), binding("probe", "probe", f"group:{group}", namespace=place)


def by_role(place: str, *rules: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """A Role instead of a ClusterRole."""
    return role("probe", *rules, namespace=place), binding("probe", "probe", PROBE, namespace=place, local=True)


def aggregated(*rules: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Rules that come into the bound role by aggregation."""
    whole = {
        **role("gathered"),
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"probe.example/into": "gathered"}}]},
    }
    part = role("part", *rules, labels={"probe.example/into": "gathered"})
    return part, whole, binding("probe", "gathered", PROBE)


def secret(place: str, name: str, **annotations: str) -> dict[str, Any]:
    kind = "kubernetes.io/service-account-token" if annotations else "Opaque"
    metadata = {"name": name, "namespace": place, "annotations": dict(annotations.items())}
    return {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata}


def config(place: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": place}}


def webhook(kind: str) -> dict[str, Any]:
    hook = {
        "name": "check.vendor.example",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore",
        "clientConfig": {"service": {"namespace": "ops", "name": "vendor"}},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    }
    return {"apiVersion": f"{HOOKS}/v1", "kind": kind, "metadata": {"name": "vendor"}, "webhooks": [hook]}


def daemons() -> dict[str, Any]:
    labels = {"app": "agent"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "agent"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "kube-system"},
        "spec": spec,
    }


def safe(account_name: str) -> dict[str, Any]:
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "serviceAccountName": account_name,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": "app", "securityContext": context}],
    }


LABORATORY: tuple[dict[str, Any], ...] = (
    *(fenced("lab"), fenced("ops"), namespace("open"), fenced("empty")),
    *(account("lab", "probe"), account("lab", "other"), account("ops", "admin"), account("open", "app")),
    *(node("node-1"), node("control", **{"node-role.kubernetes.io/control-plane": ""})),
    *(pod("ops", "operator", "admin", safe("admin")), pod("lab", "web", "other", safe("other"))),
    secret("ops", "admin-token", **{"kubernetes.io/service-account.name": "admin"}),
    *(secret("lab", "db"), config("kube-system", "coredns")),
    *(webhook("MutatingWebhookConfiguration"), webhook("ValidatingWebhookConfiguration")),
    daemons(),
    role("weak", rule("get,list", "pods,services")),
    *(binding("ops-admin", "cluster-admin", "sa:ops/admin"), binding("boss", "cluster-admin", "user:boss")),
    binding("bosses", "cluster-admin", "group:bosses"),
    binding("orphan", "cluster-admin", "sa:ops/gone"),
    role("deploy", rule("create", "deployments", groups="apps")),
    binding("views", "view", "group:readers"),
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop", "namespace": "lab"},
        "spec": {"ports": [{"port": 80}]},
    },
)
"""Two fenced namespaces with one powerful account, an open one, an empty one, a control plane, and what operators keep."""

ADMIN = "cluster-admin"
GRANTS: tuple[Probe, ...] = (
    Probe("all verbs in all groups", granted(rule("*", "*", groups="*")), "A1"),
    Probe("all in a namespace", by_role("ops", rule("*", "*", groups="*")), "A1", goal=ADMIN),
    Probe("bind, in kube-system", granted(
        rule("bind", "clusterroles", groups=RBAC, names="cluster-admin"), rule("create", "rolebindings", groups=RBAC),
        place="kube-system"), "A4", goal=ADMIN),
    Probe("bind by all verbs on a group", granted(rule("*", "*", groups=RBAC)), "A4", goal=ADMIN),
    Probe("bind and a binding that is there", split(
        rule("bind", "*", groups="*"), rule("patch", "clusterrolebindings", groups=RBAC, names="bosses")), "A4",
        goal=ADMIN),
    Probe("escalate of the own role", granted(
        rule("escalate,update", "clusterroles", groups="*", names="probe")), "A5", goal=ADMIN),
    Probe("escalate of the own role in a namespace", by_role("ops",
        rule("escalate,patch", "roles", groups=RBAC)), "A5", goal=ADMIN),
    Probe("escalate of the role of others", granted(
        rule("escalate", "clusterroles", groups=RBAC), rule("update", "clusterroles", groups=RBAC, names="view")),
        "A5"),
    Probe("a label that aggregation looks for", granted(
        rule("get,list", "secrets"), rule("patch", "clusterroles", groups=RBAC)), "A8"),
    Probe("a token secret under the one name that may be read", by_role("ops",
        rule("create", "secrets"), rule("get", "secrets", names="not-there")), "C3", goal=ADMIN),
    Probe("approval of requests of one name", granted(
        rule("create", "certificatesigningrequests", groups=CERTIFICATES),
        rule("get", "certificatesigningrequests", groups=CERTIFICATES, names="mine"),
        rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES, names="mine"),
        rule("approve", "signers", groups=CERTIFICATES)), "F1", goal=ADMIN),
    Probe("another role, put into an aggregated one that one has", (
        *granted(rule("escalate,update", "clusterroles", groups=RBAC, names="weak")),
        binding("reads", "view", PROBE)), "A8", goal=ADMIN),
    Probe("a new role, put into an aggregated one that one's group has", (
        *granted(rule("escalate,create", "clusterroles", groups=RBAC)),
        binding("reads", "view", "group:system:serviceaccounts:lab", namespace="ops")), "A8", goal=ADMIN),
    Probe("the missing account of a binding", granted(
        rule("create", "serviceaccounts"), rule("create", "*/token"), place="ops"), "A11", goal=ADMIN),
    Probe("impersonation of a user by name", granted(rule("impersonate", "users", names="boss")), "B1", goal=ADMIN),
    Probe("impersonation of groups, split", split(
        rule("impersonate", "users", names="nobody"), rule("impersonate", "groups", names="bosses")), "B2",
        goal=ADMIN),
    Probe("impersonation of an account", by_role("ops", rule("*", "serviceaccounts", names="admin")), "B3",
        goal=ADMIN),
    Probe("impersonation by aggregation", aggregated(rule("impersonate", "*")), "B1", goal=ADMIN),
    Probe("impersonation of uids", granted(rule("impersonate", "uids", groups=AUTHN)), "B4"),
    Probe("impersonation with an attribute", granted(
        rule("impersonate", "userextras/acme.example%2fteam", groups=AUTHN, names="core")), "B5"),
    Probe("secrets by the core group's wildcard", granted(rule("get", "*")), "C1", goal="all secrets"),
    Probe("list of one secret by name", by_role("ops", rule("list", "secrets", names="admin-token")), "C2",
        goal=ADMIN),
    Probe("watch of secrets in all groups", granted(rule("watch", "secrets", groups="*")), "C2", goal=ADMIN),
    Probe("create and read of secrets, split", split(rule("create", "secrets"), rule("watch", "secrets"), place="ops"),
        "C3", goal=ADMIN),
    Probe("a patch that shows a secret", by_role("ops", rule("patch", "secrets", names="admin-token")), "C4", goal=ADMIN),
    Probe("secrets in the answer to their deletion", by_role("ops", rule("deletecollection", "secrets")), "C2",
        goal=ADMIN),
    Probe("creation and patch of secrets", by_role("ops", rule("create,patch", "secrets")), "C3", goal=ADMIN),
    Probe("the missing role of a binding, by an update", (
        *granted(rule("create", "clusterroles", groups=RBAC),
            rule("update,escalate", "clusterroles", groups=RBAC, names="gone")),
        binding("lost", "gone", "group:system:serviceaccounts:lab")), "A10", goal=ADMIN),
    Probe("token requests by subresource wildcard", granted(rule("create", "*/token"), place="ops"), "C5", goal=ADMIN),
    Probe("token requests of one account", by_role("ops",
        rule("create", "serviceaccounts/token", names="admin,other")), "C5", goal=ADMIN),
    Probe("token requests, to all accounts", by_group("system:serviceaccounts",
        rule("create", "serviceaccounts/token"), place="ops"), "C5", goal=ADMIN),
    Probe("pods, to the accounts of the namespace", by_group("system:serviceaccounts:lab", rule("create", "pods"),
        place="ops"), "D1", goal=ADMIN),
    Probe("pods, to everybody with a login", by_group("system:authenticated", rule("create", "pods"), place="ops"),
        "D1", goal=ADMIN),
    Probe("workloads by a group's wildcard", by_role("ops", rule("create", "*", groups="apps")), "D2", goal=ADMIN),
    Probe("cron jobs", by_role("ops", rule("*", "cronjobs", groups="batch")), "D2", goal=ADMIN),
    Probe("images of running pods", by_role("ops", rule("patch", "pods", names="operator")), "D3", goal=ADMIN),
    Probe("daemon sets of the system", by_role("kube-system",
        rule("patch", "daemonsets", groups="apps", names="agent")), "D4", goal="a node"),
    Probe("exec by reading", by_role("ops", rule("get", "*/exec")), "D5", goal=ADMIN),
    Probe("exec by aggregation", aggregated(rule("create", "pods/exec")), "D5", goal=ADMIN),
    Probe("attach", by_role("ops", rule("create", "pods/attach")), "D6", goal=ADMIN),
    Probe("ephemeral containers by subresource wildcard", by_role("ops",
        rule("update,patch", "*/ephemeralcontainers")), "D7", goal=ADMIN),
    Probe("privileged pods in an open namespace", by_role("open", rule("create", "jobs", groups="batch")), "D9",
        goal="a node"),
    Probe("the label of a namespace", by_role("lab", rule("patch", "namespaces"), rule("create", "pods")), "D10",
        goal="a node"),
    Probe("a fresh namespace", granted(rule("create", "namespaces,pods")), "D11", goal="a node"),
    Probe("the kubelet by subresource wildcard", granted(rule("get", "*/proxy")), "E1", goal=ADMIN),
    Probe("the kubelet of one node", granted(rule("create", "nodes/proxy", names="node-1")), "E1", goal=ADMIN),
    Probe("approval for all signers of the domain, split", split(
        rule("create,watch", "certificatesigningrequests", groups=CERTIFICATES),
        rule("patch", "certificatesigningrequests/approval", groups=CERTIFICATES),
        rule("approve", "signers", groups=CERTIFICATES, names="kubernetes.io/*")), "F1", goal=ADMIN),
    Probe("a signature", granted(
        rule("sign", "signers", groups=CERTIFICATES),
        rule("update", "*/status", groups=CERTIFICATES)), "F2"),
    Probe("a certificate of a node", granted(
        rule("create", "certificatesigningrequests,certificatesigningrequests/nodeclient", groups=CERTIFICATES)),
        "F3"),
    Probe("a mutating webhook by name", granted(
        rule("update", "mutatingwebhookconfigurations", groups="*", names="vendor")), "G1", goal=ADMIN),
    Probe("a new mutating webhook", granted(rule("create", "*", groups=HOOKS)), "G1", goal=ADMIN),
    Probe("a validating webhook by name", granted(
        rule("patch", "validatingwebhookconfigurations", groups=HOOKS, names="vendor")), "G2"),
    Probe("webhooks disarmed", granted(rule("deletecollection", "validatingwebhookconfigurations", groups=HOOKS)),
        "G3"),
    Probe("conversion of custom resources", granted(
        rule("create,patch", "customresourcedefinitions", groups="apiextensions.k8s.io")), "G8"),
    Probe("a part of the API", granted(rule("create", "apiservices", groups="apiregistration.k8s.io")), "G9"),
    Probe("aws-auth, where it is not", by_role("kube-system", rule("patch", "configmaps", names="aws-auth")), "H1",
        verdict="possible"),
    Probe("the names of the cluster", by_role("kube-system", rule("update", "configmaps", names="coredns")), "H2"),
    Probe("volumes with a host path, split", split(
        rule("create", "persistentvolumes"), rule("create", "persistentvolumeclaims,pods")), "I1", goal="a node"),
    Probe("addresses of load balancers", by_role("lab", rule("patch", "services/status", names="shop")), "I6"),
    Probe("addresses of services", by_role("lab", rule("update", "services")), "I5"),
    Probe("stolen pods", granted(rule("create", "pods/eviction"), rule("patch", "nodes/status")), "D13"),
    Probe("the status of nodes by name", granted(rule("patch", "nodes/status", names="node-1")), "E4"),
    Probe("the status of pods", by_role("lab", rule("patch", "pods/status")), "D14"),
    Probe("approval, read by approving again", granted(
        rule("create", "certificatesigningrequests", groups=CERTIFICATES),
        rule("patch", "certificatesigningrequests/approval", groups=CERTIFICATES),
        rule("approve", "signers", groups=CERTIFICATES, names="kubernetes.io/*")), "F1", goal=ADMIN),
    Probe("approval of what others ask for", granted(
        rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES),
        rule("approve", "signers", groups=CERTIFICATES)), "F1"),
    Probe("a new role with one's own rules, put into an aggregated one", granted(
        rule("get,list", "secrets"), rule("create", "clusterroles", groups=RBAC)), "A8"),
    Probe("a place for pods, by the older resource", granted(rule("create", "pods,bindings")), "D12"),
    Probe("policies of the network, all at once", by_role("lab",
        rule("deletecollection", "networkpolicies", groups="networking.k8s.io")), "I9"),
    Probe("the lease of a controller, where there is none", by_role("kube-system",
        rule("update", "leases", groups="coordination.k8s.io", names="kube-controller-manager")), "E8",
        verdict="possible"),
    Probe("a system account that is bound and not made", by_role("kube-system",
        rule("create", "serviceaccounts/token", names="clusterrole-aggregation-controller")), "C5",
        verdict="possible"),
    Probe("a pod of the system", by_role("kube-system", rule("create", "pods")), "J9", goal=ADMIN),
)  # fmt: skip

LOOK_ALIKES: tuple[Probe, ...] = (
    Probe("secrets of another group", granted(rule("*", "secrets", groups="apps")), never=("C1", "C2", "C3", "C4")),
    Probe("subresources by a star behind the slash", granted(rule("*", "pods/*")), never=("D5", "D6", "D7", "D3")),
    Probe("pods that must have a name", by_role("ops", rule("create", "pods", names="operator")),
        never=("D1", "D9", "C6")),
    Probe("deployments of the core group", by_role("ops", rule("create,patch", "deployments")), never=("D2", "D9")),
    Probe("cluster-wide things in a namespace", granted(
        rule("get,create", "nodes/proxy"), rule("bind,escalate,update", "clusterroles", groups=RBAC),
        rule("create", "clusterrolebindings", groups=RBAC), rule("create", "persistentvolumes"),
        rule("impersonate", "users,groups"), rule("create", "mutatingwebhookconfigurations", groups=HOOKS),
        place="lab"), never=("E1", "A5", "A9", "B1", "B2", "G1", "I1")),
    Probe("bind on bindings", granted(rule("bind,create", "rolebindings,clusterrolebindings", groups=RBAC)),
        never=("A4",)),
    Probe("bindings without bind", granted(rule("create,patch", "rolebindings,clusterrolebindings", groups=RBAC)),
        never=("A4",)),
    Probe("a new role, under escalate of one name", (
        *granted(rule("create", "clusterroles", groups=RBAC), rule("escalate", "clusterroles", groups=RBAC, names="x")),
        binding("reads", "view", PROBE)), never=("A5", "A8", "A9")),
    Probe("roles without escalate", granted(rule("create,update", "roles,clusterroles", groups=RBAC)),
        never=("A5", "A8", "A9", "A10")),
    Probe("the missing role of a binding, by a creation under escalate of one name", (
        *granted(rule("create", "clusterroles", groups=RBAC), rule("escalate", "clusterroles", groups=RBAC, names="gone")),
        binding("lost", "gone", "group:system:serviceaccounts:lab")), never=("A5", "A9")),
    Probe("the missing account of a binding, without tokens for it", by_role("ops",
        rule("create", "serviceaccounts"), rule("create", "serviceaccounts/token", names="another")),
        never=("A11",)),
    Probe("creation of secrets only", by_role("ops", rule("create", "secrets")), never=("C1", "C2", "C3", "C4")),
    Probe("bind of a weak role", granted(
        rule("bind", "clusterroles", groups=RBAC, names="weak"), rule("create", "clusterrolebindings", groups=RBAC)),
        never=("A4",)),
    Probe("names that are not there", by_role("ops",
        rule("create", "serviceaccounts/token", names="missing"), rule("get", "secrets", names="missing"),
        rule("create", "pods/exec", names="missing"), rule("patch", "pods", names="missing")),
        never=("C5", "C1", "D5", "D3")),
    Probe("secrets of an empty namespace", by_role("empty", rule("get,list,watch", "secrets")), never=("C1", "C2")),
    Probe("approval for another signer", granted(
        rule("create,get", "certificatesigningrequests", groups=CERTIFICATES),
        rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES),
        rule("approve", "signers", groups=CERTIFICATES, names="vendor.example/*")), never=("F1",)),
    Probe("approval without approve", granted(
        rule("create,get", "certificatesigningrequests", groups=CERTIFICATES),
        rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES)), never=("F1",)),
    Probe("impersonation in the wrong group", granted(rule("impersonate", "users,groups,serviceaccounts",
        groups=AUTHN)), never=("B1", "B2", "B3")),
    Probe("groups without a user", granted(rule("impersonate", "groups")), never=("B2",)),
    Probe("attributes without a key", granted(rule("impersonate", "userextras", groups=AUTHN)), never=("B5",)),
    Probe("scale only", by_role("ops", rule("update", "deployments/scale", groups="apps")), never=("D2",)),
    Probe("a user who may do nothing", granted(rule("impersonate", "users", names="nobody")), never=("B1", "B2"),
        taken=True),
    Probe("an account that may do nothing", by_role("lab",
        rule("create", "serviceaccounts/token", names="other"), rule("impersonate", "serviceaccounts", names="other")),
        never=("C5", "B3"), taken=True),
    Probe("a service account among the users", granted(
        rule("impersonate", "users", names="system:serviceaccount:ops:admin")), never=("B1",)),
    Probe("config maps that steer nothing", by_role("lab", rule("update,patch,create", "configmaps")), never=("G6",)),
    Probe("the lease of oneself", by_role("kube-system",
        rule("update", "leases", groups="coordination.k8s.io", names="mine")), never=("E8",)),
    Probe("reviews of oneself", granted(
        rule("create", "selfsubjectaccessreviews,selfsubjectrulesreviews", groups="authorization.k8s.io")),
        never=("C10",)),
    Probe("paths", granted(rule("*", urls="*")), never=("A1",)),
    Probe("reading what is no secret", granted(rule("get,list,watch", "pods,services,nodes,namespaces,events")),
        never=("C1", "C8", "D5")),
)  # fmt: skip
