"""Clusters with devices, for tests of dynamic resource allocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.objects import Object
from tests.simulation.worlds import pod

DRIVER: Final = "gpu.example.com"
VERSIONS: Final = {
    "1.32": ("v1beta1",),
    "1.33": ("v1beta1", "v1beta2"),
    "1.34": ("v1",),
    "1.35": ("v1",),
    "1.36": ("v1",),
}
"""The versions of the group that a release serves in these tests."""


def with_devices(
    release: str = "1.36", nodes: int = 2, count: int = 2, *, served: Sequence[str] = (), **gates: bool
) -> Cluster:
    """A cluster whose nodes have devices of the models ``a`` and ``b`` in turn, on two sockets, and a class for them.

    ``served`` are more versions of the group.
    """
    if release in ("1.32", "1.33"):
        gates, served = {"DynamicResourceAllocation": True, **gates}, (*served, *VERSIONS[release])
    more: dict[str, Any] = {"feature_gates": gates}
    if served:
        more["runtime_config"] = {f"resource.k8s.io/{each}": True for each in served}
    cluster = Cluster(options=Options(release=release, clock=SimulatedClock(), seed=7, **more))
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {"model": "ab"[index % 2], "socket": index // 2},
            "capacity": {"memory": "40Gi"},
        }
        for index in range(count)
    ]
    cluster.add_nodes(nodes, devices=[{"driver": DRIVER, "devices": devices}] if count else [])
    device_class(cluster, "gpu", f"device.driver == '{DRIVER}'")
    cluster.settle()
    return cluster


def api_version(cluster: Cluster) -> str:
    """The newest version of the group that is served."""
    return f"resource.k8s.io/{VERSIONS[cluster.release][-1]}"


def make(cluster: Cluster, kind: str, name: str, spec: Mapping[str, Any]) -> None:
    """Create an object of the group, written as in v1."""
    version = api_version(cluster)
    if version.endswith("v1beta1"):
        spec = _older(spec)
    cluster.create({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})


def _older(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The requests as v1beta1 has them: without ``exactly``."""
    if "spec" in spec:
        return {**spec, "spec": _older(spec["spec"])}
    requests = [{**each, **each.get("exactly", {})} for each in spec.get("devices", {}).get("requests", ())]
    kept = [{name: value for name, value in each.items() if name != "exactly"} for each in requests]
    return {**spec, "devices": {**spec["devices"], "requests": kept}} if requests else dict(spec)


def device_class(cluster: Cluster, name: str, *expressions: str, **more: Any) -> None:
    """A class of devices that expressions select."""
    selectors = [{"cel": {"expression": each}} for each in expressions]
    make(cluster, "DeviceClass", name, {"selectors": selectors, **more})


def request(name: str = "gpu", *expressions: str, **fields: Any) -> dict[str, Any]:
    """A request for devices of the class ``gpu``."""
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {"name": name, "exactly": {"deviceClassName": "gpu", "selectors": selectors, **fields}}


def claim(cluster: Cluster, name: str, *requests: Mapping[str, Any], **devices: Any) -> None:
    """A claim with requests."""
    make(cluster, "ResourceClaim", name, {"devices": {"requests": list(requests), **devices}})


def template(cluster: Cluster, name: str, *requests: Mapping[str, Any], **devices: Any) -> None:
    """A template of claims with requests."""
    make(cluster, "ResourceClaimTemplate", name, {"spec": {"devices": {"requests": list(requests), **devices}}})


def user(name: str, *claims: str, template: str = "", **spec: Any) -> dict[str, Any]:
    """A pod with claims, or with one of a template."""
    named = [{"name": each, "resourceClaimName": each} for each in claims]
    made = [{"name": "gpu", "resourceClaimTemplateName": template}] if template else []
    return pod(name, resourceClaims=[*named, *made], **spec)


def claims(cluster: Cluster) -> list[Object]:
    """All claims."""
    return list(cluster.list("resourceclaims.resource.k8s.io"))


def devices_of(found: Object) -> Sequence[str]:
    """The names of the devices that a claim has."""
    allocation = found.get("status", {}).get("allocation", {})
    return [each["device"] for each in allocation.get("devices", {}).get("results", ())]
