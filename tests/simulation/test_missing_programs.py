"""What users of a cluster meet first: programs of common images, one-off pods, restarts, and files of config maps."""

from __future__ import annotations

from simkit.cluster.cluster import Cluster
from simkit.simulation.shell.script import HINT
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
    assert (phase(cluster, "known"), container(cluster, "known")["state"]["terminated"]["exitCode"]) == ("Failed", 127)
    assert _log(cluster, "known") == f"begins\nunheard-of: {HINT}\n"
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
