"""Clusters of older releases, and small objects for them."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import simkit
from simkit.meta.message import Request

NAMESPACE: Final = "/api/v1/namespaces/default"
POD: Final = {"containers": [{"name": "c", "image": "i"}]}
JOB: Final = {"template": {"spec": {**POD, "restartPolicy": "Never"}}}


@cache
def cluster_at(release: str) -> simkit.Cluster:
    """The cluster of a release that all tests share."""
    return simkit.Cluster(release=release, seed=1)


def pod_with(**spec: Any) -> dict[str, Any]:
    """A pod with one container, and more in its specification."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**POD, **spec}}


def container_with(**more: Any) -> dict[str, Any]:
    """A container with more fields."""
    return {"name": "c", "image": "i", **more}


def service_with(**spec: Any) -> dict[str, Any]:
    """A service with one port, and more in its specification."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}], **spec}}


def claim_with(**spec: Any) -> dict[str, Any]:
    """A claim of a gigabyte, with more in its specification."""
    size = {"requests": {"storage": "1Gi"}}
    whole = {"accessModes": ["ReadWriteOnce"], "resources": size, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v"}, "spec": whole}


def ingress_of_class(name: str) -> dict[str, Any]:
    """An ingress that names its class in both ways."""
    metadata = {"name": "i", "annotations": {"kubernetes.io/ingress.class": name}}
    spec = {"ingressClassName": "a", "defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


def policy_about(*ranges: str) -> dict[str, Any]:
    """A network policy about a range, with exceptions."""
    first, *others = ranges
    block = {"cidr": first, "except": others}
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": block}]}]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n"}, "spec": spec}


def owned() -> dict[str, Any]:
    """A config map that two owners control."""
    owner = {"apiVersion": "v1", "kind": "Pod", "uid": "u", "controller": True}
    owners = [{**owner, "name": "a"}, {**owner, "name": "b"}]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "ownerReferences": owners}}


def wide() -> dict[str, Any]:
    """A pod on the network of its host, with a port that has another number there."""
    ports = [{"containerPort": 80, "hostPort": 81}]
    return pod_with(hostNetwork=True, containers=[container_with(ports=ports)])


def causes_at(release: str, obj: dict[str, Any]) -> list[str]:
    """What a release says against a new object."""
    version, kind = obj["apiVersion"], obj["kind"].lower()
    prefix = "/api/v1" if version == "v1" else f"/apis/{version}"
    plural = f"{kind}es" if kind.endswith("ss") else f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    path = f"{prefix}/namespaces/default/{plural}?dryRun=All"
    answer = cluster_at(release).perform(Request.of("POST", path, obj))
    assert answer.status in (201, 422), answer.object
    return [f"{one['field']}: {one['message']}" for one in answer.object.get("details", {}).get("causes", ())]


def answer_at(release: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """The answer of a release to a request."""
    return cluster_at(release).perform(Request.of(method, path, body, headers=headers)).object


def cron_job_with(**spec: Any) -> dict[str, Any]:
    """A job of every hour, with more in its specification."""
    whole = {"schedule": "@hourly", "jobTemplate": {"spec": JOB}, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": whole}
