"""Decisions that controllers share: rollouts, indexes, schedules, conditions, history."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.logic.workloads import indexes, jobs, rollout
from simkit.logic.workloads.nodes import fits, tolerates
from simkit.logic.workloads.pods import available_from, integer_or_percent, removal_rank
from simkit.logic.workloads.schedule import Firing
from simkit.logic.workloads.status_conditions import find, with_condition

pytestmark = pytest.mark.slow


@settings(max_examples=100)
@given(st.sets(st.integers(0, 200)))
def test_indexes_survive_being_written(numbers: set[int]) -> None:
    """Any set of indexes can be read back from its text."""
    assert set(indexes.parse(indexes.write(numbers), below=201)) == numbers


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("schedule", "after", "then"),
    [
        ("*/15 * * * *", "2024-01-01T00:14:59", "2024-01-01T00:15:00"),
        ("0 6 * * 1", "2024-01-02T00:00:00", "2024-01-08T06:00:00"),
        ("0 0 29 2 *", "2024-03-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 13 * 5", "2024-01-01T00:00:00", "2024-01-05T00:00:00"),  # a 13th or a Friday
        ("@every 90s", "2024-01-01T00:00:00", "2024-01-01T00:01:30"),
        ("@daily", "2024-12-31T00:00:00", "2025-01-01T00:00:00"),
    ],
)
def test_schedules_fire(schedule: str, after: str, then: str) -> None:
    """The next time is after the given one, and that next time is the last one at itself."""
    firing = Firing(schedule)
    assert firing.next_after(moment(after)) == moment(then)
    assert firing.last_until(moment(then), moment(after)) == moment(then)


def test_schedules_know_time_zones() -> None:
    """A zone shifts the times; the hour that a clock skips does not fire."""
    berlin = Firing("30 2 * * *", "Europe/Berlin")
    assert berlin.next_after(moment("2024-01-01T00:00:00")) == moment("2024-01-01T01:30:00")
    assert berlin.next_after(moment("2024-03-30T12:00:00")) == moment("2024-04-01T00:30:00")
    assert Firing("CRON_TZ=Asia/Tokyo 0 9 * * *").next_after(0.0) == 86400.0


def test_a_schedule_that_never_fires() -> None:
    """The thirtieth of February does not come."""
    assert Firing("0 0 30 2 *").next_after(0.0) is None


def sized(name: str, replicas: int, available: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, **more},
        "spec": {"replicas": replicas},
        "status": {"availableReplicas": available},
    }


def deployment(replicas: int, **rolling: Any) -> dict[str, Any]:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%", **rolling}}
    return {"metadata": {"name": "d"}, "spec": {"replicas": replicas, "strategy": strategy}}


@settings(max_examples=150)
@given(st.integers(1, 12), st.integers(0, 100), st.integers(0, 100), st.lists(st.booleans(), min_size=60, max_size=60))
def test_a_rollout_keeps_its_promises(replicas: int, surge: int, lacking: int, luck: list[bool]) -> None:
    """There are never too many pods, serving ones are never taken below the floor, and the end is reached."""
    owner = deployment(replicas, maxSurge=f"{surge}%", maxUnavailable=f"{lacking}%")
    new, old = sized("new", 0), sized("old", replicas, replicas)
    floor = replicas - rollout.may_lack(owner)
    for lucky in [*luck, *[True] * 40]:
        size = rollout.new_size(owner, [new, old], new)
        new["spec"]["replicas"] = size
        assert new["spec"]["replicas"] + old["spec"]["replicas"] <= replicas + rollout.surge(owner)
        if lucky:  # the new pods become available
            new["status"]["availableReplicas"] = new["spec"]["replicas"]
        sizes = rollout.old_sizes(owner, new, [old])
        if "old" in sizes:
            old["spec"]["replicas"] = sizes["old"]
            old["status"]["availableReplicas"] = min(old["status"]["availableReplicas"], sizes["old"])
        assert new["status"]["availableReplicas"] + old["status"]["availableReplicas"] >= floor
    assert (new["spec"]["replicas"], old["spec"]["replicas"]) == (replicas, 0)


def test_scaling_during_a_rollout_is_shared() -> None:
    """Both sets grow in proportion, and together to the wanted size with its surge."""
    owner = {**deployment(20), "status": {"replicas": 13}}
    note: Any = {"annotations": {rollout.MAXIMUM: "13"}}
    sets = [sized("a", 5, creationTimestamp="2024-01-01T00:00:00Z", **note), sized("b", 8, **note)]
    sizes = {"a": 5, "b": 8} | rollout.shares(owner, sets)
    assert sum(sizes.values()) == 20 + rollout.surge(owner)
    assert sizes["b"] > sizes["a"]


@pytest.mark.parametrize(
    ("replicas", "shared"),
    [(0, {"a": 0, "b": 0}), (3, {"a": 1, "b": 2}), (5, {"a": 2, "b": 3}), (4, {"a": 2, "b": 2})],
)
def test_of_sets_of_one_size_the_newer_grow_and_the_older_shrink(replicas: int, shared: dict[str, int]) -> None:
    """Halves are rounded up; what is left over goes to or comes from the first."""
    owner = deployment(replicas, maxSurge=0)
    note: Any = {"annotations": {rollout.MAXIMUM: "4"}}
    sets = [sized("b", 2, creationTimestamp="2024-01-02T00:00:00Z", **note), sized("a", 2, **note)]
    assert rollout.shares(owner, sets) == shared


def test_the_history_of_a_set_does_not_grow_for_ever() -> None:
    """The oldest numbers give way."""
    notes = {rollout.REVISION: "9", rollout.HISTORY: ",".join(map(str, range(100, 600)))}
    history = rollout.history_with({"metadata": {"annotations": notes}})[rollout.HISTORY]
    assert (history[:4], history[-4:], len(history)) == ("101,", "99,9", 1997)
    assert rollout.history_with({"metadata": {}}) == {}


def test_the_newest_set_has_the_template() -> None:
    """The label that tells templates apart does not make another template."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    made = {**template, "metadata": {"labels": {"a": "b", rollout.HASH_LABEL: "x"}, "creationTimestamp": None}}
    own = {"metadata": {"name": "s"}, "spec": {"template": made}}
    assert rollout.newest({"spec": {"template": template}}, [own]) == own
    assert rollout.newest({"spec": {"template": {**template, "spec": {}}}}, [own]) is None


