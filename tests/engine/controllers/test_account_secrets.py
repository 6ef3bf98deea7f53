"""Secrets with tokens that service accounts got up to 1.23, and how pods got them."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.errors import StatusError
from tests.engine.admission.objects import change

ROBOT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}}


def cluster_at(release: str, **gates: bool) -> simkit.Cluster:
    cluster = simkit.Cluster(options=Options(release=release, seed=1, feature_gates=gates))
    cluster.create(ROBOT)
    cluster.settle()
    return cluster


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    whole = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": whole}


def secret_names(cluster: simkit.Cluster) -> list[str]:
    account = cluster.get("serviceaccounts", "robot", namespace="default")
    return [each["name"] for each in account.get("secrets") or ()]


@pytest.mark.parametrize(("release", "count"), [("1.16", 1), ("1.23", 1), ("1.24", 0)])
def test_each_account_gets_a_secret(release: str, count: int) -> None:
    """With a token and the account's uid, up to 1.23."""
    cluster = cluster_at(release)
    names = secret_names(cluster)
    assert len(names) == count
    for name in names:
        secret = cluster.get("secrets", name, namespace="default")
        assert secret["type"] == "kubernetes.io/service-account-token"
        assert sorted(secret["data"]) == ["ca.crt", "namespace", "token"]
        assert name.startswith("robot-token-")
        uid = cluster.get("serviceaccounts", "robot", namespace="default")["metadata"]["uid"]
        assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == uid


def test_a_gate_brings_the_secrets_back() -> None:
    """Until 1.25 they could be switched on again."""
    assert len(secret_names(cluster_at("1.24", LegacyServiceAccountTokenNoAutoGeneration=False))) == 1


def test_secrets_follow_their_account() -> None:
    """A removed secret is replaced; with the account its secrets go."""
    cluster = cluster_at("1.20")
    first = secret_names(cluster)
    cluster.delete("secrets", first[0], namespace="default")
    cluster.settle()
    second = secret_names(cluster)
    assert (len(second), second != first) == (1, True)
    cluster.delete("serviceaccounts", "robot", namespace="default")
    cluster.settle()
    with pytest.raises(StatusError, match="not found"):
        cluster.get("secrets", second[0], namespace="default")


def test_settled_clusters_make_no_more() -> None:
    """An account that names a token of its own is left alone."""
    cluster = cluster_at("1.20")
    change(cluster, "/api/v1/namespaces/default/serviceaccounts/robot", {"imagePullSecrets": [{"name": "x"}]})
    cluster.settle()
    assert len(secret_names(cluster)) == 1


def test_pods_of_1_20_mount_the_secret() -> None:
    """The volume has the name of the secret, or one of its own where that is taken; a volume that is there is used."""
    cluster = cluster_at("1.20")
    (secret,) = secret_names(cluster)
    volume = {"name": secret, "secret": {"secretName": secret, "defaultMode": 420}}
    made = cluster.create(pod())["spec"]
    assert made["volumes"] == [volume]
    mount = {"name": secret, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    assert made["containers"][0]["volumeMounts"] == [mount]
    taken = cluster.create(pod("taken", volumes=[{"name": secret, "emptyDir": {}}]))["spec"]["volumes"]
    assert taken[1]["name"].startswith(f"{secret}-")
    present = cluster.create(pod("present", volumes=[{"name": "mine", "secret": {"secretName": secret}}]))["spec"]
    assert [each["name"] for each in present["volumes"]] == ["mine"]
    assert present["containers"][0]["volumeMounts"][0]["name"] == "mine"


def test_pods_wait_for_the_secret() -> None:
    """A pod whose account has no token yet is to be sent again; from 1.21 on it gets one of its own."""
    for release, refused in (("1.20", True), ("1.21", False)):
        cluster = simkit.Cluster(release, seed=1)
        cluster.create(ROBOT)
        if not refused:
            assert "projected" in cluster.create(pod())["spec"]["volumes"][0]
            continue
        with pytest.raises(StatusError, match='No API token found for service account "robot", retry after') as caught:
            cluster.create(pod())
        error = caught.value
        assert (error.code, error.reason) == (500, "ServerTimeout")
        assert error.details == {"name": "create pod", "kind": "serviceaccounts", "retryAfterSeconds": 1}


def test_the_gate_of_bound_tokens() -> None:
    """Pods of 1.20 get projected tokens where the gate is on."""
    cluster = cluster_at("1.20", BoundServiceAccountTokenVolume=True)
    assert "projected" in cluster.create(pod())["spec"]["volumes"][0]
