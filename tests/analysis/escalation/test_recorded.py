"""Attempts that were executed on kube-apiserver: those that worked are found and proven, the look-alikes are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from simkit.analysis.escalation import Path, escalations, next_steps
from simkit.cluster.cluster import Cluster
from simkit.cluster.loading import load
from simkit.meta import datasets
from tests.analysis.worlds import account, binding
from tests.shared import SHARED, needs_shared

pytestmark = needs_shared

EXTRA: Mapping[str, list[dict[str, Any]]] = {
    "impersonate-user-with-admin-binding": [
        account("checkout", "support-proxy"),
        binding("proof-support", "company:impersonate-support", "sa:checkout/support-proxy"),
    ],
    "aggregation-label-injection-holding-the-rules": [
        binding("proof-reader", "company:secrets-reader", "group:oidc:label-editors"),
        binding("proof-editor", "company:label-editor", "group:oidc:label-editors"),
    ],
}
"""What the recording adds to the cluster, as its descriptions say."""

WORKED: Mapping[str, tuple[str, str]] = {
    "pod-with-other-service-account": ("D1", "payments"),
    "pod-as-aggregation-controller": ("D1", "kube-system"),
    "deployment-as-aggregation-controller": ("D2", "kube-system"),
    "list-with-resource-name": ("C2", "secret payments/app-secrets"),
    "impersonate-user-with-admin-binding": ("B1", "user"),
    "patch-existing-rolebinding": ("A4", "company:ci-deployer in identity"),
    "aggregation-label-injection-holding-the-rules": ("A8", "impact A8"),
    "csr-approve-and-sign": ("F1", "user:"),
    "namespace-label-lifts-pod-security": ("D10", "impact D10"),
    "webhook-configuration-write": ("G1", "cluster-admin"),
    "hostpath-persistent-volume": ("I1", "impact I1"),
    "ephemeral-container": ("D7", "ml-research"),
    "exec-authorised": ("D5", "checkout"),
    "node-proxy": ("E1", "pod"),
}
"""The primitive of each attempt that worked, and a part of where it leads."""

TRIED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "pod-in-closed-namespace": (("D1", "D9", "C6"), "catalog"),
    "token-resource-name-limited": (("C5", "J9"), "tiller"),
    "token-with-custom-developer-role": (("C5",), "payments"),
    "recreate-missing-service-account-elsewhere": (("A11",), "decommissioned"),
    "token-secret-create-only": (("C1", "C2", "C3", "C6"), "ml-research"),
    "impersonate-without-the-right": (("B1", "B2", "B3"), ""),
    "rolebinding-write-without-bind": (("A4", "A5"), "checkout"),
    "role-write-without-escalate": (("A5", "A9", "A10"), ""),
    "aggregation-label-injection-without-holding-the-rules": (("A8",), ""),
    "csr-approve-without-signer-right": (("F1",), ""),
    "scale-only": (("D1", "D2"), "payments"),
}
"""The primitives that each look-alike tried, and a part of where they would have led."""


def attempts() -> list[dict[str, Any]]:
    path = SHARED / "datasets" / "escalations.jsonl"
    return [orjson.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def named(outcome: str) -> list[Any]:
    return [pytest.param(one, id=one["name"]) for one in attempts() if one["outcome"] == outcome]


@pytest.fixture(scope="module")
def company() -> Cluster:
    """The cluster that the attempts were made on."""
    return load(SHARED / "datasets" / "operators-and-teams.json.gz")


def scene_of(company: Cluster, attempt: Mapping[str, Any]) -> tuple[Cluster, str, dict[str, list[str]]]:
    """The cluster with what the recording adds, the attacker, and the groups it is in."""
    cluster = company.fork()
    for obj in EXTRA.get(attempt["name"], []):
        cluster.apply([obj])
    user = attempt["attacker"]["user"]
    groups = [group for group in attempt["attacker"]["groups"] if not group.startswith("system:")]
    return cluster, user, {group: [user] for group in groups}


def own_moves(cluster: Cluster, user: str, members: dict[str, list[str]]) -> list[Path]:
    """The steps that the attacker can take by its own grants and groups, not by those of everybody."""
    everybody = ("system:authenticated", "system:serviceaccounts")
    found = next_steps(cluster.snapshot(), user, members=members)
    return [path for path in found if not any(need[0].subject.name in everybody for need in path.grants)]


@pytest.mark.slow
@pytest.mark.parametrize("attempt", named("escalated"))
def test_recorded_escalations_are_found_and_proven(company: Cluster, attempt: Mapping[str, Any]) -> None:
    """As a path of the attacker, executed on a fork."""
    cluster, user, members = scene_of(company, attempt)
    if attempt["name"] == "wildcard-service-account-grants-itself":
        [path] = escalations(cluster.snapshot(), user, goal="cluster-admin", direct=True)
        assert path.primitives == ("A1",)
        assert path.prove(cluster).proven
        return
    primitive, end = WORKED[attempt["name"]]
    paths = [path for path in next_steps(cluster.snapshot(), user, members=members) if path.primitives[-1] == primitive]
    proofs = [path.prove(cluster, members=members) for path in paths if end in f"{path.goal} {path.end}"]
    assert any(proof.proven for proof in proofs), "\n".join(map(str, proofs))


@pytest.mark.parametrize("attempt", named("denied"))
def test_harmless_lookalikes_are_not_found(company: Cluster, attempt: Mapping[str, Any]) -> None:
    """By its own grants the attacker has no such step; and what it tried is refused on a fork too."""
    cluster, user, members = scene_of(company, attempt)
    primitives, end = TRIED[attempt["name"]]
    paths = own_moves(cluster, user, members)
    assert not [path for path in paths if path.primitives[-1] in primitives and end in f"{path.goal} {path.end}"]


@pytest.mark.slow
def test_all_paths_to_cluster_admin_are_proven(company: Cluster) -> None:
    """One of each kind; every subject of the company has one, since one namespace is open to everybody."""
    paths = escalations(company.snapshot(), goal="cluster-admin")
    assert len(paths) > 250
    kinds = {path.primitives: path for path in paths}
    unproven = [proof for proof in (path.prove(company) for path in kinds.values()) if not proof.proven]
    assert not unproven, "\n".join(map(str, unproven))


@pytest.mark.parametrize(
    "goal",
    [
        *("all secrets", "a node", "namespace payments", "sa:argocd/argocd-application-controller"),
        *("list customresourcedefinitions", "create pods/exec in checkout", "get /metrics", "impact I1"),
    ],
)
def test_paths_to_other_goals_are_proven(company: Cluster, goal: str) -> None:
    """One of each kind."""
    kinds = {path.primitives: path for path in company.escalations(goal=goal)}
    assert kinds
    proofs = [path.prove() for path in kinds.values()]
    assert all(proofs), "\n".join(str(proof) for proof in proofs if not proof)


def test_the_bundled_cluster_is_proven_too() -> None:
    """Each planted way to everything is found and goes through."""

    cluster = load(datasets.path("clusters/pellowick.json.gz"))
    paths = escalations(cluster.snapshot(), goal="cluster-admin")
    kinds = {path.primitives: path for path in paths}
    assert {"A4", "A5", "B2", "C5", "D5", "D7", "F1", "G1"} <= {kind[0] for kind in kinds}
    assert all(path.prove(cluster).proven for path in kinds.values())
