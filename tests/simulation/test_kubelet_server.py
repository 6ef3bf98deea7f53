"""What simulated kubelets do at their own port, through the proxy of their node: commands, logs and streams."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from simkit.analysis.escalation import CLUSTER, escalations, prove
from simkit.cluster.cluster import Cluster
from simkit.engine.pipeline.subresources.connection_target import CommandSession, PortSession
from simkit.meta.message import Request
from tests.analysis.escalation.scenes import ATTACKER, scene
from tests.analysis.worlds import binding, namespace, role, rule
from tests.simulation.test_kubelet_pages import asked
from tests.simulation.worlds import pod, simulated

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
WEBSOCKET = {"upgrade": "websocket", "connection": "Upgrade"}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Two nodes, each with a pod whose script writes to both outputs."""
    made = simulated(2)
    for name, node in (("a", "node-0"), ("b", "node-1")):
        script = "echo one; echo two >&2; printf three; sleep 1000"
        made.create(pod(name, nodeName=node, image="busybox", command=["sh", "-c", script]))
    made.settle()
    made.advance(seconds=60)
    return made


def run(cluster: Cluster, command: str, where: str = "default/a/main") -> tuple[int, str]:
    """The answer of a kubelet that runs a command."""
    status, body = asked(cluster, f"run/{where}?cmd={quote(command)}", "POST")
    return status, body.decode()


def test_run(cluster: Cluster) -> None:
    """Both outputs of a command come back, first what it wrote to the first; blanks stand between its words."""
    assert run(cluster, "id -u") == (200, "0\n")
    assert run(cluster, "cat /etc/hostname") == (200, "a\n")
    assert run(cluster, "ls /nothing") == (
        500,
        "command 'ls /nothing' exited with 1: ls: /nothing: No such file or directory\n",
    )
    assert run(cluster, "echo 'a  b'") == (200, "'a  b'\n")
    uid = cluster.get("pod", "a")["metadata"]["uid"]
    assert run(cluster, "echo hi", f"default/a/{uid}/main") == (200, "hi\n")


def test_run_without_a_container(cluster: Cluster) -> None:
    """The kubelet says what is missing, in plain text; it knows the pods of its node alone."""
    assert run(cluster, "id", "default/b/main") == (404, "pod does not exist")
    assert run(cluster, "id", "default/a/other") == (500, 'container not found ("other")')
    assert run(cluster, "id", "default/a/no-uid/main") == (500, 'container not found ("main")')
    status, told = run(cluster, "psql")
    assert (status, 'exec: "psql": executable file not found in $PATH' in told) == (500, True)
    assert asked(cluster, "run/default/a/main?cmd=id")[0] == 405
    assert asked(cluster, "run/default?cmd=id", "POST") == (404, b"404: Page Not Found")


def test_a_command_that_does_not_end(cluster: Cluster) -> None:
    """A kubelet gives up on it."""
    assert run(cluster, "sleep 10000") == (500, "rpc error: code = DeadlineExceeded desc = context deadline exceeded")
    assert run(cluster, "yes")[0] == 500


@pytest.mark.parametrize("page", ["containerLogs/default/a/main", "logs/", "runningpods"])
def test_pages_that_are_not_simulated(cluster: Cluster, page: str) -> None:
    """They are refused as such, and not as what is not there."""
    assert asked(cluster, page) == (501, f"a simulated kubelet has no /{page.split('/')[0]}\n".encode())


def opened(cluster: Cluster, path: str, headers: dict[str, str] = WEBSOCKET) -> tuple[int, object]:
    """The status, and the session or the text, of a connection at a kubelet."""
    response = cluster.perform(Request.of("GET", f"/api/v1/nodes/node-0/proxy/{path}", headers=headers))
    return response.status, response.upgrade or response.body


def test_streams(cluster: Cluster) -> None:
    """Exec, attach and port-forward at the kubelet open sessions, with the kubelet's own names of the options."""
    status, session = opened(cluster, "exec/default/a/main?command=echo&command=hi&output=1")
    assert status == 101
    assert isinstance(session, CommandSession)
    assert (session.stdin, session.stdout, session.stderr) == (False, True, False)
    assert list(session.process.poll()) == [("stdout", b"hi\n")]
    assert session.process.exit_code == 0
    assert isinstance(opened(cluster, "attach/default/a/main?output=1&error=1")[1], CommandSession)
    ports = opened(cluster, "portForward/default/a?port=80")[1]
    assert isinstance(ports, PortSession)
    assert ports.ports == [80]


def test_streams_that_are_refused(cluster: Cluster) -> None:
    """By the kubelet, in plain text."""
    assert opened(cluster, "exec/default/a/main?command=id") == (
        400,
        b"you must specify at least 1 of stdin, stdout, stderr",
    )
    assert opened(cluster, "exec/default/b/main?command=id&output=1") == (404, b"pod does not exist")
    assert opened(cluster, "exec/default/a/no?command=id&output=1") == (500, b'container not found ("no")')
    assert opened(cluster, "exec/default/a/main?command=id&output=1", {}) == (500, b"Upgrade request required\n")
    assert opened(cluster, "pods")[0] == 503


@pytest.mark.parametrize(("verb", "method"), [("create", "POST"), ("get", "GET")])
def test_a_kubelet_gives_the_token_of_a_privileged_pod(verb: str, method: str) -> None:
    """Whoever reaches the kubelet runs a command in a pod of an administrator, and has its token: nothing is assumed.

    Reading is enough, since an exec over a WebSocket is a GET.
    """
    cluster = simulated(1)
    objects = [obj for obj in scene() if (obj["kind"], obj["metadata"]["name"]) != ("Namespace", "ops")]
    reach = [role("reach", rule(verb, "nodes/proxy")), binding("reach", "reach", ATTACKER)]
    cluster.apply([namespace("ops"), *objects, *reach, binding("ops-admin", "cluster-admin", "sa:ops/admin")])
    privileged = {"name": "agent", "securityContext": {"privileged": True}}
    made = pod("agent", serviceAccountName="admin", container=privileged)
    made["metadata"]["namespace"] = "ops"
    cluster.create(made)
    cluster.create(pod("another"))
    cluster.settle()
    path = next(iter(escalations(cluster.snapshot(), ATTACKER, goal=CLUSTER, ways="each")))
    proof = prove(path, cluster)
    assert proof.proven, str(proof)
    assert [one.primitive for one in proof.performed if one.request] == ["E1", "E1", "A1", "end"]
    asks = proof.performed[1]
    assert (asks.request.split()[0], asks.status) == (method, 101 if method == "GET" else 200)
    assert proof.assumptions == ()
    assert proof.performed[-1].actor == "system:serviceaccount:ops:admin"
