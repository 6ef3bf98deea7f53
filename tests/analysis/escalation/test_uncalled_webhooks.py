"""A proof on a cluster whose webhooks are not called rests on what they would have said, and says so."""

from __future__ import annotations

from typing import Any

import pytest

import simkit


def hook(kind: str, policy: str, **rule: list[str]) -> dict[str, Any]:
    """A configuration with one webhook that nobody can reach."""
    matched = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], **rule}
    webhook = {
        "name": "judge.example.com",
        "rules": [matched],
        "failurePolicy": policy,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://judge.example.com/"},
    }
    version = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration"}
    return {**version, "metadata": {"name": "judge"}, "webhooks": [webhook]}


def rbac(kind: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "writers"}, **more}


ROLE = rbac(
    "ClusterRole", rules=[{"apiGroups": ["*"], "resources": ["clusterrolebindings", "clusterroles"], "verbs": ["*"]}]
)
BINDING = rbac(
    "ClusterRoleBinding",
    roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writers"},
    subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
)


def assumptions(*webhooks: dict[str, Any]) -> set[str]:
    """What the proofs of alice's paths assume."""
    cluster = simkit.load([ROLE, BINDING, *webhooks], manifests=True)
    proofs = cluster.escalations("user:alice").prove()
    assert any(proof.proven for proof in proofs)
    return {each for proof in proofs if proof.proven for each in proof.assumptions}


@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_may_refuse_is_an_assumption(kind: str, policy: str) -> None:
    """Whether it would admit the attacker's writes is not known; with Ignore it may refuse as well."""
    assert any("judge.example.com" in each for each in assumptions(hook(kind, policy)))


def test_a_webhook_about_other_objects_is_none() -> None:
    """It is not asked in a real cluster either."""
    assert not assumptions(hook("Validating", "Fail", resources=["pods"]))
