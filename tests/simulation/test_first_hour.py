"""What users of a cluster meet first: programs of common images, one-off pods, restarts, and files of config maps."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from tests.simulation.worlds import container, execute, phase, pod, simulated


def _log(cluster: Cluster, name: str) -> str:
    simulation = cluster._control_plane.simulation
    assert simulation is not None
    process = simulation.kubelets.runtime.processes.known(cluster.get("pod", name)["metadata"]["uid"], "main", 0)
    assert process is not None
    return b"".join(each.data for each in process.printed).decode()


def test_a_script_fails_at_a_program_that_its_image_lacks() -> None:
    """In an image that has a shell alone; of other images nothing is known, and their scripts run on."""
    cluster = simulated(1)
    script = ["sh", "-c", "echo begins; unheard-of --now; exit 3"]
    cluster.create(pod("known", image="busybox", command=script, restartPolicy="Never"))
    cluster.create(pod("other", image="me/app:1", command=script, restartPolicy="Never"))
    cluster.settle()
    assert (phase(cluster, "known"), container(cluster, "known")["state"]["terminated"]["exitCode"]) == ("Failed", 3)
    assert _log(cluster, "known") == "begins\nsh: unheard-of: not found\n"
    assert phase(cluster, "other") == "Running"


def test_a_container_that_starts_again_has_fresh_files() -> None:
    """Those of its volumes stay."""
    cluster = simulated(1)
    script = "ls /kept /tmp; touch /tmp/mine /kept/ours; sleep 5; exit 1"
    mounts = {"volumeMounts": [{"name": "kept", "mountPath": "/kept"}]}
    volumes = [{"name": "kept", "emptyDir": {}}]
    cluster.create(pod("p", command=["sh", "-c", script], container=mounts, volumes=volumes))
    cluster.advance(6)
    assert container(cluster, "p")["restartCount"] == 1
    simulation = cluster._control_plane.simulation
    assert simulation is not None
    again = simulation.kubelets.runtime.processes.known(cluster.get("pod", "p")["metadata"]["uid"], "main", 1)
    assert again is not None
    assert b"".join(each.data for each in again.printed) == b"/kept:\nours\n\n/tmp:\n"


def test_a_file_by_sub_path_does_not_change() -> None:
    """A whole volume follows its config map; one file of it is that of the start, as on a cluster."""
    cluster = simulated(1)
    told = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "told"}, "data": {"key": "one"}}
    cluster.create(told)
    mounts = [{"name": "told", "mountPath": "/all"}, {"name": "told", "mountPath": "/one", "subPath": "key"}]
    volumes = [{"name": "told", "configMap": {"name": "told"}}]
    cluster.create(pod("p", command=["sleep", "100"], container={"volumeMounts": mounts}, volumes=volumes))
    cluster.settle()
    assert execute(cluster, "p", "cat", "/all/key", "/one") == (0, "oneone")
    cluster.apply({**told, "data": {"key": "two"}})
    assert execute(cluster, "p", "cat", "/all/key", "/one") == (0, "twoone")


def test_pods_and_nodes_answer_an_echo() -> None:
    """The address of a service is a rule for its ports, and does not."""
    cluster = simulated(1)
    cluster.create(pod("p", command=["sleep", "1000"], labels={"app": "p"}))
    ports = {"selector": {"app": "p"}, "ports": [{"port": 80}]}
    cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": ports})
    cluster.settle()
    address = cluster.get("pod", "p")["status"]["podIP"]
    for answers in (address, cluster.get("node", "node-0")["status"]["addresses"][0]["address"], "127.0.0.1"):
        code, told = execute(cluster, "p", "ping", "-c1", answers)
        assert (code, "0% packet loss" in told) == (0, True)
    assert execute(cluster, "p", "ping", "-c1", "nobody")[1] == "ping: bad address 'nobody'\n"
    assert execute(cluster, "p", "hostname", "-i") == (0, f"{address}\n")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("d=$(mktemp -d); f=$(mktemp); [ -d $d ] && [ -f $f ] && [ $d != $f ] && echo two", "two\n"),
        ("seq 3 > a; seq 4 5 > b; paste -d, a b; paste -s a", "1,4\n2,5\n3,\n1\t2\t3\n"),
        ("printf 'a\\n\\nb\\n' | nl", "     1\ta\n       \n     2\tb\n"),
        ("mkdir -p x/y; rmdir x; echo $?; rmdir x/y x; echo $?", "rmdir: 'x': Directory not empty\n1\n0\n"),
        (
            "echo x > no/where; echo y > there; echo z > there/in; ls",
            "sh: cannot create no/where: No such file or directory\nsh: cannot create there/in: Not a directory\nthere\n",
        ),
        (
            "mkdir a/b; mkdir a; mkdir a; touch a/x no/x; cp a/x no/y; echo $?",
            "mkdir: can't create directory 'a/b': No such file or directory\n"
            "mkdir: can't create directory 'a': File exists\ntouch: no/x: No such file or directory\n"
            "cp: can't create 'no/y': No such file or directory\n1\n",
        ),
        ("apk add curl && apt-get update && echo there; groups; id -u; id -un", "there\nroot\n0\nroot\n"),
        ("chroot / echo in; busybox echo out; printf abc > f; truncate -s 2 f; less f", "in\nout\nab"),
    ],
)
def test_programs(script: str, expected: str) -> None:
    """Small programs that scripts expect do what they do there."""
    cluster = simulated(1)
    cluster.create(pod("p", image="busybox", command=["sleep", "1000"]))
    cluster.settle()
    assert execute(cluster, "p", "sh", "-c", f"cd /tmp; {script}")[1] == expected
