"""The statuses of flow schemas: whether the priority level that they name is there."""

from __future__ import annotations

from typing import Any

from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request

VERSION = "flowcontrol.apiserver.k8s.io/v1"
PATH = f"/apis/{VERSION}/flowschemas"


def schema(level: str) -> dict[str, Any]:
    spec = {"priorityLevelConfiguration": {"name": level}}
    return {"apiVersion": VERSION, "kind": "FlowSchema", "metadata": {"name": "mine"}, "spec": spec}


def dangling(cluster: Cluster) -> tuple[str, str]:
    (condition,) = cluster.get("flowschema", "mine")["status"]["conditions"]
    return condition["status"], condition["reason"]


def test_the_answer_comes_before_the_status() -> None:
    """The one who creates a schema sees it without conditions; whoever asks next sees them, one revision later."""
    cluster = Cluster(seed=1)
    made = cluster.create(schema("global-default"))
    assert made["status"] == {}
    live = cluster.get("flowschema", "mine")
    assert int(live["metadata"]["resourceVersion"]) == int(made["metadata"]["resourceVersion"]) + 1
    assert live["metadata"]["managedFields"][0]["manager"] == "api-priority-and-fairness-config-consumer-v1"
    assert dangling(cluster) == ("False", "Found")


def test_a_priority_level_that_comes_and_goes() -> None:
    """The condition follows, with the text of kube-apiserver."""
    cluster = Cluster(seed=1)
    cluster.create(schema("later"))
    assert dangling(cluster) == ("True", "NotFound")
    message = cluster.get("flowschema", "mine")["status"]["conditions"][0]["message"]
    assert message.endswith('named "later" but there is no such object')
    level = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    cluster.create(
        {"apiVersion": VERSION, "kind": "PriorityLevelConfiguration", "metadata": {"name": "later"}, "spec": level}
    )
    assert dangling(cluster) == ("False", "Found")
    cluster.delete("prioritylevelconfiguration", "later")
    assert dangling(cluster) == ("True", "NotFound")


def test_every_release_that_has_flow_control_keeps_it() -> None:
    """In the version that it prefers."""
    for release, version in (("1.20", "v1beta1"), ("1.25", "v1beta2"), ("1.28", "v1beta3"), ("1.37", "v1")):
        cluster = Cluster(release, seed=1)
        path = f"/apis/flowcontrol.apiserver.k8s.io/{version}/flowschemas/catch-all"
        found = cluster.perform(Request.of("GET", path)).object
        assert found["status"]["conditions"][0]["reason"] == "Found"
