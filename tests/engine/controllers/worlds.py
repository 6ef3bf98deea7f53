"""Objects that controllers look after, and what kubelets would do to them."""

from __future__ import annotations

from typing import Any

import simkit
from simkit.meta.message import Request, Response

POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}


def obj(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    """Any object; fields of metadata are given as ``meta``."""
    meta = {"name": name, **more.pop("meta", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    """A workload of the apps group."""
    wanted = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE, **spec}
    return obj("apps/v1", kind, name, spec=wanted)


def job(name: str, **spec: Any) -> dict[str, Any]:
    """A job whose pods are not started again."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return obj("batch/v1", "Job", name, spec={"template": template, **spec})


def names(cluster: simkit.Cluster, word: str, namespace: str = "default") -> list[str]:
    """The names of all objects of a resource in a namespace."""
    return [each["metadata"]["name"] for each in cluster.list(word, namespace)]


def patch(cluster: simkit.Cluster, path: str, body: Any) -> Response:
    """The answer to a merge patch, which has to succeed."""
    response = cluster.perform(Request.of("PATCH", path, body, content_type="application/merge-patch+json"))
    assert response.succeeded, response.body
    return response


def say(cluster: simkit.Cluster, name: str, phase: str = "Running", *, ready: bool = True, **status: Any) -> None:
    """Write the status that a kubelet would report of a pod."""
    conditions = [{"type": "Ready", "status": str(ready)}]
    body = {"status": {"phase": phase, "conditions": conditions, **status}}
    patch(cluster, f"/api/v1/namespaces/default/pods/{name}/status", body)


def all_ready(cluster: simkit.Cluster) -> None:
    """Every pod runs and is ready."""
    for name in names(cluster, "pods"):
        say(cluster, name)


def volume(name: str, size: str = "5Gi", **spec: Any) -> dict[str, Any]:
    """A volume that one node at a time may write."""
    wanted = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}, **spec}
    return obj("v1", "PersistentVolume", name, spec=wanted)


def wish(name: str, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    """A claim of storage without a class."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": ""}
    return obj("v1", "PersistentVolumeClaim", name, spec={**wanted, **spec})


def told(cluster: simkit.Cluster, name: str, namespace: str = "default") -> list[tuple[str, str, str, int]]:
    """Type, reason, message and count of the events about an object, sorted."""
    events = [each for each in cluster.list("events", namespace) if each["involvedObject"]["name"] == name]
    return sorted((each["type"], each["reason"], each["message"], each["count"]) for each in events)
