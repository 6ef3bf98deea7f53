"""Pods listen on the ports that they name, and known web servers serve their files."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.meta.errors import StatusError
from simkit.seams import PortHandler
from tests.simulation.worlds import execute, pod, simulated


def _port(spec: dict[str, Any], number: int) -> tuple[PortHandler, Any]:
    cluster = simulated(1)
    cluster.create(pod("p", **spec))
    cluster.settle()
    simulation = cluster._control_plane.simulation
    assert simulation is not None
    return simulation.connections.port(cluster.get("pod", "p"), number), cluster


@pytest.mark.parametrize(
    "spec",
    [
        {"container": {"ports": [{"containerPort": 8080}]}},
        {"container": {"readinessProbe": {"httpGet": {"port": 8080}}}},
        {"command": ["python", "server.py", "8080"]},
        {"command": ["server", "--listen=:8080"]},
        {"image": "nginx"},
    ],
)
def test_nothing_listens_elsewhere(spec: dict[str, Any]) -> None:
    """A pod that names a port refuses connections to others, in the words of containerd."""
    with pytest.raises(StatusError, match="connect: connection refused"):
        _port(spec, 1236)


@pytest.mark.parametrize("spec", [{}, {"command": ["sleep", "3600"]}])
def test_all_ports_answer_where_none_is_named(spec: dict[str, Any]) -> None:
    """A pod that names no port sends back what it gets, on each."""
    assert _port(spec, 1236)[0](b"x") == b"x"


def test_a_web_server() -> None:
    """nginx shows its first page, and the files of its container; requests may come in pieces."""
    answer, cluster = _port({"image": "docker.io/nginx:1.25"}, 80)
    assert b"<h1>Welcome to nginx!</h1>" in answer(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert execute(cluster, "p", "sh", "-c", "echo -n mine > /usr/share/nginx/html/a.txt")[0] == 0
    assert answer(b"GET /a.txt HTTP/1.1\r\n") == b""
    assert answer(b"\r\n").endswith(b"\r\n\r\nmine")
    assert answer(b"GET /b HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert answer(b"HEAD /a.txt HTTP/1.1\r\n\r\n").endswith(b"Content-Length: 4\r\n\r\n")
