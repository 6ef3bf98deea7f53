"""Kubelets report what containers do, restart them, and let pods go."""

from __future__ import annotations

import time

import pytest

import simkit
from simkit.meta.clock import Clock, SimulatedClock, SystemClock
from simkit.meta.errors import SimkitError
from simkit.meta.message import Response
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.kubelets import Kubelets
from simkit.simulation.kubelet.process import Container
from tests.simulation.worlds import container, deployment, messages, node_of, phase, pod, simulated


def test_a_container_that_fails_is_restarted_with_back_off() -> None:
    """At once, then after 10, 20, 40 seconds; meanwhile it is in CrashLoopBackOff."""
    cluster = simulated(1)
    cluster.create(pod("crash", command=["sh", "-c", "echo no luck; exit 3"]))
    cluster.settle()
    status = container(cluster, "crash")
    assert status["restartCount"] == 1
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    uid = cluster.get("pod", "crash")["metadata"]["uid"]
    assert status["state"]["waiting"]["message"] == (
        f"back-off 10s restarting failed container=main pod=crash_default({uid})"
    )
    assert status["lastState"]["terminated"]["exitCode"] == 3
    counts = []
    for seconds in (10, 20, 40):
        cluster.advance(seconds=seconds)
        counts.append(container(cluster, "crash")["restartCount"])
    assert counts == [2, 3, 4]
    assert phase(cluster, "crash") == "Running"


def test_programs_take_time_and_tell_by_policy() -> None:
    """OnFailure starts what failed again, Never does not, and a success ends the pod."""
    cluster = simulated(1)
    for name, policy, code in (("good", "OnFailure", 0), ("bad", "Never", 2)):
        cluster.create(pod(name, restartPolicy=policy, command=["sh", "-c", f"sleep 5; exit {code}"]))
    cluster.settle()
    assert {phase(cluster, name) for name in ("good", "bad")} == {"Running"}
    cluster.advance(seconds=5)
    assert (phase(cluster, "good"), phase(cluster, "bad")) == ("Succeeded", "Failed")
    assert container(cluster, "good")["state"]["terminated"]["reason"] == "Completed"
    ready = next(each for each in cluster.get("pod", "good")["status"]["conditions"] if each["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


def test_python_functions_are_programs() -> None:
    """The test's function replaces the container's own command; it gets the number of restarts."""

    def flaky(given: Container):  # type: ignore[no-untyped-def]
        yield f"attempt {given.restarts}"
        return 0 if given.restarts == 2 else 1

    cluster = simulated(1)
    cluster.behave(image="flaky:*", program=flaky)
    cluster.create(pod("f", image="flaky:1", restartPolicy="OnFailure"))
    cluster.advance(seconds=30)
    assert (phase(cluster, "f"), container(cluster, "f")["restartCount"]) == ("Succeeded", 2)


def test_jobs_complete() -> None:
    """Pods of jobs end well unless their program says otherwise."""
    cluster = simulated(2)
    template = pod("job", restartPolicy="Never")["spec"]
    cluster.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"},
                    "spec": {"completions": 3, "parallelism": 2, "template": {"spec": template}}})  # fmt: skip
    cluster.advance(seconds=30)
    assert cluster.get("job", "sum")["status"]["succeeded"] == 3


def test_readiness_and_start_take_as_long_as_is_said() -> None:
    """A pod waits to start, then runs unready, then is ready."""
    cluster = simulated(1)
    cluster.create(pod("slow", annotations={"simkit/start-after": "5s", "simkit/ready-after": "3s"}))
    seen = []
    cluster.settle()
    for _ in range(3):
        status = cluster.get("pod", "slow")["status"]
        seen.append((status["phase"], status["containerStatuses"][0]["ready"]))
        cluster.advance(seconds=5)
    assert seen == [("Pending", False), ("Running", False), ("Running", True)]


def test_an_image_that_cannot_be_pulled() -> None:
    """The container waits; first in ErrImagePull, then in ImagePullBackOff."""
    cluster = simulated(1)
    cluster.behave(image="nope*", pull_error="not found")
    cluster.create(pod("p", image="nope:1"))
    cluster.settle()
    cluster.advance(seconds=20)
    assert phase(cluster, "p") == "Pending"
    assert container(cluster, "p")["state"]["waiting"] == {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "nope:1"',
    }
    assert 'Failed to pull image "nope:1": not found' in messages(cluster, "Failed")


