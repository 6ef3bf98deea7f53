"""Scripts that listen on ports: ``nc -l`` answers with its input, and prints what it is sent."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from simkit.meta.errors import StatusError
from simkit.meta.message import Request
from tests.simulation.worlds import container, execute, pod, simulated

_SERVER = "while true; do printf 'HTTP/1.0 200 OK\\r\\n\\r\\nhello\\n' | nc -l -p 8080; done"


def listening(script: str) -> Cluster:
    """A cluster with a pod that listens, and one to ask it from."""
    cluster = simulated(2)
    cluster.create(pod("server", command=["sh", "-c", script]))
    cluster.create(pod("client", command=["sleep", "3600"]))
    cluster.settle()
    return cluster


def asked(cluster: Cluster, command: str) -> tuple[int, str]:
    """The answer to a command of the client, with the address of the server for ``HOST``; then all come to rest."""
    address = cluster.get("pod", "server")["status"]["podIP"]
    found = execute(cluster, "client", "sh", "-c", command.replace("HOST", address))
    cluster.settle()
    return found


def log(cluster: Cluster) -> str:
    """The output of the server."""
    return cluster.perform(Request.of("GET", "/api/v1/namespaces/default/pods/server/log")).body.decode()


def test_a_loop_serves_again_and_again() -> None:
    """The usual web server of a shell: each request is answered, and printed."""
    cluster = listening(_SERVER)
    for number in range(3):
        assert asked(cluster, f"wget -q -O - http://HOST:8080/{number}") == (0, "hello\n")
    assert [line for line in log(cluster).splitlines() if line.startswith("GET")] == [
        f"GET /{number} HTTP/1.1" for number in range(3)
    ]


def test_one_connection_ends_it() -> None:
    """Without a loop the script goes on after the first client, and the second one is refused."""
    cluster = listening("nc -l 9000 < /dev/null > /tmp/got; echo got $(cat /tmp/got); nc -l 9001; sleep 100")
    assert asked(cluster, "echo hi | nc HOST 9000") == (0, "")
    assert log(cluster) == "got hi\n"


def test_a_busy_port_refuses() -> None:
    """As long as the command has not taken in its only connection, nobody else is let in."""
    cluster = listening("nc -l -p 9000; sleep 100")
    simulation = cluster._control_plane.simulation
    assert simulation is not None
    server = cluster.get("pod", "server")
    simulation.connections.port(server, 9000)
    with pytest.raises(StatusError, match="connection refused"):
        simulation.connections.port(server, 9000)


def test_it_may_stay() -> None:
    """With ``-k`` one command answers all, and what they send is printed in order."""
    cluster = listening("echo yes | nc -lk -p 9000")
    for word in ("a", "b"):
        assert asked(cluster, f"echo {word} | nc HOST 9000") == (0, "yes\n")
    assert log(cluster) == "a\nb\n"


def test_a_port_is_taken_once() -> None:
    """A second command on a port fails, and after a restart the port is free again."""
    cluster = listening("trap exit TERM; nc -l -p 9000 & sleep 1; nc -l -p 9000; echo $?; wait")
    cluster.advance(seconds=2)
    assert log(cluster).endswith("nc: bind: Address already in use\n1\n")
    execute(cluster, "server", "kill", "1")
    cluster.settle()
    assert container(cluster, "server")["restartCount"] == 1
    assert asked(cluster, "echo x | nc HOST 9000") == (0, "")
