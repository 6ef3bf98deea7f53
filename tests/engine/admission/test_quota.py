"""Quotas: what does not fit is refused, what fits is charged, by however many at once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.meta.message import Request
from tests.engine.admission.objects import change, container, obj, pod, refusal


@pytest.fixture
def limited(making: Any) -> simkit.Cluster:
    """A cluster whose quota controller runs."""
    cluster: simkit.Cluster = making(controllers=("resourcequota-controller",))
    return cluster


def quota(cluster: simkit.Cluster, hard: dict[str, str], name: str = "q", **spec: Any) -> None:
    cluster.create(obj("v1", "ResourceQuota", name, spec={"hard": hard, **spec}))
    cluster.settle()


def used(cluster: simkit.Cluster, name: str = "q") -> dict[str, str]:
    found: dict[str, str] = cluster.get("quota", name)["status"]["used"]
    return found


def test_created_objects_are_charged(limited: simkit.Cluster) -> None:
    """The status grows at once, and shrinks when the controller has seen a removal."""
    quota(limited, {"pods": "2", "requests.cpu": "1"})
    limited.create(pod(containers=[container(resources={"requests": {"cpu": "600m"}})]))
    assert used(limited) == {"pods": "1", "requests.cpu": "600m"}
    error = refusal(limited, pod("q", containers=[container(resources={"requests": {"cpu": "500m"}})]))
    assert error.message == (
        'pods "q" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, '
        "limited: requests.cpu=1"
    )
    assert used(limited)["pods"] == "1"
    limited.delete("pod", "p")
    limited.settle()
    assert used(limited) == {"pods": "0", "requests.cpu": "0"}


def test_a_dry_run_costs_nothing(limited: simkit.Cluster) -> None:
    """It is refused where it would be, and not charged where it would not."""
    quota(limited, {"count/configmaps": "1"})
    path = "/api/v1/namespaces/default/configmaps"
    for _ in range(2):
        assert limited.perform(Request.of("POST", f"{path}?dryRun=All", {"metadata": {"name": "a"}})).status == 201
    assert used(limited) == {"count/configmaps": "0"}


def test_existing_objects_are_not_charged_again(limited: simkit.Cluster) -> None:
    """A creation that is about to fail is not charged."""
    quota(limited, {"configmaps": "5"})
    config = obj("v1", "ConfigMap", "a")
    limited.create(config)
    assert refusal(limited, config).reason == "AlreadyExists"
    assert used(limited) == {"configmaps": "1"}


def test_limited_resources_must_be_requested(limited: simkit.Cluster) -> None:
    """If processors are limited, every container must request some."""
    quota(limited, {"limits.cpu": "1"})
    assert refusal(limited, pod()).message == ('pods "p" is forbidden: failed quota: q: must specify limits.cpu for: c')


def test_a_quota_that_nobody_has_counted_refuses(making: Any) -> None:
    """Without a count nobody can say whether there is room; without limits in the status nothing is limited."""
    cluster = making()
    cluster.create(obj("v1", "ResourceQuota", "q", spec={"hard": {"pods": "1"}}))
    cluster.create(pod())
    path = "/api/v1/namespaces/default/resourcequotas/q/status"
    assert change(cluster, path, {"status": {"hard": {"pods": "1"}}}).status == 200
    assert refusal(cluster, pod("q")).message.endswith("status unknown for quota: q, resources: pods")


def test_updates_are_charged_for_the_difference(limited: simkit.Cluster) -> None:
    """A service that becomes reachable from outside uses more; one that is only labelled does not."""
    quota(limited, {"services": "2", "services.nodeports": "0"})
    limited.create(obj("v1", "Service", "s", spec={"ports": [{"port": 80}]}))
    path = "/api/v1/namespaces/default/services/s"
    assert change(limited, path, {"metadata": {"labels": {"a": "b"}}}).status == 200
    refused = change(limited, path, {"spec": {"type": "NodePort"}})
    assert refused.status == 403
    assert "requested: services.nodeports=1, used: services.nodeports=0" in refused.object["message"]


def test_scopes_choose_what_is_counted(limited: simkit.Cluster) -> None:
    """A quota for pods that ask for nothing does not count those that ask for something."""
    quota(limited, {"pods": "0"}, scopes=["BestEffort"])
    assert limited.create(pod("a", containers=[container(resources={"requests": {"cpu": "1"}})]))
    assert "exceeded quota" in refusal(limited, pod("b")).message


def test_many_writers_never_exceed_a_quota(limited: simkit.Cluster) -> None:
    """Of many that create at once just as many succeed as there is room for, and the count is right."""
    quota(limited, {"count/configmaps": "20"})
    results: list[int] = []

    def write(worker: int) -> None:
        for number in range(10):
            body = {"metadata": {"name": f"c{worker}-{number}"}}
            response = limited.perform(Request.of("POST", "/api/v1/namespaces/default/configmaps", body))
            results.append(response.status)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (results.count(201), results.count(403)) == (20, 20)
    assert used(limited) == {"count/configmaps": "20"}


SETTINGS = """
plugins:
- name: ResourceQuota
  configuration:
    limitedResources:
    - {resource: persistentvolumeclaims, matchContains: [.storageclass.storage.k8s.io/requests.storage]}
    - {resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In, values: [system-node-critical]}]}
"""


def test_some_things_need_a_quota(making: Any, tmp_path: Path) -> None:
    """Resources that the settings limit may be used only if a quota covers them."""
    path = tmp_path / "admission.yaml"
    path.write_text(SETTINGS)
    cluster = making(settings=path)
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "g", "resources": {"requests": {"storage": "1"}}}
    error = refusal(cluster, obj("v1", "PersistentVolumeClaim", "c", spec=spec))
    assert error.message.endswith("insufficient quota to consume: g.storageclass.storage.k8s.io/requests.storage")
    assert "insufficient quota to match these scopes: [{PriorityClass In [system-node-critical]}]" in (
        refusal(cluster, pod(priorityClassName="system-node-critical")).message
    )
    assert cluster.create(pod())
