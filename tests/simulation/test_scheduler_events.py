"""Events of the scheduler have the newer form, as those of kube-scheduler, with series for what happens again."""

from __future__ import annotations

from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request
from simkit.meta.objects import Object
from tests.simulation.worlds import pod, simulated


def event(cluster: Cluster, reason: str, index: int = 0) -> Object:
    """An event of the scheduler."""
    found: Object = [each for each in cluster.list("events") if each["reason"] == reason][index]
    return found


def test_the_form_of_events() -> None:
    """They have a moment, an action and who reports them; no source, no count, and no first and last time."""
    cluster = simulated()
    cluster.create(pod("web"))
    cluster.settle()
    found = event(cluster, "Scheduled")
    assert found["action"] == "Binding"
    assert (found["reportingComponent"], found["reportingInstance"]) == (
        "default-scheduler",
        "default-scheduler-simkit",
    )
    assert found["eventTime"].endswith(".000000Z")
    assert found["involvedObject"]["name"] == "web"
    assert not any(found.get(field) for field in ("source", "firstTimestamp", "lastTimestamp", "count", "series"))
    newer = cluster.get("events.events.k8s.io", found["metadata"]["name"])
    assert newer["note"].startswith("Successfully assigned default/web to ")


def test_a_preempted_pod_is_told_of_the_other() -> None:
    """The event about a victim names the pod that takes its place."""
    cluster = simulated(1)
    cluster.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
                    "value": 10})  # fmt: skip
    cluster.create(pod("cheap", requests={"cpu": "7"}))
    cluster.settle()
    cluster.create(pod("vip", requests={"cpu": "7"}, priorityClassName="high"))
    cluster.settle()
    found = event(cluster, "Preempted")
    assert (found["action"], found["related"]["name"]) == ("Preempting", "vip")


def test_what_happens_again_is_a_series() -> None:
    """The second of the same events makes a series; later ones are counted, and written after half an hour."""
    cluster = simulated(1)
    cluster.create(pod("huge", requests={"cpu": "99"}))
    cluster.settle()
    for turn in range(5):
        change = {"metadata": {"labels": {"turn": str(turn)}}}
        cluster.perform(
            Request.of("PATCH", "/api/v1/nodes/node-0", change, content_type="application/merge-patch+json")
        )
        cluster.advance(seconds=15)
    events = [each for each in cluster.list("events") if each["reason"] == "FailedScheduling"]
    assert len(events) == 2, "the first changed the condition of the pod, and with it what the second is about"
    assert "series" not in events[0]
    assert events[1]["series"]["count"] == 2
    cluster.advance(minutes=45)
    assert event(cluster, "FailedScheduling", 1)["series"]["count"] > 3
