"""Probes are tried in the containers, and lifecycle hooks are run."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.simulation.kubelet.process import Container
from tests.simulation.worlds import pod, simulated

HEALTHY = ["cat", "/tmp/healthy"]


def shell(script: str, **container: Any) -> dict[str, Any]:
    """A container that runs a script."""
    return {"image": "busybox", "command": ["sh", "-c", script], **container}


def status(cluster: Cluster, name: str) -> Any:
    """The status of the only container of a pod."""
    return cluster.get("pod", name)["status"]["containerStatuses"][0]


def told(cluster: Cluster, reason: str) -> list[str]:
    """The messages of events."""
    return [each["message"] for each in cluster.list("events") if each["reason"] == reason]


def test_a_liveness_probe_whose_file_goes() -> None:
    """The example of the documentation: healthy for 30 seconds, told to end at the third failure, killed later."""
    cluster = simulated(1)
    probe = {"exec": {"command": HEALTHY}, "initialDelaySeconds": 5, "periodSeconds": 5}
    script = "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"
    cluster.create(pod("live", container=shell(script, livenessProbe=probe)))
    cluster.advance(seconds=44)
    assert status(cluster, "live")["restartCount"] == 0
    cluster.advance(seconds=30)
    assert status(cluster, "live")["restartCount"] == 1
    assert status(cluster, "live")["lastState"]["terminated"]["exitCode"] == 137
    assert any("Liveness probe failed: cat: " in each for each in told(cluster, "Unhealthy"))
    assert told(cluster, "Killing") == ["Container main failed liveness probe, will be restarted"]


def test_a_readiness_probe_that_passes_later() -> None:
    """The pod is ready from the second success on, and unready after failures, without a restart."""
    cluster = simulated(1)
    probe = {"exec": {"command": HEALTHY}, "periodSeconds": 2, "successThreshold": 2, "failureThreshold": 1}
    script = "sleep 5; touch /tmp/healthy; sleep 15; rm /tmp/healthy; sleep 600"
    cluster.create(pod("ready", container=shell(script, readinessProbe=probe)))
    cluster.settle()
    seen = []
    for _ in range(12):
        seen.append(status(cluster, "ready")["ready"])
        cluster.advance(seconds=2)
    assert seen == [False] * 4 + [True] * 6 + [False] * 2
    assert status(cluster, "ready")["restartCount"] == 0


def test_a_startup_probe_holds_the_others_back() -> None:
    """A slow start is no failure of the liveness probe; one that never comes ends the container."""
    cluster = simulated(1)
    start = {"exec": {"command": HEALTHY}, "periodSeconds": 10, "failureThreshold": 6}
    live = {"exec": {"command": HEALTHY}, "periodSeconds": 1, "failureThreshold": 1}
    slow = shell("sleep 45; touch /tmp/healthy; sleep 600", startupProbe=start, livenessProbe=live)
    cluster.create(pod("slow", container=slow))
    cluster.create(pod("never", container=shell("sleep 600", startupProbe=start)))
    cluster.advance(seconds=30)
    assert (status(cluster, "slow")["started"], status(cluster, "slow")["ready"]) == (False, False)
    cluster.advance(seconds=25)
    assert (status(cluster, "slow")["started"], status(cluster, "slow")["ready"]) == (True, True)
    assert (status(cluster, "slow")["restartCount"], status(cluster, "never")["restartCount"]) == (0, 0)
    cluster.advance(seconds=30)
    assert (status(cluster, "slow")["restartCount"], status(cluster, "never")["restartCount"]) == (0, 1)


def test_a_command_that_takes_too_long() -> None:
    """It fails after its timeout."""
    cluster = simulated(1)
    probe = {"exec": {"command": ["sleep", "3"]}, "timeoutSeconds": 2}
    cluster.create(pod("late", container=shell("sleep 600", readinessProbe=probe)))
    cluster.advance(seconds=1)
    assert status(cluster, "late")["ready"] is False
    assert told(cluster, "Unhealthy") == ['Readiness probe failed: command "sleep 3" timed out']


def test_probes_over_http() -> None:
    """A listener of the test is asked; a page that a web server does not have is a failure."""
    cluster = simulated(1)
    answers = [b"HTTP/1.1 503 Service Unavailable\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"]
    cluster.behave(image="api:*", ports={8080: lambda data: answers[b"/ready" not in data]})
    probe = {"httpGet": {"path": "/ready", "port": "web"}, "periodSeconds": 1}
    container = {"image": "api:1", "ports": [{"name": "web", "containerPort": 8080}], "readinessProbe": probe}
    cluster.create(pod("api", container=container))
    missing = {"image": "nginx", "readinessProbe": {"httpGet": {"path": "/missing", "port": 80}}}
    cluster.create(pod("web", container=missing))
    cluster.advance(seconds=1)
    assert [status(cluster, name)["ready"] for name in ("api", "web")] == [False, False]
    assert "Readiness probe failed: HTTP probe failed with statuscode: 404" in told(cluster, "Unhealthy")
    answers.reverse()
    cluster.advance(seconds=2)
    assert status(cluster, "api")["ready"] is True


@pytest.mark.parametrize(
    "probe", [{"exec": {"command": HEALTHY}}, {"httpGet": {"path": "/healthz", "port": 8080}}, {"grpc": {"port": 9}}]
)
def test_probes_of_unknown_programs_pass(probe: dict[str, Any]) -> None:
    """What an image does is not known, so its probes pass, and are not tried again and again."""
    cluster = simulated(1)
    cluster.create(pod("app", container={"readinessProbe": probe, "livenessProbe": probe}))
    cluster.settle()
    assert status(cluster, "app")["ready"] is True


def test_a_fork_knows_the_results() -> None:
    """What was ready stays ready, and the failures so far count."""
    cluster = simulated(1)
    probe = {"exec": {"command": HEALTHY}, "periodSeconds": 10, "failureThreshold": 3}
    script = "trap exit TERM; touch /tmp/healthy; sleep 15; rm /tmp/healthy; sleep 600 & wait"
    cluster.create(pod("app", container=shell(script, livenessProbe=probe)))
    cluster.advance(seconds=35)
    with cluster.what_if() as trial:
        trial.advance(seconds=6)
        assert status(trial, "app")["restartCount"] == 1
    assert status(cluster, "app")["restartCount"] == 0


def test_a_hook_after_the_start() -> None:
    """It works on the files of its container; if it fails, the container is killed."""
    cluster = simulated(1)
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo hello > /tmp/greeting"]}}}
    probe = {"exec": {"command": ["grep", "hello", "/tmp/greeting"]}}
    cluster.create(pod("good", container=shell("sleep 600", lifecycle=hook, readinessProbe=probe)))
    bad = {"postStart": {"exec": {"command": ["sh", "-c", "exit 1"]}}}
    cluster.create(pod("bad", container=shell("sleep 600", lifecycle=bad)))
    cluster.settle()
    assert status(cluster, "good")["ready"] is True
    assert status(cluster, "bad")["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert "PostStartHook failed" in told(cluster, "FailedPostStartHook")


def test_hooks_over_http() -> None:
    """Any answer will do; where the port of a known program refuses the connection, the hook has failed."""
    cluster, asked = simulated(1), list[bytes]()

    def answer(data: bytes) -> bytes:
        asked.append(data.splitlines()[0])
        return b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"

    cluster.behave(image="app:1", ports={8080: answer})
    hooks = {"postStart": {"httpGet": {"path": "/begin", "port": "web"}}, "preStop": {"httpGet": {"port": 8080}}}
    container = {"ports": [{"name": "web", "containerPort": 8080}], "lifecycle": hooks}
    cluster.create(pod("good", container=container))
    refused = {"postStart": {"httpGet": {"port": 81}}}
    cluster.create(pod("bad", container={"image": "nginx", "lifecycle": refused}))
    cluster.settle()
    assert status(cluster, "good")["ready"] is True
    assert status(cluster, "bad")["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    cluster.delete("pod", "good")
    cluster.settle()
    assert asked == [b"GET /begin HTTP/1.1", b"GET / HTTP/1.1"]


@pytest.mark.parametrize("hook", [{"sleep": {"seconds": 10}}, {"exec": {"command": ["sleep", "10"]}}])
def test_a_hook_before_the_stop(hook: dict[str, Any]) -> None:
    """The pod goes when it is over, at the latest after the grace period."""
    cluster = simulated(1)
    script = "trap exit TERM; sleep 600 & wait"
    cluster.create(pod("slow", container=shell(script, lifecycle={"preStop": hook})))
    longer = {"preStop": {"exec": {"command": ["sleep", "10"]}}}
    hurried = pod("hurried", container=shell(script, lifecycle=longer))
    cluster.create({**hurried, "spec": {**hurried["spec"], "terminationGracePeriodSeconds": 4}})
    cluster.settle()
    for name in ("slow", "hurried"):
        cluster.delete("pod", name)
    seen = []
    for _ in range(3):
        seen.append(sorted(each["metadata"]["name"] for each in cluster.list("pods")))
        cluster.advance(seconds=5)
    assert seen == [["hurried", "slow"], ["slow"], []]


def test_hooks_of_python_programs() -> None:
    """Commands that a test provides are run as hooks too."""
    cluster, seen = simulated(1), []

    def drain(container: Container, words: Any) -> Any:
        seen.append((container.name, list(words)))
        yield 2.0

    cluster.behave(image="app:*", commands={"drain": drain})
    cluster.create(pod("app", container={"lifecycle": {"preStop": {"exec": {"command": ["drain", "now"]}}}}))
    cluster.settle()
    cluster.delete("pod", "app")
    assert len(cluster.list("pods")) == 1
    cluster.advance(seconds=2)
    assert cluster.list("pods") == []
    assert seen == [("main", ["drain", "now"])]