def test_pods_are_removed_from_the_least_useful() -> None:
    """Unplaced before placed, waiting before running, unready before ready, cheap before dear."""
    pods: list[dict[str, Any]] = [
        {
            "metadata": {"name": "ready"},
            "spec": {"nodeName": "n"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        },
        {"metadata": {"name": "running"}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}},
        {"metadata": {"name": "waiting"}, "spec": {"nodeName": "n"}, "status": {"phase": "Pending"}},
        {"metadata": {"name": "unplaced"}, "spec": {}, "status": {"phase": "Pending"}},
        {
            "metadata": {"name": "cheap", "annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}},
            "spec": {"nodeName": "n"},
            "status": {"phase": "Running"},
        },
    ]
    assert [pod["metadata"]["name"] for pod in sorted(pods, key=removal_rank)] == [
        "unplaced",
        "waiting",
        "cheap",
        "running",
        "ready",
    ]


def test_availability_takes_its_time() -> None:
    """A pod is available once it has been ready long enough."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:01:00Z"}
    assert available_from({"status": {"conditions": [ready]}}, 30) == 90.0
    assert available_from({"status": {"conditions": [{**ready, "status": "False"}]}}, 0) is None
    assert integer_or_percent("50%", 5, up=False) == 2


def test_conditions_keep_their_place_and_time() -> None:
    """A condition that says the same as before keeps the time of its last change."""
    first = with_condition([], {"type": "A", "status": "True"}, "t1")
    second = with_condition(
        [*first, {"type": "B", "status": "True"}], {"type": "A", "status": "True", "reason": "r"}, "t2"
    )
    assert second[0] == {"type": "A", "status": "True", "reason": "r", "lastTransitionTime": "t1"}
    third = with_condition(second, {"type": "A", "status": "False"}, "t3")
    found = find(third, "A")
    assert found is not None
    assert found["lastTransitionTime"] == "t3"


def node(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "n", "labels": labels}}


@pytest.mark.parametrize(
    ("expression", "fit"),
    [
        ({"key": "zone", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "size", "operator": "Gt", "values": ["3"]}, True),
        ({"key": "size", "operator": "Lt", "values": ["3"]}, False),
        ({"key": "gpu", "operator": "Exists"}, False),
    ],
)
def test_nodes_fit_by_their_labels(expression: dict[str, Any], fit: bool) -> None:
    """Required affinity is a list of alternatives, each a list of conditions."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    assert fits({"spec": {"affinity": affinity}}, node(zone="a", size="4")) is fit


def test_taints_keep_pods_off() -> None:
    """A taint is tolerated by its key and value, by its key, or by everything."""
    tainted = {**node(), "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}
    assert not tolerates([], tainted, "NoSchedule")
    assert tolerates([], tainted, "NoExecute")
    assert tolerates([{"key": "k", "value": "v"}], tainted, "NoSchedule")
    assert not tolerates([{"key": "k", "value": "w"}], tainted, "NoSchedule")
    assert tolerates([{"operator": "Exists"}], tainted, "NoSchedule")


def job_pod(name: str, phase: str, index: int | None = None, **more: Any) -> dict[str, Any]:
    notes = {} if index is None else {"annotations": {jobs.INDEX: str(index)}}
    meta = {"name": name, "uid": name, "finalizers": [jobs.TRACKING], **notes}
    return {"metadata": meta, "status": {"phase": phase, **more}}


def test_indexed_jobs_work_through_their_indexes() -> None:
    """An index that succeeded is not given out again; one that failed is."""
    job = {"spec": {"completionMode": "Indexed", "completions": 4, "parallelism": 4}}
    pods = [job_pod("a", "Succeeded", 0), job_pod("b", "Failed", 1), job_pod("c", "Running", 2)]
    progress = jobs.progress_of(job, pods)
    assert (progress.succeeded, progress.failed, set(progress.done)) == (1, 1, {0})
    assert jobs.wanted_pods(progress) == 3
    assert jobs.free_indexes(progress, 2) == [1, 3]


def test_failures_are_answered_more_and_more_slowly() -> None:
    """Each failure doubles the pause, up to ten minutes; a success ends the row."""
    job: dict[str, Any] = {"spec": {}}
    failed = [
        {**job_pod(str(n), "Failed"), "metadata": {"creationTimestamp": "1970-01-01T00:00:00Z"}} for n in range(3)
    ]
    assert jobs.pause_until(jobs.progress_of(job, failed[:1])) == 10.0
    assert jobs.pause_until(jobs.progress_of(job, failed)) == 40.0
    good = {**job_pod("g", "Succeeded"), "metadata": {"creationTimestamp": "1970-01-01T00:00:09Z"}}
    assert jobs.pause_until(jobs.progress_of(job, [*failed, good])) == 0.0


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
@pytest.mark.parametrize("moment", [-62_135_596_800.0, 253_402_300_799.0, 1e15, -1e15])
def test_schedules_at_the_ends_of_the_calendar(zone: str, moment: float) -> None:
    """A status may say that a cron job last ran in the year 1 or 9999: its times are found or not, without an error."""
    firing = Firing("0 0 * * *", zone)
    assert firing.last_until(1.7e9, moment) == (None if moment > 1.7e9 else firing.last_until(1.7e9))
    assert firing.missed(1.7e9, moment) >= 0
    following = firing.next_after(moment)
    assert following is None or following > moment
