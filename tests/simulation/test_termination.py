"""Programs of containers that are told to end: traps of scripts, and the end of the grace period."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from tests.simulation.worlds import container, execute, pod, simulated

_LOOP = "while true; do sleep 1; done & wait"


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


def test_scripts_without_a_trap_end_at_once() -> None:
    """So that tests need not wait for the grace period."""
    cluster = _running(_LOOP)
    _delete(cluster)
    assert not _exists(cluster)


@pytest.mark.parametrize("script", [_LOOP, "sleep 100", "kill $$; sleep 5; sleep 100"])
def test_the_first_process_ignores_signals_without_a_trap(script: str) -> None:
    """Where it is said to be as in a real container: the pod stays until the grace period is over, and ``kill`` does nothing."""
    settings = {"simkit/ends-at-term": "false"}
    cluster = _running(script, annotations=settings, terminationGracePeriodSeconds=7)
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
    settings = {"simkit/ends-at-term": "false"}
    cluster = _running(f"trap 'exit 0' TERM; {_LOOP}", annotations=settings)
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
    cluster = _running(script)
    assert execute(cluster, "p", "kill", "1") == (0, "")
    assert execute(cluster, "p", "sh", "-c", "kill -0 1; kill 99; echo $?")[1].endswith("1\n")
    cluster.settle()
    status = container(cluster, "p")
    assert status["lastState"]["terminated"]["exitCode"] == code
    assert (status["restartCount"], "running" in status["state"]) == (1, True)
