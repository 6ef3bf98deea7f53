"""Jobs of releases from 1.31 on, which say which end is to come before they end."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request
from tests.engine.controllers.conftest import Making
from tests.engine.controllers.worlds import job, names, patch, say

RELEASES = ("1.31", "1.32", "1.34", "1.37")
PODS = "/api/v1/namespaces/default/pods"
ENOUGH = ("CompletionsReached", "Reached expected number of succeeded pods")


def conditions(cluster: simkit.Cluster) -> list[tuple[Any, ...]]:
    found = cluster.get("job", "j")["status"].get("conditions", ())
    return [(each["type"], each["status"], each.get("reason")) for each in found]


@pytest.mark.parametrize("release", RELEASES)
def test_a_job_completes(making: Making, release: str) -> None:
    """What was met is told with its reason, and the pods are let go."""
    cluster = making(release=release)
    cluster.create(job("j", completions=2, parallelism=1))
    for _ in range(2):
        cluster.settle()
        for name in names(cluster, "pods"):
            say(cluster, name, "Succeeded", ready=False)
    cluster.settle()
    status = cluster.get("job", "j")["status"]
    assert conditions(cluster) == [("SuccessCriteriaMet", "True", ENOUGH[0]), ("Complete", "True", ENOUGH[0])]
    assert [each["message"] for each in status["conditions"]] == [ENOUGH[1]] * 2
    assert (status["succeeded"], status["uncountedTerminatedPods"], "completionTime" in status) == (2, {}, True)
    assert all("finalizers" not in pod["metadata"] for pod in cluster.list("pods", "default"))


@pytest.mark.parametrize("release", RELEASES)
def test_a_job_has_failed_when_its_last_pod_is_gone(making: Making, release: str) -> None:
    """Until then it says that it is to fail, and a new reason does not change that. Pods that it removes have failed."""
    cluster = making(release=release)
    cluster.create(job("j", completions=5, parallelism=2, backoffLimit=0, activeDeadlineSeconds=60))
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    cluster.settle()
    first, second = names(cluster, "pods")
    for name in (first, second):
        binding = {"kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}}
        assert cluster.perform(Request.of("POST", f"{PODS}/{name}/binding", binding)).succeeded
        say(cluster, name, "Running", ready=True)
    say(cluster, first, "Failed", ready=False)
    cluster.settle()
    assert conditions(cluster) == [("FailureTarget", "True", "BackoffLimitExceeded")]
    status = cluster.get("job", "j")["status"]
    assert (status["failed"], status["terminating"], "active" in status) == (2, 1, False)
    clock = cluster.clock
    assert isinstance(clock, simkit.SimulatedClock)
    clock.advance(100)
    cluster.settle()
    assert conditions(cluster) == [("FailureTarget", "True", "BackoffLimitExceeded")]
    say(cluster, second, "Failed", ready=False)
    cluster.settle()
    assert [each[0] for each in conditions(cluster)] == ["FailureTarget", "Failed"]
    assert {each[2] for each in conditions(cluster)} == {"BackoffLimitExceeded"}


@pytest.mark.parametrize("release", RELEASES)
def test_a_deadline_ends_a_job(making: Making, release: str) -> None:
    cluster = making(release=release)
    cluster.create(job("j", activeDeadlineSeconds=60))
    cluster.settle()
    clock = cluster.clock
    assert isinstance(clock, simkit.SimulatedClock)
    clock.advance(60)
    cluster.settle()
    assert conditions(cluster) == [
        ("FailureTarget", "True", "DeadlineExceeded"),
        ("Failed", "True", "DeadlineExceeded"),
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_a_suspended_job_goes_on(making: Making, release: str) -> None:
    cluster = making(release=release)
    cluster.create(job("j", backoffLimit=6))
    path = "/apis/batch/v1/namespaces/default/jobs/j"
    for suspend in (True, False):
        cluster.settle()
        patch(cluster, path, {"spec": {"suspend": suspend}})
    cluster.settle()
    [name] = names(cluster, "pods")
    say(cluster, name, "Succeeded", ready=False)
    cluster.settle()
    assert [each[:2] for each in conditions(cluster)] == [
        ("Suspended", "False"),
        ("SuccessCriteriaMet", "True"),
        ("Complete", "True"),
    ]