def test_init_containers_and_sidecars() -> None:
    """They run one after the other; a sidecar goes on beside the containers, and ends with a pod that completes."""
    cluster = simulated(1)
    init = [
        {"name": "setup", "image": "busybox", "command": ["sh", "-c", "sleep 2"]},
        {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"},
    ]
    cluster.create(pod("p", restartPolicy="Never", initContainers=init, command=["sleep", "4"]))
    cluster.settle()
    first = cluster.get("pod", "p")["status"]
    assert (first["phase"], first["containerStatuses"][0]["state"]) == (
        "Pending",
        {"waiting": {"reason": "PodInitializing"}},
    )
    cluster.advance(seconds=3)
    status = cluster.get("pod", "p")["status"]
    assert status["phase"] == "Running"
    assert [each["ready"] for each in status["initContainerStatuses"]] == [True, True]
    cluster.advance(seconds=4)
    assert phase(cluster, "p") == "Succeeded"


def test_missing_configuration() -> None:
    """A config map that is not there keeps a pod from starting until it comes."""
    cluster = simulated(1)
    volume = {"name": "settings", "configMap": {"name": "later"}}
    cluster.create(pod("mounts", volumes=[volume]))
    cluster.create(pod("reads", container={"envFrom": [{"configMapRef": {"name": "later"}}]}))
    cluster.settle()
    assert 'MountVolume.SetUp failed for volume "settings" : configmap "later" not found' in messages(
        cluster, "FailedMount"
    )
    assert container(cluster, "reads")["state"]["waiting"] == {
        "reason": "CreateContainerConfigError",
        "message": 'configmap "later" not found',
    }
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later"}})
    cluster.advance(seconds=15)
    assert [phase(cluster, name) for name in ("mounts", "reads")] == ["Running", "Running"]


def test_deletion_is_graceful() -> None:
    """A pod that takes its time is there until it has stopped; the address is free again then."""
    cluster = simulated(1)
    cluster.create(pod("slow", annotations={"simkit/stop-after": "10s"}))
    cluster.create(pod("quick"))
    cluster.settle()
    for name in ("slow", "quick"):
        cluster.delete("pod", name)
    cluster.settle()
    assert [each["metadata"]["name"] for each in cluster.list("pods")] == ["slow"]
    assert cluster.get("pod", "slow")["metadata"]["deletionGracePeriodSeconds"] == 30
    cluster.advance(seconds=10)
    assert cluster.list("pods") == []
    assert "Stopping container main" in messages(cluster, "Killing")


def test_liveness_probes_fail_when_told() -> None:
    """The container is told to end and started again, also where only failures are a reason for it."""
    cluster = simulated(1)
    probe = {"livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 5, "failureThreshold": 2}}
    told = {"simkit/live": "false"}
    cluster.create(pod("sick", container=probe, annotations=told, restartPolicy="OnFailure"))
    cluster.advance(seconds=12)
    status = container(cluster, "sick")
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["exitCode"] == 0


def test_a_lost_node() -> None:
    """It is NotReady after 40 seconds, and its pods are replaced after the five minutes that they tolerate."""
    cluster = simulated(2)
    cluster.create(deployment("web", 2))
    cluster.settle()
    cluster.advance(seconds=60)
    assert _ready(cluster, "node-0") == "True"
    cluster.stop_node("node-0")
    cluster.advance(seconds=120)
    assert _ready(cluster, "node-0") == "Unknown"
    assert {each["spec"]["nodeName"] for each in cluster.list("pods")} == {"node-0", "node-1"}
    cluster.advance(minutes=6)
    alive = [each for each in cluster.list("pods") if "deletionTimestamp" not in each["metadata"]]
    assert [each["spec"]["nodeName"] for each in alive] == ["node-1", "node-1"]
    cluster.start_node("node-0")
    cluster.advance(seconds=60)
    assert _ready(cluster, "node-0") == "True"
    assert len(cluster.list("pods")) == 2


def test_a_cluster_that_nobody_used_for_a_while_has_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the machine's clock kubelets report only when somebody asks: a quiet hour is no reason to lose a node."""
    now = time.time()
    monkeypatch.setattr(SystemClock, "now", lambda _: now)
    cluster = simkit.Cluster()
    cluster.add_nodes(1)
    cluster.settle()
    now += 3600
    fork = cluster.fork()
    fork.create(deployment("web", 2))
    fork.settle()
    assert _ready(fork, "node-0") == "True"
    assert fork.get("deployment", "web")["status"]["readyReplicas"] == 2
    now += 1
    fork.stop_node("node-0")
    fork.settle()
    now += 60
    fork.settle()
    assert _ready(fork, "node-0") == "Unknown"


@pytest.mark.slow
def test_a_day_passes_the_same_way_twice() -> None:
    """With a seed, two days are one: the same pods on the same nodes at the same times."""
    days = []
    for _ in range(2):
        cluster = simulated(2)
        template = pod("tick", restartPolicy="Never")["spec"]
        cluster.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
                        "spec": {"schedule": "0 */6 * * *", "jobTemplate": {"spec": {"template": {"spec": template}}}}})  # fmt: skip
        cluster.advance(hours=13)
        days.append([(each["metadata"], each["status"]) for each in cluster.list("pods")])
    assert days[0] == days[1]
    assert len(days[0]) == 2


def _ready(cluster, name: str) -> str:  # type: ignore[no-untyped-def]
    conditions = cluster.get("node", name)["status"]["conditions"]
    return str(next(each["status"] for each in conditions if each["type"] == "Ready"))


def test_taken_names_are_told() -> None:
    """A second binding of a pod and a taken node name are refused."""
    cluster = simulated(1)
    cluster.create(pod("a"))
    cluster.settle()
    assert node_of(cluster, "a") == "node-0"
    assert [each["metadata"]["name"] for each in cluster.add_nodes(2)] == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("clock", "count", "seconds"),
    [
        (SystemClock(), 3, 10.0),
        (SystemClock(), 2_000, 40.0),
        (SimulatedClock(), 3, 300.0),
        (SimulatedClock(), 2_000, 6_000.0),
    ],
)
def test_many_nodes_renew_their_leases_less_often(clock: Clock, count: int, seconds: float) -> None:
    """So that a large cluster does not spend its time on them."""

    kubelets = Kubelets(clock, lambda request, identity: Response(404), Behaviours(), release="1.30")
    for number in range(count):
        kubelets.adopt({"metadata": {"name": f"node-{number}"}}, number)
    assert kubelets.next_time == seconds, "adopted nodes were never renewed, so counted from the epoch"


def test_settings_that_do_not_exist_are_refused() -> None:
    """A misspelt setting is told, and what a setting of an earlier edition said is not ignored."""
    with pytest.raises(SimkitError, match="no setting 'storage' of containers; there are ends-at-term,"):
        simulated(1).behave(storage="1Gi")
