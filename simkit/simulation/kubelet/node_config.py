"""Simulated nodes as configuration says them, and as the Node objects that their kubelets register.

Upstream: pkg/kubelet/kubelet_node_status.go and pkg/kubelet/nodestatus/setters.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from simkit.meta.clock import timestamp
from simkit.meta.domain import label
from simkit.schema.feature_gates import is_enabled, parse_feature_gates

KUBELET_PORT: Final = 10250


class NodeConfig(BaseModel):
    """The properties of some nodes.

    Attributes
    ----------
    count
        How many of them.
    name
        The names: ``{}`` in it is the number of the node, which is added where it is not.
    capacity
        Amounts of resources.
    reserved
        What of them is not for pods.
    labels, annotations, taints
        What nodes have besides what kubelets say.
    zones
        The zones, one after the other.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int = Field(1, ge=0, le=20_000)
    name: str = "node-{}"
    capacity: Mapping[str, str] = Field(
        default_factory=lambda: {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    )
    reserved: Mapping[str, str] = Field(default_factory=dict)
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    taints: Sequence[Mapping[str, Any]] = ()
    zones: Sequence[str] = ()

    def node_name(self, number: int) -> str:
        """The name of the node of a number."""
        return self.name.replace("{}", str(number)) if "{}" in self.name else f"{self.name}-{number}"

    def allocatable(self) -> dict[str, str]:
        """The amounts that are for pods."""
        from simkit.meta.quantity import Quantity, parse

        found = {"cpu": "8", "memory": "32Gi", "pods": "110", **self.capacity}
        for name, text in self.reserved.items():
            whole = parse(found.get(name, "0"))
            found[name] = str(Quantity(max(0, whole.nano - parse(text).nano), whole.format))
        return found


def node_object(config: NodeConfig, number: int, ordinal: int, release: str, now: float) -> dict[str, Any]:
    """The Node that a kubelet registers. ``ordinal`` counts all nodes of the cluster, and makes addresses."""
    name = config.node_name(number)
    labels = {label("hostname"): name}
    for key, value in (("os", "linux"), ("arch", "amd64")):
        labels |= {label(key): value, label(key, "beta"): value}
    if config.zones:
        labels[label("zone", "topology")] = config.zones[number % len(config.zones)]
    cidr = pod_range(ordinal)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, **config.labels}, "annotations": dict(config.annotations)},
        "spec": {
            "podCIDR": cidr,
            "podCIDRs": [cidr],
            "providerID": f"simkit://{name}",
            **({"taints": [dict(each) for each in config.taints]} if config.taints else {}),
        },
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": node_address(ordinal)},
                {"type": "Hostname", "address": name},
            ],
            "allocatable": config.allocatable(),
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110", **config.capacity},
            "conditions": node_conditions(now, now),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
            "nodeInfo": _node_info(name, release),
            **({"declaredFeatures": declared} if (declared := declared_features(release)) else {}),
        },
    }


_DECLARED: Final = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)
"""The features of kubelets that nodes declare, by the name of their gates."""


def declared_features(release: str) -> list[str]:
    """The features that a kubelet of a release declares by default; none where nodes declare nothing."""
    gates = parse_feature_gates({}, release).values
    if not is_enabled("NodeDeclaredFeatures", release, gates):
        return []
    return [name for name in _DECLARED if is_enabled(name, release, gates)]


def _node_info(name: str, release: str) -> dict[str, str]:
    return {
        "architecture": "amd64",
        "bootID": f"boot-{name}",
        "containerRuntimeVersion": "containerd://1.7.15",
        "kernelVersion": "6.1.0-simkit",
        "kubeProxyVersion": f"v{release}.0",
        "kubeletVersion": f"v{release}.0",
        "machineID": f"machine-{name}",
        "operatingSystem": "linux",
        "osImage": "simkit",
        "systemUUID": f"system-{name}",
    }


_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def node_conditions(now: float, since: float) -> list[dict[str, str]]:
    """The conditions of a node that lives and lacks nothing."""
    told = [(kind, "False", reason, message) for kind, reason, message in _PRESSURES]
    told.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    return [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": timestamp(now),
            "lastTransitionTime": timestamp(since),
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in told
    ]


def node_address(ordinal: int) -> str:
    """The address of a node."""
    return f"10.{ordinal // 62_500}.{ordinal // 250 % 250}.{ordinal % 250 + 2}"


def pod_range(ordinal: int) -> str:
    """The addresses of the pods of a node, 254 of them."""
    if ordinal < 256:
        return f"10.244.{ordinal}.0/24"
    return f"100.{64 + ordinal // 256 % 64}.{ordinal % 256}.0/24"
