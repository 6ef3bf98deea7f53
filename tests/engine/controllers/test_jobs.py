"""Jobs and cron jobs: pods are made, counted once, and cleared away in time."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.logic.workloads.jobs import is_finished
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from tests.engine.controllers.worlds import POD_SPEC, job, names, obj, patch, say, told


def finish(cluster: simkit.Cluster, phase: str = "Succeeded") -> None:
    """All pods of jobs that still run end."""
    for pod in cluster.list("pods", "default"):
        if pod["status"]["phase"] in ("Pending", "Running"):
            say(cluster, pod["metadata"]["name"], phase, ready=False)


def test_a_job_works_through_its_completions(cluster: simkit.Cluster) -> None:
    """As many pods at once as are allowed, until enough have succeeded; each is counted and let go."""
    cluster.create(job("j", completions=3, parallelism=2))
    cluster.settle()
    assert cluster.get("job", "j")["status"]["active"] == 2
    finish(cluster)
    cluster.settle()
    status = cluster.get("job", "j")["status"]
    assert (status["succeeded"], status["active"]) == (2, 1)
    finish(cluster)
    cluster.settle()
    status = cluster.get("job", "j")["status"]
    assert (status["succeeded"], status["uncountedTerminatedPods"]) == (3, {})
    assert [each["type"] for each in status["conditions"]] == ["Complete"]
    assert all("finalizers" not in pod["metadata"] for pod in cluster.list("pods", "default"))


def test_indexed_pods_know_their_index(cluster: simkit.Cluster) -> None:
    """An index that failed is given out again, after a pause."""
    cluster.create(job("j", completions=2, parallelism=2, completionMode="Indexed", backoffLimit=3))
    cluster.settle()
    by_host = {pod["spec"]["hostname"]: pod["metadata"]["name"] for pod in cluster.list("pods", "default")}
    assert set(by_host) == {"j-0", "j-1"}
    say(cluster, by_host["j-0"], "Succeeded", ready=False)
    say(cluster, by_host["j-1"], "Failed", ready=False)
    cluster.settle()
    assert cluster.get("job", "j")["status"]["completedIndexes"] == "0"
    assert "active" not in cluster.get("job", "j")["status"]
    clock = cluster.clock
    assert isinstance(clock, simkit.SimulatedClock)
    clock.advance(10)
    cluster.settle()
    assert cluster.get("job", "j")["status"]["active"] == 1
    finish(cluster)
    cluster.settle()
    assert cluster.get("job", "j")["status"]["completedIndexes"] == "0,1"


def test_too_many_failures_end_a_job(cluster: simkit.Cluster) -> None:
    """Beyond its limit a job fails, and its other pods are removed."""
    cluster.create(job("j", completions=5, parallelism=3, backoffLimit=0))
    cluster.settle()
    say(cluster, names(cluster, "pods")[0], "Failed", ready=False)
    cluster.settle()
    status = cluster.get("job", "j")["status"]
    assert [(each["type"], each["reason"]) for each in status["conditions"]] == [("Failed", "BackoffLimitExceeded")]
    assert len(names(cluster, "pods")) == 1


def test_restarts_end_a_job_too(cluster: simkit.Cluster) -> None:
    """Restarts of containers in their pods use up the tries as well."""
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "i"}]}}
    cluster.create(job("j", backoffLimit=2, template=template))
    cluster.settle()
    [name] = names(cluster, "pods")
    for restarts, ended in ((1, False), (2, True)):
        state = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": restarts}
        say(cluster, name, containerStatuses=[state])
        cluster.settle()
        assert is_finished(cluster.get("job", "j")) is ended
    assert cluster.get("job", "j")["status"]["conditions"][0]["reason"] == "BackoffLimitExceeded"


@pytest.mark.parametrize(
    ("field", "more"),
    [
        (
            {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}},
            {},
        ),
        ({"backoffLimitPerIndex": 1}, {"completions": 2, "completionMode": "Indexed"}),
    ],
)
def test_jobs_with_policies_are_not_run(cluster: simkit.Cluster, field: dict[str, Any], more: dict[str, Any]) -> None:
    """They get no pods, and an Event says why."""
    cluster.create(job("j", **field, **more))
    cluster.settle()
    assert names(cluster, "pods") == []
    assert told(cluster, "j") == [("Warning", "NotSimulated", f"simkit does not run jobs with {next(iter(field))}", 1)]


def test_a_deadline_ends_a_job(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """Time alone is enough."""
    cluster.create(job("j", activeDeadlineSeconds=60))
    cluster.settle()
    clock.advance(60)
    cluster.settle()
    assert cluster.get("job", "j")["status"]["conditions"][0]["reason"] == "DeadlineExceeded"
    assert names(cluster, "pods") == []


def test_a_job_can_be_suspended_and_resumed(cluster: simkit.Cluster) -> None:
    """Its pods go and come again, its time starts anew."""
    cluster.create(job("j", backoffLimit=6))
    cluster.settle()
    path = "/apis/batch/v1/namespaces/default/jobs/j"
    patch(cluster, path, {"spec": {"suspend": True}})
    cluster.settle()
    status = cluster.get("job", "j")["status"]
    assert ("startTime" in status, status["conditions"][0]["reason"], names(cluster, "pods")) == (
        False,
        "JobSuspended",
        [],
    )
    patch(cluster, path, {"spec": {"suspend": False}})
    cluster.settle()
    status = cluster.get("job", "j")["status"]
    assert (status["conditions"][0]["status"], status["active"]) == ("False", 1)


def test_a_finished_job_is_removed_in_time(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """Its pods go with it."""
    cluster.create(job("j", ttlSecondsAfterFinished=100))
    cluster.settle()
    finish(cluster)
    cluster.settle()
    clock.advance(99)
    cluster.settle()
    assert names(cluster, "jobs") == ["j"]
    clock.advance(1)
    cluster.settle()
    assert names(cluster, "jobs") + names(cluster, "pods") == []


def test_pods_of_a_job_that_is_gone_are_let_go(cluster: simkit.Cluster) -> None:
    """A job that leaves its pods behind does not leave its finalizer on them."""
    cluster.create(job("j"))
    cluster.settle()
    cluster.perform(Request.of("DELETE", "/apis/batch/v1/namespaces/default/jobs/j?propagationPolicy=Orphan"))
    cluster.settle()
    [pod] = cluster.list("pods", "default")
    assert "finalizers" not in pod["metadata"]


def cron(name: str, schedule: str, **spec: object) -> dict[str, object]:
    template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
    return obj("batch/v1", "CronJob", name, spec={"schedule": schedule, "jobTemplate": template, **spec})


def test_a_cron_job_fires(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """One job for each time; of several missed times only for the last."""
    cluster.create(cron("c", "*/10 * * * *"))
    cluster.settle()
    assert names(cluster, "jobs") == []
    clock.advance(minutes=10)
    cluster.settle()
    [first] = cluster.list("jobs", "default")
    assert first["metadata"]["annotations"] == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2024-04-17T00:10:00Z"
    }
    assert cluster.get("cronjob", "c")["status"]["active"][0]["name"] == first["metadata"]["name"]
    clock.advance(minutes=35)
    cluster.settle()
    assert len(names(cluster, "jobs")) == 2
    assert cluster.get("cronjob", "c")["status"]["lastScheduleTime"] == "2024-04-17T00:40:00Z"


@pytest.mark.parametrize(("policy", "running"), [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
def test_jobs_may_overlap_or_not(
    cluster: simkit.Cluster, clock: simkit.SimulatedClock, policy: str, running: int
) -> None:
    """The policy says what happens when a job is still at work."""
    cluster.create(cron("c", "* * * * *", concurrencyPolicy=policy))
    clock.advance(minutes=1)
    cluster.settle()
    [first] = names(cluster, "jobs")
    clock.advance(minutes=1)
    cluster.settle()
    assert len(names(cluster, "jobs")) == running
    assert (first in names(cluster, "jobs")) is (policy != "Replace")


def test_jobs_of_others_and_missed_times_are_told(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """A job made by hand under a cron job's name; more than a hundred times that nobody saw."""
    owner = cluster.create(cron("c", "* * * * *"))
    reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": owner["metadata"]["uid"]}
    made = job("mine")
    made["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    cluster.create(made)
    cluster.settle()
    text = "Saw a job that the controller did not create or forgot: mine"
    assert ("Warning", "UnexpectedJob", text) in [each[:3] for each in told(cluster, "c")]
    clock.advance(minutes=100)
    cluster.settle()
    assert "TooManyMissedTimes" not in [reason for _, reason, _, _ in told(cluster, "c")]
    clock.advance(minutes=101)
    cluster.settle()
    assert "TooManyMissedTimes" in [reason for _, reason, _, _ in told(cluster, "c")]


OLD_ZONE = "TZ=Europe/Rome * * * * *"
OLD_ZONE_WARNING = (
    f'CRON_TZ or TZ used in schedule "{OLD_ZONE}" is not officially supported, see '
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


@pytest.mark.parametrize(
    ("spec", "reason", "text"),
    [
        (
            {"schedule": "59 23 31 2 *"},
            "InvalidSchedule",
            "invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second",
        ),
        (
            {"schedule": "* * *"},
            "UnparseableSchedule",
            'unparseable schedule: "* * *" : expected exactly 5 fields, found 3: [* * *]',
        ),
        (
            {"schedule": "* * * * *", "timeZone": "Nowhere/Else"},
            "UnknownTimeZone",
            'invalid timeZone: "Nowhere/Else": unknown time zone Nowhere/Else',
        ),
        (
            {"schedule": "TZ=Nowhere/Else * * * * *"},
            "UnparseableSchedule",
            'unparseable schedule: "TZ=Nowhere/Else * * * * *" : '
            "provided bad location Nowhere/Else: unknown time zone Nowhere/Else",
        ),
        ({"schedule": OLD_ZONE}, "UnsupportedSchedule", OLD_ZONE_WARNING),
    ],
)
def test_schedules_that_are_none_are_told(
    cluster: simkit.Cluster, clock: simkit.SimulatedClock, spec: dict[str, str], reason: str, text: str
) -> None:
    """A schedule that never fires, and those that were stored before they were refused: a warning, and no job."""
    cluster.create(cron("c", "0 0 1 1 *"))
    store = cluster.engine.store
    entry = store.get(Key(GroupResource("batch", "cronjobs"), "default", "c"))
    assert entry is not None
    store.put(entry.key, {**entry.object, "spec": {**entry.object["spec"], **spec}}, expect=entry.revision)
    clock.advance(minutes=2)
    cluster.settle()
    assert ("Warning", reason, text) in [each[:3] for each in told(cluster, "c")]
    assert len(names(cluster, "jobs")) == (1 if reason == "UnsupportedSchedule" else 0)


def test_finished_jobs_are_kept_for_a_while(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """Only so many successes are kept, and the last one is noted."""
    cluster.create(cron("c", "* * * * *", successfulJobsHistoryLimit=1))
    for _ in range(3):
        clock.advance(minutes=1)
        cluster.settle()
        finish(cluster)
        cluster.settle()
    assert len(names(cluster, "jobs")) == 1
    assert cluster.get("cronjob", "c")["status"]["lastSuccessfulTime"] == "2024-04-17T00:03:00Z"


def test_a_late_start_may_be_too_late(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """A time that was missed by more than the deadline is skipped."""
    cluster.create(cron("c", "0 * * * *", startingDeadlineSeconds=60))
    clock.advance(hours=1, minutes=30)
    cluster.settle()
    assert names(cluster, "jobs") == []


def test_a_job_marks_the_pods_that_it_takes_in(cluster: simkit.Cluster) -> None:
    """With the finalizer by which it counts them, and takes it away from those that it lets go."""
    labels = {"app": "web"}
    cluster.create(obj("v1", "Pod", "stray", meta={"labels": labels}, spec={**POD_SPEC, "restartPolicy": "Never"}))
    template = {"metadata": {"labels": labels}, "spec": {**POD_SPEC, "restartPolicy": "Never"}}
    cluster.create(
        obj(
            "batch/v1",
            "Job",
            "j",
            spec={"manualSelector": True, "selector": {"matchLabels": labels}, "template": template},
        )
    )
    cluster.settle()
    assert names(cluster, "pods") == ["stray"]
    assert cluster.get("pod", "stray")["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    patch(cluster, "/api/v1/namespaces/default/pods/stray", {"metadata": {"labels": {"app": "other"}}})
    cluster.settle()
    assert "finalizers" not in cluster.get("pod", "stray")["metadata"]


def test_an_indexed_job_that_shrinks_loses_its_last_indexes(cluster: simkit.Cluster) -> None:
    """Even those that are further than others."""
    cluster.create(job("j", completionMode="Indexed", completions=3, parallelism=3))
    cluster.settle()
    by_index = {each["spec"]["hostname"]: each["metadata"]["name"] for each in cluster.list("pods", "default")}
    say(cluster, by_index["j-2"])
    patch(cluster, "/apis/batch/v1/namespaces/default/jobs/j", {"spec": {"completions": 2, "parallelism": 2}})
    cluster.settle()
    assert sorted(each["spec"]["hostname"] for each in cluster.list("pods", "default")) == ["j-0", "j-1"]


def test_more_successes_than_asked_for_are_told(cluster: simkit.Cluster) -> None:
    """Of pods that a job has taken in."""
    labels = {"app": "web"}
    for name in ("a", "b"):
        cluster.create(obj("v1", "Pod", name, meta={"labels": labels}, spec={**POD_SPEC, "restartPolicy": "Never"}))
        say(cluster, name, "Succeeded", ready=False)
    template = {"metadata": {"labels": labels}, "spec": {**POD_SPEC, "restartPolicy": "Never"}}
    spec = {"manualSelector": True, "selector": {"matchLabels": labels}, "template": template, "completions": 1}
    cluster.create(obj("batch/v1", "Job", "j", spec=spec))
    cluster.settle()
    text = "Too many succeeded pods running after completion count reached"
    assert ("Warning", "TooManySucceededPods", text, 1) in told(cluster, "j")
