"""Requests are recorded, and meet the faults that a test asks for, in process and over HTTP."""

from __future__ import annotations

import time
import urllib.error
from pathlib import Path

import pytest

import simkit
from simkit.meta.errors import SimkitError, StatusError
from simkit.testing import clients
from simkit.testing.transports import HOST

SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
PATH = f"{HOST}/api/v1/namespaces/default/configmaps"


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster with a config map, whose requests are recorded."""
    made = simkit.Cluster(seed=1)
    made.create(SETTINGS)
    assert len(made.requests) == 0
    return made


def test_records_and_assertions(cluster: simkit.Cluster) -> None:
    """Requests of clients are recorded, those of controllers are not; failed assertions list the requests."""
    session = clients.requests_session(cluster, user="sa:default/robot", settles=False)
    assert session.get(f"{PATH}/settings").status_code == 403
    session = clients.requests_session(cluster)
    session.get(f"{PATH}/settings", headers={"User-Agent": "operator/1"})
    session.delete(f"{PATH}/settings")
    assert [(each.verb, each.what, each.name, each.status) for each in cluster.requests] == [
        ("get", "configmaps", "settings", 403),
        ("get", "configmaps", "settings", 200),
        ("delete", "configmaps", "settings", 200),
    ]
    assert cluster.requests[1].user_agent == "operator/1"
    cluster.requests.assert_only(verbs=["get", "delete"], resources=["configmaps"], namespaces=["default"])
    cluster.requests.assert_made("delete", "configmaps", "settings", times=1)
    with pytest.raises(AssertionError, match="delete configmaps settings in default: 200"):
        cluster.requests.assert_only(verbs=["get"])
    with pytest.raises(AssertionError, match="expected create pods, found 0"):
        cluster.requests.assert_made("create", "pods")


def test_created_objects_have_names(cluster: simkit.Cluster) -> None:
    """A request that creates something is known by the name of that, whoever chose it; a refused one has none."""
    session = clients.requests_session(cluster)
    session.post(PATH, json={**SETTINGS, "metadata": {"name": "more"}})
    session.post(PATH, json={**SETTINGS, "metadata": {"generateName": "made-"}})
    session.post(PATH, json={**SETTINGS, "metadata": {"name": "more"}})
    cluster.requests.assert_made("create", "configmaps", "more", times=1)
    names = [each.name for each in cluster.requests]
    assert (names[0], names[1].startswith("made-"), names[2]) == ("more", True, "")


def test_the_least_privilege_of_a_run(cluster: simkit.Cluster) -> None:
    """The roles allow what was done; refused requests are no need. They are enough to do it again."""
    session = clients.requests_session(cluster)
    session.get(PATH)
    session.get(f"{HOST}/api/v1/nodes")
    session.put(f"{PATH}/settings", json=SETTINGS)
    whole, role = cluster.requests.roles("operator")
    assert (whole["kind"], whole["rules"]) == (
        "ClusterRole",
        [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}],
    )
    assert role["rules"] == [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "update"]}]
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator"}
    cluster.apply([role, {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                          "metadata": {"name": "o"}, "subjects": [subject], "roleRef": reference}])  # fmt: skip
    robot = clients.requests_session(cluster, user="sa:default/robot")
    assert [robot.get(PATH).status_code, robot.get(f"{HOST}/api/v1/nodes").status_code] == [200, 403]


def test_deprecated_versions() -> None:
    """A run that uses a version that goes away is told so."""
    cluster = simkit.Cluster("1.24", seed=1)
    cluster.requests.assert_no_deprecated()
    clients.requests_session(cluster).get(f"{HOST}/apis/batch/v1beta1/cronjobs")
    with pytest.raises(AssertionError, match="1 requests are for deprecated versions"):
        cluster.requests.assert_no_deprecated()


@pytest.mark.parametrize(
    ("kind", "status"), [("conflict", 409), ("throttle", 429), ("error", 500)], ids=["409", "429", "500"]
)
def test_refusals(cluster: simkit.Cluster, kind: str, status: int) -> None:
    """So often and on what is said, then no more; a 429 says when to come again."""
    session = clients.requests_session(cluster)
    with cluster.faults(kind, verbs=["update"], resources=["configmaps"], times=1, seconds=2) as met:
        answers = [session.put(f"{PATH}/settings", json=SETTINGS) for _ in range(2)]
        assert session.get(PATH).status_code == 200
    assert [each.status_code for each in answers] == [status, 200]
    assert answers[0].headers.get("Retry-After") == ("2" if status == 429 else None)
    assert len(met.met) == 1


def test_chance_repeats(cluster: simkit.Cluster) -> None:
    """The same seed lets the same requests fail."""
    session = clients.requests_session(cluster)

    def run(seed: int) -> list[int]:
        with cluster.faults("error", probability=0.5, seed=seed):
            return [session.get(PATH).status_code for _ in range(20)]

    assert run(1) == run(1) != run(2)
    assert set(run(1)) == {200, 500}


@pytest.mark.slow
def test_watches_expire_stall_and_connections_drop(cluster: simkit.Cluster) -> None:
    """As their clients see it."""
    import requests

    session = clients.requests_session(cluster)
    watch = f"{PATH}?watch=1&timeoutSeconds=1"
    with cluster.faults("expired", verbs=["watch"]):
        assert session.get(watch).json()["reason"] == "Expired"
    with cluster.faults("stall"):
        assert session.get(watch).content == b""
    with cluster.faults("drop", times=1), pytest.raises(requests.ConnectionError):
        session.get(PATH)
    assert session.get(watch).content.startswith(b'{"type":"ADDED"')


def test_stale_reads(cluster: simkit.Cluster) -> None:
    """Reads give the state of some revisions ago, for one object and lists alike."""
    session = clients.requests_session(cluster, settles=False)
    for value in "234":
        cluster.apply({**SETTINGS, "data": {"a": value}})
    with cluster.faults("stale", revisions=2):
        one, many = session.get(f"{PATH}/settings").json(), session.get(PATH).json()
    assert one["data"] == {"a": "2"}
    assert [each["data"] for each in many["items"] if each["metadata"]["name"] == "settings"] == [{"a": "2"}]


def test_webhooks_and_leaders(cluster: simkit.Cluster) -> None:
    """A webhook that is down refuses what it guards; a leader whose lease is taken finds another holder."""
    hook = {"name": "guard.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://guard.example.com"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                       "resources": ["configmaps"]}]}  # fmt: skip
    cluster.webhook("guard.example.com", lambda _: True)
    cluster.create({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                    "metadata": {"name": "guard"}, "webhooks": [hook]})  # fmt: skip
    cluster.create({**SETTINGS, "metadata": {"name": "b"}})
    with cluster.webhook_down("guard.example.com"), pytest.raises(StatusError, match="failed calling webhook"):
        cluster.create({**SETTINGS, "metadata": {"name": "c"}})
    cluster.create({**SETTINGS, "metadata": {"name": "c"}})
    cluster.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"},
                    "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}})  # fmt: skip
    cluster.take_lease("leader")
    assert cluster.get("lease", "leader")["spec"]["holderIdentity"] != "me"


def test_faults_over_http(cluster: simkit.Cluster, tmp_path: Path) -> None:
    """A served cluster refuses, delays and drops too."""
    from kubernetes import client, config
    from urllib3.exceptions import HTTPError

    with cluster.serve(kubeconfig=tmp_path / "kubeconfig") as server:
        assert server.running
        api = config.new_client_from_config(str(tmp_path / "kubeconfig"))  # type: ignore[no-untyped-call]
        api.configuration.retries = False
        core = client.CoreV1Api(api)
        with cluster.faults("error", times=1), pytest.raises(client.ApiException) as refused:
            core.list_namespaced_config_map("default")
        assert refused.value.status == 500
        began = time.monotonic()
        with cluster.faults("slow", seconds=0.3):
            core.list_namespaced_config_map("default")
        assert time.monotonic() - began >= 0.3
        with cluster.faults("drop", times=4), pytest.raises((HTTPError, urllib.error.URLError)):
            core.list_namespaced_config_map("default")
        assert core.list_namespaced_config_map("default").items
        api.close()


def test_unknown_faults(cluster: simkit.Cluster) -> None:
    """They are named with those that there are."""
    with pytest.raises(SimkitError, match="no fault 'flood'; there are conflict, throttle"):
        cluster.faults("flood")
