"""Programs of containers that are told to end: traps of scripts, and the end of the grace period."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from simkit.simulation.kubelet.process import Container, Process
from tests.simulation.worlds import container, execute, pod, simulated

_LOOP = "while true; do sleep 1; done & wait"
_CONTAINER = Container({}, {})


def _running(script: str, **spec: object) -> Cluster:
    cluster = simulated(1)
    cluster.create(pod("p", command=["sh", "-c", script], **spec))
    cluster.settle()
    return cluster


def _delete(cluster: Cluster) -> None:
    cluster.delete("pod", "p")
    cluster.settle()


def _exists(cluster: Cluster) -> bool:
    return any(each["metadata"]["name"] == "p" for each in cluster.list("pods", "default"))


def test_a_trap_takes_its_time() -> None:
    """A script with a trap for TERM cleans up, and then it has ended; its pod goes at that moment."""
    cluster = _running(f"trap 'echo ending > /shared/log; sleep 4; exit 3' TERM; {_LOOP}", **_shared())
    _delete(cluster)
    cluster.advance(3)
    assert _exists(cluster)
    cluster.advance(1.5)
    assert not _exists(cluster)


def _shared() -> dict[str, object]:
    mounts = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    return {"volumes": [{"name": "shared", "emptyDir": {}}], "container": mounts}


def test_who_does_not_end_is_killed() -> None:
    """At the end of the grace period, also where the trap does nothing."""
    cluster = _running(f"trap '' TERM; {_LOOP}", terminationGracePeriodSeconds=7)
    _delete(cluster)
    cluster.advance(6)
    assert _exists(cluster)
    cluster.advance(1)
    assert not _exists(cluster)


_ENDS = {"annotations": {"simkit/ends-at-term": "true"}}
_ONE_OF_MANY = [_ENDS, {"shareProcessNamespace": True}, {"hostPID": True}]


@pytest.mark.parametrize("spec", _ONE_OF_MANY)
def test_scripts_without_a_trap_end_at_once(spec: dict[str, object]) -> None:
    """Where that is said, and where another program is the first process, as in pods that share their processes."""
    cluster = _running(_LOOP, **spec)
    _delete(cluster)
    assert not _exists(cluster)


def test_the_real_clock_waits_for_no_grace_period() -> None:
    """A user with kubectl does not wait 30 seconds for a ``sleep``, unless a behaviour says so."""
    cluster = Cluster()
    cluster.add_nodes(1)
    assert cluster._control_plane.simulation is not None
    behaviours = cluster._control_plane.simulation.behaviours
    sleeping = pod("p", command=["sleep", "100"])

    def outlives() -> bool:
        process = Process(behaviours.program(Container(sleeping, sleeping["spec"]["containers"][0]))(_CONTAINER), 0.0)
        process.advance(1.0)
        process.signal("TERM", 1.0)
        return process.ended is None

    assert not outlives()
    cluster.behave(ends_at_term="false")
    assert outlives()


@pytest.mark.parametrize("script", [_LOOP, "sleep 100", "kill $$; sleep 5; sleep 100"])
def test_the_first_process_ignores_signals_without_a_trap(script: str) -> None:
    """As in a real container: the pod stays until the grace period is over, and ``kill`` does nothing."""
    cluster = _running(script, terminationGracePeriodSeconds=7)
    execute(cluster, "p", "kill", "1")
    execute(cluster, "p", "kill", "-INT", "1")
    cluster.settle()
    assert "running" in container(cluster, "p")["state"]
    _delete(cluster)
    cluster.advance(6)
    assert _exists(cluster)
    cluster.advance(1)
    assert not _exists(cluster)


def test_the_first_process_heeds_its_traps() -> None:
    """A trap is run as ever."""
    cluster = _running(f"trap 'exit 0' TERM; {_LOOP}")
    _delete(cluster)
    assert not _exists(cluster)


def test_a_command_in_the_foreground_comes_to_its_end_first() -> None:
    """The trap is run when the command is over, as in every shell."""
    cluster = _running("trap 'exit 0' TERM; sleep 10; sleep 100")
    cluster.advance(2)
    _delete(cluster)
    cluster.advance(7)
    assert _exists(cluster)
    cluster.advance(1.5)
    assert not _exists(cluster)


@pytest.mark.parametrize(("script", "code"), [(f"trap 'exit 5' TERM; {_LOOP}", 5), (_LOOP, 143)])
def test_kill_from_an_exec(script: str, code: int) -> None:
    """``kill 1`` ends the program of the container, which starts again."""
    cluster = _running(script, **_ENDS)
    assert execute(cluster, "p", "kill", "1") == (0, "")
    assert execute(cluster, "p", "sh", "-c", "kill -0 1; kill 99; echo $?")[1].endswith("1\n")
    cluster.settle()
    status = container(cluster, "p")
    assert status["lastState"]["terminated"]["exitCode"] == code
    assert (status["restartCount"], "running" in status["state"]) == (1, True)


def test_a_watch_sees_each_end() -> None:
    """A kubelet writes that a container has ended before it starts it again, or has it wait."""
    cluster = _running(_LOOP, **_ENDS)
    for restarts, after in enumerate((("running", 1, True), ("waiting", 1, False))):
        seen = len(cluster.history("pod", "p"))
        execute(cluster, "p", "kill", "1")
        cluster.settle()
        told = [each.object["status"] for each in cluster.history("pod", "p")[seen:] if each.object]
        own = [each["containerStatuses"][0] for each in told]
        states = [(next(iter(each["state"])), each["restartCount"], each["ready"]) for each in own]
        assert states == [("terminated", restarts, False), after]
        assert {each["phase"] for each in told} == {"Running"}


def test_commands_in_the_background_of_an_exec_run_on() -> None:
    """They end by themselves, with what they have started, or with their container."""
    cluster = _running(_LOOP, **_ENDS, **_shared())
    first = "(sleep 5; echo one >> /shared/log; (sleep 5; echo two >> /shared/log) &) > /dev/null 2>&1 &"
    second = "(while sleep 4; do echo again >> /shared/log; done) > /dev/null 2>&1 &"
    assert execute(cluster, "p", "sh", "-c", first) == (0, "")
    cluster.advance(1)
    assert execute(cluster, "p", "sh", "-c", "cat /shared/log")[1].endswith("No such file or directory\n")
    cluster.advance(5)
    assert execute(cluster, "p", "cat", "/shared/log") == (0, "one\n")
    cluster.advance(5)
    assert execute(cluster, "p", "cat", "/shared/log") == (0, "one\ntwo\n")
    assert execute(cluster, "p", "sh", "-c", second) == (0, "")
    cluster.advance(9)
    assert execute(cluster, "p", "cat", "/shared/log") == (0, "one\ntwo\nagain\nagain\n")
    execute(cluster, "p", "kill", "1")
    cluster.advance(60)
    assert execute(cluster, "p", "grep", "-c", "again", "/shared/log") == (0, "2\n")


def test_a_pod_runs_on_without_its_sidecar() -> None:
    """A sidecar that has ended starts again; meanwhile the pod is not pending, as it was when the sidecar first came."""
    sidecar = {"name": "side", "image": "app:1", "restartPolicy": "Always", "command": ["sh", "-c", "sleep 5"]}
    cluster = _running("sleep 1000", initContainers=[sidecar])
    cluster.advance(60)
    told = [each.object["status"] for each in cluster.history("pod", "p")]
    phases = [each.get("phase") for each in told]
    assert phases[phases.index("Running") :].count("Pending") == 0
    assert told[-1]["initContainerStatuses"][0]["restartCount"] > 1


def test_a_failed_liveness_probe_leaves_the_grace_period() -> None:
    """A ``sleep`` is killed at its end; a trap ends the container before. The probe may have a period of its own."""
    cluster = simulated(1)
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    own = {**probe, "terminationGracePeriodSeconds": 3}
    scripts = {
        "sleeps": ("sleep 100", probe),
        "hurries": ("sleep 100", own),
        "heeds": (f"trap 'exit 4' TERM; {_LOOP}", probe),
    }
    for name, (script, given) in scripts.items():
        spec = pod(
            name, command=["sh", "-c", script], container={"livenessProbe": given}, terminationGracePeriodSeconds=20
        )
        cluster.create(spec)
    cluster.settle()
    ended = dict[str, tuple[int, int]]()
    for second in range(1, 30):
        cluster.advance(1)
        for name in scripts:
            found = container(cluster, name)["lastState"].get("terminated")
            if found is not None:
                ended.setdefault(name, (second, found["exitCode"]))
    assert ended == {"heeds": (1, 4), "hurries": (3, 137), "sleeps": (20, 137)}


def test_the_event_comes_when_the_end_begins() -> None:
    """``Killing`` is told once, while the pod still stands."""
    cluster = _running("sleep 100")
    _delete(cluster)
    cluster.advance(3)
    told = [each for each in cluster.list("events", "default") if each["reason"] == "Killing"]
    assert [(each["message"], each.get("count", 1)) for each in told] == [("Stopping container main", 1)]
    assert _exists(cluster)


def test_a_process_runs_no_shorter_than_it_says() -> None:
    """A status tells the second in which a container started; what it runs counts from the moment itself."""
    cluster = simulated(1)
    cluster.advance(0.75)
    cluster.create(pod("p", command=["sleep", "1"], restartPolicy="Never"))
    cluster.settle()
    cluster.advance(0.5)
    assert cluster.get("pod", "p")["status"]["phase"] == "Running"
    cluster.advance(0.5)
    assert cluster.get("pod", "p")["status"]["phase"] == "Succeeded"
