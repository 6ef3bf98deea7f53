"""The effect of admission on an object, reported before anything is written."""

from __future__ import annotations

from typing import Any

import simkit


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod with one container."""
    wanted = {"containers": [{"name": "c", "image": "i"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": wanted}


def test_each_plugin_tells_what_it_changes() -> None:
    """The service account's token appears under the plugin that mounts it, and nothing is stored."""
    cluster = simkit.Cluster(seed=1)
    cluster.settle()
    admitted = cluster.admit(pod("a"))
    [mounting] = [step for step in admitted.steps if step.plugin == "ServiceAccount" and step.changes]
    assert any("volumes" in str(change) for change in mounting.changes)
    assert admitted
    assert cluster.list("pods") == []


def test_refusals_come_from_all_plugins() -> None:
    """A missing account and a missing class are told together."""
    cluster = simkit.Cluster(seed=1)
    cluster.settle()
    refused = cluster.admit(pod("a", serviceAccountName="no", priorityClassName="no"))
    assert not refused
    assert len(refused.refusals) >= 2


def test_a_trial_uses_up_no_generated_names() -> None:
    """Names that a seeded cluster generates later are the same as without the trial."""
    made = []
    for trials in (0, 3):
        cluster = simkit.Cluster(seed=7)
        cluster.settle()
        for _ in range(trials):
            assert cluster.admit(pod("a"))
        stored = cluster.create(pod("b"))
        made.append((stored["metadata"]["uid"], stored["spec"]["volumes"][0]["name"]))
    assert made[0] == made[1]
