"""Clients in the same process exec, attach and forward ports, over a server that is started for that and ends again."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import simkit
from simkit.testing import clients
from simkit.testing import cluster as made_cluster

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
       "spec": {"containers": [{"name": "main", "image": "nginx"}]}}  # fmt: skip
pytestmark = [
    pytest.mark.simkit(nodes=1),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.slow,
]


@pytest.fixture(autouse=True)
def pod(cluster: simkit.Cluster) -> Iterator[None]:
    """A pod with a web server. The official client leaves its sockets to the garbage collector."""
    cluster.create(POD)
    cluster.settle()
    yield
    gc.collect()


def servers() -> int:
    """The number of servers that run in this process."""
    return sum(each.name == "simkit-server" for each in threading.enumerate())


def test_exec_of_the_official_client(kubernetes_client: Any) -> None:
    """The output of a command, its exit code, and input for a command; other requests go on without a socket."""
    stream: Any = import_module("kubernetes.stream").stream
    core = import_module("kubernetes.client").CoreV1Api(kubernetes_client)
    connect = core.connect_get_namespaced_pod_exec
    assert stream(connect, "web", "default", command=["echo", "hello"], stdout=True) == "hello\n"
    failing = stream(
        connect, "web", "default", command=["sh", "-c", "cat >&2; exit 3"], stdin=True, stderr=True, stdout=True,
        _preload_content=False,
    )  # fmt: skip
    failing.write_stdin("typed\n")
    failing.update(timeout=5)
    failing.write_stdin("")
    assert failing.readline_stderr(timeout=5) == "typed"
    failing.close()
    assert core.read_namespaced_pod("web", "default").status.phase == "Running"
    assert servers() == 1


def test_ports_of_the_official_client(kubernetes_client: Any) -> None:
    """A port of a pod is a socket of this process. A request may come in pieces, and its answer has an end."""
    portforward: Any = import_module("kubernetes.stream").portforward
    core = import_module("kubernetes.client").CoreV1Api(kubernetes_client)
    forwarded = portforward(core.connect_get_namespaced_pod_portforward, "web", "default", ports="80")
    sock = forwarded.socket(80)
    sock.settimeout(20)
    for part in (b"GET / HTTP/1.1\r\n", b"Host: web\r\nConnection: close\r\n", b"\r\n"):
        sock.sendall(part)
    assert b"".join(iter(lambda: sock.recv(4096), b"")).startswith(b"HTTP/1.1 200")
    sock.close()


def test_rights_of_users(cluster: simkit.Cluster) -> None:
    """A connection has the rights of its client."""
    api = clients.kubernetes_client(cluster, user="user:ann")
    stream: Any = import_module("kubernetes.stream").stream
    client: Any = import_module("kubernetes.client")
    with pytest.raises(client.ApiException, match="403"):
        stream(client.CoreV1Api(api).connect_get_namespaced_pod_exec, "web", "default", command=["date"], stdout=True)


def test_the_server_ends_with_its_cluster() -> None:
    """Whoever makes the cluster ends the server too."""
    before = servers()
    with made_cluster(nodes=1) as cluster:
        cluster.create(POD)
        cluster.settle()
        core = import_module("kubernetes.client").CoreV1Api(clients.kubernetes_client(cluster))
        stream: Any = import_module("kubernetes.stream").stream
        stream(core.connect_get_namespaced_pod_exec, "web", "default", command=["date"], stdout=True)
        assert servers() == before + 1
    deadline = time.monotonic() + 10
    while servers() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert servers() == before
