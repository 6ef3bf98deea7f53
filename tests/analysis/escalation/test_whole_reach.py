"""What an attacker reaches by requests is listed: ways that need several grants, identities or objects that are not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from simkit.analysis import who_can
from simkit.analysis.escalation import blast_radius, cut, escalations
from tests.analysis.escalation.probes import CERTIFICATES, safe, secret
from tests.analysis.escalation.scenes import RBAC, fenced, node, pod, served
from tests.analysis.worlds import account, binding, namespace, role, rule, world

Objects = Sequence[Mapping[str, Any]]
ANN: Final = "user:ann"
ADMIN: Final = role("cluster-admin", rule("*", "*", groups="*"))
WORKLOADS: Final = rule("create", "deployments", groups="apps")
SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
BASE: Final = (
    *(fenced("dev"), fenced("ops"), account("dev", "app"), account("ops", "admin"), account("ops", "default")),
    *(node("node-1"), node("control", **{"node-role.kubernetes.io/control-plane": ""})),
    *(binding("strong", "cluster-admin", "sa:ops/admin"), role("weak", rule("get", "configmaps"))),
)
GONE: Final = binding("lost", "cluster-admin", "sa:dev/gone")
BOOTSTRAP: Final = {
    **secret("kube-system", "bootstrap-token-aaaaaa"),
    "type": "bootstrap.kubernetes.io/token",
    "data": {"token-secret": "YQ==", "auth-extra-groups": "c3lzdGVtOmJvb3RzdHJhcHBlcnM6eA=="},
}
"""A bootstrap token for the group ``system:bootstrappers:x``."""


def granted(*rules: dict[str, Any], place: str = "", to: str = ANN, name: str = "own") -> tuple[dict[str, Any], ...]:
    return role(name, *rules), binding(name, name, to, namespace=place)


def mounting(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    volumes = [{"name": "taken", "secret": {"secretName": name}}]
    return pod("ops", "web", "default", {**spec, "volumes": volumes})


REACHED: Final[Mapping[str, Objects]] = {
    "an account that is bound and not made, impersonated": (
        GONE,
        *granted(rule("impersonate", "serviceaccounts"), place="dev"),
    ),
    "one of its name": (GONE, *granted(rule("impersonate", "serviceaccounts", names="gone"), place="dev")),
    "one in a namespace that is not there": (
        binding("lost", "cluster-admin", "sa:nowhere/gone"),
        *granted(rule("impersonate", "serviceaccounts")),
    ),
    "the missing account of a binding, by a workload": (
        GONE,
        *granted(rule("create", "serviceaccounts"), WORKLOADS, place="dev"),
    ),
    "the missing account of a binding, by a token secret": (
        GONE,
        *granted(rule("create", "serviceaccounts"), rule("create,get", "secrets"), place="dev"),
    ),
    "the label of a namespace, and workloads": granted(rule("patch", "namespaces"), WORKLOADS, place="dev"),
    "a fresh namespace, and workloads": (
        *granted(rule("create", "namespaces")),
        *granted(WORKLOADS, name="deploys"),
        *(fenced(name) for name in ("default", "kube-system")),
    ),
    "a secret of another account in a pod": (
        secret("ops", "admin-token", **{"kubernetes.io/service-account.name": "admin"}),
        mounting("admin-token", safe("default")),
        *granted(rule("create", "pods/exec"), place="ops"),
    ),
    "a bootstrap token": (
        BOOTSTRAP,
        binding("boot", "cluster-admin", "group:system:bootstrappers:x"),
        *granted(rule("get", "secrets"), place="kube-system"),
    ),
    "approval for kubelets": (
        pod("ops", "operator", "admin", safe("admin")),
        *granted(
            rule("create", "certificatesigningrequests", groups=CERTIFICATES),
            rule("update", "certificatesigningrequests/approval", groups=CERTIFICATES),
            rule("approve", "signers", groups=CERTIFICATES, names=SIGNER),
        ),
    ),
    "a new role that may be bound": (
        role(
            "own",
            rule("create,escalate,bind", "roles", groups=RBAC),
            rule("create", "rolebindings", groups=RBAC),
            namespace="ops",
        ),
        binding("own", "own", ANN, namespace="ops", local=True),
    ),
    "a role that may be bound, then changed": granted(
        rule("bind,escalate,update", "clusterroles", groups=RBAC, names="weak"),
        rule("create", "clusterrolebindings", groups=RBAC),
    ),
    "secrets of one name that may be read in all namespaces": granted(
        rule("create", "secrets"), rule("get", "secrets", names="new")
    ),
    "pods of one name, by an apply": granted(rule("create,patch", "pods", names="new"), place="ops"),
    "secrets of one name, by an apply": granted(rule("create,patch", "secrets", names="new"), place="ops"),
    "bindings of one name, by an apply": granted(
        rule("create,patch", "clusterrolebindings", groups=RBAC, names="new"),
        rule("bind", "clusterroles", groups=RBAC),
    ),
    "workloads of one name, by an apply": granted(
        rule("create,patch", "deployments", groups="apps", names="new,old"), place="ops"
    ),
    "a missing account made by one identity, its token by another": (
        GONE,
        *granted(rule("create", "serviceaccounts"), to="sa:dev/app", name="makes"),
        *granted(rule("create", "*/token")),
    ),
    "secrets made by one identity and read by another": (
        *granted(rule("create", "secrets"), to="sa:dev/app", place="ops", name="makes"),
        *granted(rule("create", "serviceaccounts/token"), place="dev", name="becomes"),
        *granted(rule("get", "secrets"), place="ops"),
    ),
    "secrets made by one impersonated identity and read by another": (
        *granted(rule("create", "secrets"), to="user:bob", place="ops", name="makes"),
        *granted(rule("get", "secrets"), to="user:eve", place="ops", name="reads"),
        *granted(rule("impersonate", "users", names="bob,eve")),
    ),
}


@pytest.mark.parametrize("name", REACHED)
def test_what_is_reached_is_listed(name: str) -> None:
    """For the subject alone and among all of them."""
    snapshot = world(ADMIN, *BASE, *REACHED[name])
    assert escalations(snapshot, ANN, goal="cluster-admin")
    assert ANN in {path.subject for path in escalations(snapshot, goal="cluster-admin")}
    assert blast_radius(snapshot, ANN).cluster_admin


@pytest.mark.slow
@pytest.mark.parametrize("name", REACHED)
def test_what_is_listed_is_reached(name: str) -> None:
    """The best path is executed."""
    cluster = served(*BASE)
    cluster.settle()
    objects = [obj for obj in REACHED[name] if obj["metadata"]["name"] not in ("default", "kube-system")]
    cluster.apply([dict(obj) for obj in objects])
    [path] = escalations(cluster.snapshot(), ANN, goal="cluster-admin")
    assert path.prove(cluster).proven, str(path.prove(cluster))


def test_all_roles_count_where_cluster_admin_is_not_there() -> None:
    """Who may bind any role binds the strongest that there is."""
    rules = rule("bind", "clusterroles", groups=RBAC), rule("create", "clusterrolebindings", groups=RBAC)
    snapshot = world(*BASE, role("root", rule("*", "*", groups="*")), *granted(*rules))
    assert escalations(snapshot, ANN, goal="cluster-admin")


def test_accounts_count_in_a_namespace_that_the_manifests_do_not_create() -> None:
    """Manifests of a chart may create one namespace and use another."""
    objects = (ADMIN, namespace("dev"), account("ops", "admin"), binding("strong", "cluster-admin", "sa:ops/admin"))
    assert escalations(world(*objects, *granted(rule("create", "pods"))), ANN, goal="cluster-admin")


LOOK_ALIKES: Final[Mapping[str, Objects]] = {
    "checks of one request, of two identities": (
        *granted(rule("bind", "clusterroles", groups=RBAC), to="sa:dev/app", name="binds"),
        *granted(rule("create", "serviceaccounts/token", names="app"), place="dev", name="becomes"),
        *granted(rule("create", "clusterrolebindings", groups=RBAC)),
    ),
    "two identities in two namespaces": (
        *granted(rule("create", "secrets"), to="sa:dev/app", place="ops", name="makes"),
        *granted(rule("create", "serviceaccounts/token", names="app"), place="dev", name="becomes"),
        *granted(rule("get", "secrets"), place="kube-system"),
    ),
    "pods of one name, which is taken": (
        pod("ops", "taken", "default", {**safe("default"), "automountServiceAccountToken": False}),
        *granted(rule("create,patch", "pods", names="taken"), place="ops"),
    ),
    "an identity that is not reached": (
        *granted(rule("create", "secrets"), to="sa:dev/app", place="ops", name="makes"),
        *granted(rule("get", "secrets"), place="ops"),
    ),
    "a level of pod security that nobody knows, which means the strictest": (
        {**fenced("open", ""), "metadata": {"name": "open", "labels": {"pod-security.kubernetes.io/enforce": ""}}},
        *granted(rule("create", "pods"), place="open"),
    ),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_is_not_reached_is_not_listed(name: str) -> None:
    snapshot = world(ADMIN, *BASE, *LOOK_ALIKES[name])
    assert not escalations(snapshot, ANN, goal=("cluster-admin", "a node"))


def test_a_search_without_pods_says_so() -> None:
    """A small reach and a small cut of a dump of access alone are no good news."""
    captured = ("clusterroles", "clusterrolebindings", "roles", "rolebindings", "serviceaccounts")
    snapshot = world(ADMIN, *granted(rule("create", "pods/exec"), place="ops"), captured=captured)
    for answer in (blast_radius(snapshot, ANN), cut(snapshot)):
        assert "pods" in str(answer.caveats[-1])


def test_aggregated_roles_that_no_controller_has_filled_are_told() -> None:
    """Manifests have them without rules: that nobody has their permissions is no answer."""
    whole = {**role("whole"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}}
    part = role("part", rule("get", "secrets"), labels={"to": "whole"})
    objects = [whole, part, binding("whole", "whole", ANN)]
    for answer in (who_can(world(*objects), "get", "secrets").attrs["caveats"], escalations(world(*objects)).caveats):
        assert "whole" in str(answer)
    filled = world({**whole, "rules": part["rules"]}, *objects[1:])
    assert "caveats" not in who_can(filled, "get", "secrets").attrs
