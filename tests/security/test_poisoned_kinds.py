"""Objects of every kind that controllers read, with contents that validation would refuse, stop no controller.

Such objects come with a dump that somebody else made.
"""

from __future__ import annotations

import itertools
import logging
from typing import Any, Final

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from tests.engine.controllers.worlds import TEMPLATE, job, names, workload

_SELECTED: Final = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
SPECS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"replicas": "x", "parallelism": "x", "selector": "x", "template": "x", "schedule": 5, "hard": []},
    {"minAvailable": [], "taints": "x", "request": 1, "capacity": "x", "volumeName": 3, "containers": "x"},
    {**_SELECTED, "replicas": -5, "completions": -1, "parallelism": -3, "maxUnavailable": "200%%"},
    {"selector": {"matchLabels": {"app": 5}}, "template": {"spec": None}, "replicas": 2},
    {"selector": {}, "template": {}, "replicas": 1, "serviceName": "a", "schedule": "* * * * *", "jobTemplate": {}},
    {"taints": [{"key": 1}], "podCIDR": 5, "ports": [{"port": "x"}], "volumes": [{"ephemeral": {}}]},
    {"scaleTargetRef": "x", "metrics": [{}], "minReplicas": 9, "maxReplicas": 1, "finalizers": "x"},
)
"""Each is given to every kind, as its spec and its status."""
KINDS: Final = (
    ("", "v1", "Pod", "default"),
    ("", "v1", "ReplicationController", "default"),
    ("", "v1", "ResourceQuota", "default"),
    ("", "v1", "PersistentVolumeClaim", "default"),
    ("", "v1", "PersistentVolume", ""),
    ("", "v1", "ServiceAccount", "default"),
    ("", "v1", "Secret", "default"),
    ("", "v1", "Node", ""),
    ("", "v1", "Namespace", ""),
    ("apps", "apps/v1", "ReplicaSet", "default"),
    ("apps", "apps/v1", "Deployment", "default"),
    ("apps", "apps/v1", "StatefulSet", "default"),
    ("apps", "apps/v1", "DaemonSet", "default"),
    ("batch", "batch/v1", "Job", "default"),
    ("batch", "batch/v1", "CronJob", "default"),
    ("autoscaling", "autoscaling/v2", "HorizontalPodAutoscaler", "default"),
    ("policy", "policy/v1", "PodDisruptionBudget", "default"),
    ("discovery.k8s.io", "discovery.k8s.io/v1", "EndpointSlice", "default"),
    ("certificates.k8s.io", "certificates.k8s.io/v1", "CertificateSigningRequest", ""),
    ("storage.k8s.io", "storage.k8s.io/v1", "StorageClass", ""),
    ("rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1", "ClusterRole", ""),
)


def poisoned(group: str, version: str, kind: str, namespace: str, number: int) -> tuple[Key, Object]:
    """An object of a kind with one of the contents, under a name that sorts before those of others."""
    spec, name = SPECS[number], f"a-{kind.lower()}-{number}"
    meta: dict[str, Any] = {"name": name, "uid": name, "creationTimestamp": "2024-01-01T00:00:00Z"}
    obj: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec, "status": spec}
    if kind == "ClusterRole":
        obj |= {"rules": [spec], "aggregationRule": spec}
    if namespace:
        meta["namespace"] = namespace
    return Key(GroupResource(group, f"{kind.lower()}s"), namespace, name), obj


@pytest.mark.parametrize("number", range(len(SPECS)))
def test_no_content_stops_a_controller(number: int, caplog: pytest.LogCaptureFixture) -> None:
    """A deployment and a job that are well made get their pods beside all poisoned ones, and after a day too."""
    clock = simkit.SimulatedClock()
    cluster = simkit.Cluster(options=Options(seed=1, clock=clock))
    with caplog.at_level(logging.CRITICAL, "simkit"):
        for group, version, kind, namespace in KINDS:
            key, obj = poisoned(group, version, kind, namespace, number)
            cluster._control_plane.store.put(key, obj, expect=None)
        cluster.create(workload("Deployment", "z-web", replicas=2))
        cluster.create(job("z-job"))
        cluster.settle()
        clock.advance(86_400)
        cluster.settle()
    made = [name.rsplit("-", 2)[0] if name.startswith("z-web") else name[:5] for name in names(cluster, "pods")]
    counted = {name: len(list(each)) for name, each in itertools.groupby(sorted(made)) if name.startswith("z-")}
    assert counted == {"z-web": 2, "z-job": 1}
