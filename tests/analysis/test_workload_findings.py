"""Findings about pods and their accounts, about changed defaults, and about bindings that add nothing."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.analysis.findings import Finding, audit
from simkit.analysis.rbac.default_objects import settled_defaults
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import account, binding, namespace, role, rule, world


def pod(name: str, service_account: str = "", *, mounted: bool | None = None) -> dict[str, Any]:
    """A pod in dev."""
    spec: dict[str, Any] = {"containers": [{"name": "a", "image": "a"}]}
    spec |= {"serviceAccountName": service_account} if service_account else {}
    spec |= {"automountServiceAccountToken": mounted} if mounted is not None else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "dev"}, "spec": spec}


def found(check: str, *objects: Any) -> list[Finding]:
    """The findings of one check in a cluster of these objects."""
    return list(audit(world(namespace("dev"), *objects), checks=[check]).findings)


SECRETS = role("secrets", rule("list", "secrets"))
MUTE = {**account("dev", "app"), "automountServiceAccountToken": False}


@pytest.mark.parametrize(
    ("bound", "severity"),
    [
        (binding("b", "secrets", "sa:dev/app"), ["high"]),
        (binding("b", "secrets", "sa:dev/app", namespace="dev"), []),
        (binding("b", "secrets", "sa:dev/other"), []),
        (binding("b", "secrets", "user:system:serviceaccount:dev:app"), ["high"]),
    ],
)
def test_pods_with_dangerous_accounts(bound: Any, severity: list[str]) -> None:
    """A power over the whole cluster counts, by whatever name the account is bound."""
    listed = found("power-pods", SECRETS, bound, pod("web", "app"), pod("web-2", "app"), account("dev", "app"))
    assert [finding.severity.word for finding in listed] == severity
    if listed:
        assert "2 pods (web, web-2) run as sa:dev/app, which can list or watch secrets." in listed[0].message


def test_pods_of_administrators_have_a_finding_of_their_own() -> None:
    """An administrator's pods are found once."""
    objects = [role("all", rule("*", "*", groups="*")), binding("b", "all", "sa:dev/app"), pod("web", "app")]
    assert found("power-pods", *objects) == []
    assert len(found("admin-pods", *objects)) == 1


def test_unused_accounts() -> None:
    """An account that no pod and no template names is found if it has a binding, worse if it may do everything."""
    template = {"spec": {"serviceAccountName": "app"}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "dev"}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "night", "namespace": "dev"}}
    bound = [SECRETS, account("dev", "app"), binding("b", "secrets", "sa:dev/app", namespace="dev")]
    assert found("unused-account", *bound) == []  # without any pod nothing shows what runs
    bound.append(pod("other", "other"))
    assert [finding.severity.word for finding in found("unused-account", *bound)] == ["low"]
    assert found("unused-account", account("dev", "app")) == []
    assert found("unused-account", *bound, pod("web", "app")) == []
    assert found("unused-account", *bound, {**deployment, "spec": {"template": template}}) == []
    assert found("unused-account", *bound, {**cron, "spec": {"jobTemplate": {"spec": {"template": template}}}}) == []
    wide = [role("all", rule("*", "*", groups="*")), binding("c", "all", "sa:dev/app")]
    assert [finding.severity.word for finding in found("unused-account", *bound, *wide)] == ["medium"]


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        ([account("dev", "app"), pod("web", "app")], ["sa:dev/app"]),
        ([account("dev", "app"), pod("web", "app", mounted=False)], []),
        ([MUTE, pod("web", "app")], []),
        ([MUTE, pod("web", "app", mounted=True)], ["sa:dev/app"]),
        ([account("dev", "default"), pod("web")], ["sa:dev/default"]),
        ([account("dev", "app"), pod("web", "app"), binding("b", "secrets", "sa:dev/app")], []),
        ([account("dev", "app"), pod("web", "app"), binding("b", "r", "group:system:serviceaccounts:dev")], []),
    ],
)
def test_tokens_without_need(objects: list[Any], names: list[str]) -> None:
    """The pod's own word counts before the account's; an account with a binding needs its token."""
    listed = found("needless-token", *objects)
    assert [f"sa:{finding.subjects[0].namespace}/{finding.subjects[0].name}" for finding in listed] == names
    for finding in listed:
        assert finding.manifest is not None
        assert finding.manifest["automountServiceAccountToken"] is False


