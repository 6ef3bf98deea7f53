"""Client libraries reach a cluster of the same process without a socket, watches included."""

from __future__ import annotations

import threading
import unittest
from importlib import import_module
from typing import Any

import pytest

import simkit
from simkit.meta.errors import SimkitError
from simkit.testing import ClusterTestCase, clients
from simkit.testing import cluster as made_cluster

pytestmark = pytest.mark.slow

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}


@pytest.mark.simkit(nodes=1)
def test_the_official_client(cluster: simkit.Cluster, kubernetes_client) -> None:  # type: ignore[no-untyped-def]
    """A created pod runs at once; errors are the client's own; a watch gets the changes meanwhile."""
    client: Any = import_module("kubernetes.client")
    watch: Any = import_module("kubernetes.watch")
    apps, core = client.AppsV1Api(kubernetes_client), client.CoreV1Api(kubernetes_client)
    apps.create_namespaced_deployment("default", WEB)
    pods = core.list_namespaced_pod("default", label_selector="app=web").items
    assert [pod.status.phase for pod in pods] == ["Running", "Running"]
    assert core.read_namespaced_pod_log(pods[0].metadata.name, "default") == ""
    with pytest.raises(client.ApiException) as refused:
        core.read_namespaced_config_map("no", "default")
    assert refused.value.status == 404
    later = threading.Timer(0.2, lambda: cluster.create({"apiVersion": "v1", "kind": "ConfigMap",
                                                         "metadata": {"name": "late"}}))  # fmt: skip
    later.start()
    stream = watch.Watch()
    seen = []
    for event in stream.stream(core.list_namespaced_config_map, "default", timeout_seconds=5):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 2:
            stream.stop()
    later.join()
    assert seen == [("ADDED", "kube-root-ca.crt"), ("ADDED", "late")]


def test_connections_need_a_server(cluster: simkit.Cluster, kubernetes_client) -> None:  # type: ignore[no-untyped-def]
    """Exec and others are refused with what to take instead; the client goes on."""
    core: Any = import_module("kubernetes.client").CoreV1Api(kubernetes_client)
    stream: Any = import_module("kubernetes.stream").stream
    with pytest.raises(SimkitError, match="use the fixture `kubeconfig`"):
        stream(core.connect_get_namespaced_pod_exec, "web", "default", command=["date"], stdout=True)
    assert core.list_namespace().items


def test_requests(cluster: simkit.Cluster) -> None:
    """A session of requests, as pykube-ng uses it, makes requests in the name that is said."""
    session = clients.requests_session(cluster, user="user:nobody")
    assert session.get("http://simkit.invalid/version").json()["major"] == "1"
    refused = session.get("http://simkit.invalid/api/v1/secrets")
    assert refused.status_code == 403
    assert 'User "nobody" cannot list resource "secrets"' in refused.json()["message"]


class TestForms(ClusterTestCase):
    """The form for unittest."""

    wanted = {"nodes": 2}  # noqa: RUF012

    def test_each_has_a_fork(self) -> None:
        """Two nodes, and what happens here stays here."""
        assert len(self.cluster.list("nodes")) == 2
        self.cluster.delete("node", "node-0")

    test_each_has_a_fork_of_its_own = test_each_has_a_fork


def test_the_form_of_a_context() -> None:
    """A cluster for the time of a context."""
    with made_cluster(release="1.33", nodes=1) as cluster:
        assert (cluster.release, len(cluster.list("nodes"))) == ("1.33", 1)
    assert issubclass(TestForms, unittest.TestCase)
