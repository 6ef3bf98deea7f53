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
    [mounting] = [step for step in admitted.of("mutating admission") if step.name == "ServiceAccount"]
    assert any("volumes" in str(change) for change in mounting.changes)
    assert admitted
    assert admitted.response.object["spec"]["serviceAccountName"] == "default"
    assert cluster.list("pods") == []


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
    assert not refused
    assert raised.value.message == refused.response.object["message"]


@pytest.mark.parametrize("obj", [SERVICE, {**pod(""), "metadata": {"generateName": "a-"}}])
def test_what_the_server_takes_is_admitted(obj: dict[str, Any]) -> None:
    """Also where it chooses a name or an address; an object that is there is replaced."""
    cluster = simkit.Cluster(seed=1)
    cluster.settle()
    assert cluster.admit(obj)
    assert cluster.admit({**cluster.create(obj), "apiVersion": "v1"}).request.method == "PUT"