def defaults(**changed: dict[str, Any] | None) -> MemorySnapshot:
    """A cluster with the server's own roles and bindings, some of them other, or gone (None)."""
    kept = [obj for obj in settled_defaults("1.30").values() if obj["metadata"]["name"] not in changed]
    return MemorySnapshot([*kept, *filter(None, changed.values())], captured=["*"])


def test_defaults_as_they_are_made_are_no_drift() -> None:
    """A fresh server has none, and manifests without any defaults have none."""
    assert audit(defaults(), checks=["default-drift"]).findings == ()
    assert found("default-drift", SECRETS) == []


def test_changed_defaults() -> None:
    """Roles that allow more or less, other subjects, and what is missing; the fix is the server's own role."""
    roles = [obj for obj in settled_defaults("1.30").values() if obj["kind"] == "ClusterRole"]
    by_name = {obj["metadata"]["name"]: obj for obj in roles}
    node = by_name["system:node-problem-detector"]
    wider = {**node, "rules": [*node["rules"], rule("get", "secrets")]}
    narrower = {**by_name["system:kube-dns"], "rules": []}
    admins = [obj for obj in settled_defaults("1.30").values() if obj["kind"] == "ClusterRoleBinding"]
    admin = next(obj for obj in admins if obj["metadata"]["name"] == "cluster-admin")
    more = {**admin, "subjects": [*admin["subjects"], {"kind": "User", "name": "eve"}]}
    snapshot = defaults(
        **{"system:node-problem-detector": wider, "system:kube-dns": narrower, "system:node-bootstrapper": None}
    )
    told = {finding.message: finding for finding in audit(snapshot, checks=["default-drift"]).findings}
    wide = told["ClusterRole system:node-problem-detector allows more than the Kubernetes default: get secrets."]
    assert wide.severity.word == "medium"
    assert wide.manifest is not None
    assert wide.manifest["rules"] == node["rules"]
    assert sum("allows less" in message for message in told) == 1
    (missing,) = [message for message in told if message.endswith("missing.")]
    assert "ClusterRole system:node-bootstrapper" in missing
    kept = [obj for obj in settled_defaults("1.30").values() if obj != admin]
    drift = audit(MemorySnapshot([*kept, more], captured=["*"]), checks=["default-drift"]).findings
    assert [(finding.severity.word, finding.message) for finding in drift] == [
        ("high", "ClusterRoleBinding cluster-admin is a default binding, but also names user:eve.")
    ]


@pytest.mark.parametrize(
    ("objects", "superfluous"),
    [
        ([binding("wide", "secrets", "user:ann"), binding("local", "few", "user:ann", namespace="dev")], ["local"]),
        ([binding("wide", "secrets", "user:ann"), binding("local", "few", "user:ann", "user:bob", namespace="dev")], []),
        ([binding("local", "secrets", "user:ann", namespace="dev"), binding("wide", "few", "user:ann")], []),
        ([binding("one", "secrets", "user:ann"), binding("two", "more", "user:ann")], ["one"]),
        ([binding("one", "secrets", "user:ann"), binding("two", "same", "user:ann")], ["one"]),
        ([binding("one", "more", "user:ann"), binding("two", "pods", "user:ann"), binding("both", "sum", "user:ann")], ["both"]),
        ([binding("one", "gone", "user:ann"), binding("two", "secrets", "user:ann")], []),
    ],
)  # fmt: skip
def test_bindings_that_add_nothing(objects: list[Any], superfluous: list[str]) -> None:
    """A binding is superfluous where others together give each of its subjects all of it; of two alike only one is."""
    roles = [
        SECRETS,
        role("few", rule("list", "secrets", names="db")),
        role("more", rule("get,list", "secrets")),
        role("same", rule("list", "secrets")),
        role("pods", rule("get", "pods")),
        role("sum", rule("get", "pods,secrets")),
    ]
    listed = found("subsumed-binding", *roles, *objects)
    assert [finding.binding.name for finding in listed if finding.binding] == superfluous
    for finding in listed:
        assert finding.command.startswith("kubectl delete")
        rules = {each["metadata"]["name"]: each["rules"] for each in roles}
        assert finding.role is not None
        assert rules[finding.role.name]
