"""The effect of admission on an object, reported before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.errors import StatusError


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
        cluster = simkit.Cluster(options=simkit.Options(seed=7, clock=simkit.SimulatedClock()))
        cluster.settle()
        for _ in range(trials):
            assert cluster.admit(pod("a"))
        stored = cluster.create(pod("b"))
        made.append((stored["metadata"]["uid"], stored["spec"]["volumes"][0]["name"]))
    assert made[0] == made[1]


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}


@pytest.mark.parametrize(
    "obj",
    [
        pod("Upper"),
        pod("a") | {"metadata": {"labels": {"x": "y"}}},
        pod("a") | {"metadata": {"name": "a", "labels": {"-": "y"}}},
        pod("a") | {"metadata": {"name": "a", "finalizers": ["unqualified"]}},
        pod("a", containers=[]),
        SERVICE | {"metadata": {"name": "1"}},
        SERVICE | {"spec": {"ports": []}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"a": "-"}}},
    ],
)
def test_what_the_server_refuses_is_refused(obj: dict[str, Any]) -> None:
    """Names, labels and finalizers are looked at as fields are, of new objects and of those that are there."""
    cluster = simkit.Cluster(seed=1)
    cluster.settle()
    refused = cluster.admit(obj)
    with pytest.raises(StatusError) as raised:
        cluster.apply([obj]) if obj["metadata"].get("name") == "default" else cluster.create(obj)
    assert raised.value.message in refused.refusals


@pytest.mark.parametrize("obj", [SERVICE, {**pod(""), "metadata": {"generateName": "a-"}}])
def test_what_the_server_takes_is_admitted(obj: dict[str, Any]) -> None:
    """Also where it chooses a name or an address, of which none is used up."""
    made = []
    for trials in (0, 2):
        cluster = simkit.Cluster(options=simkit.Options(seed=7, clock=simkit.SimulatedClock()))
        cluster.settle()
        for _ in range(trials):
            assert cluster.admit(obj)
        made.append(cluster.create(obj))
    assert made[0] == made[1]
