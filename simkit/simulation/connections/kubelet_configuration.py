"""The page ``/configz`` of a simulated kubelet: the settings that it keeps to, and no others.

Upstream: pkg/kubelet/apis/config/v1beta1 and cmd/kubelet/app/server.go (``initConfigz``), release 1.30.
"""

from __future__ import annotations

from typing import Any

from simkit.meta.duration import written
from simkit.meta.objects import Object, at
from simkit.simulation.kubelet.eviction_settings import EvictionSettings
from simkit.simulation.kubelet.heartbeats import REPORT_EVERY
from simkit.simulation.kubelet.node_config import KUBELET_PORT
from simkit.simulation.kubelet.node_images import MOST_LISTED
from simkit.simulation.kubelet.simulated_node import LEASE_SECONDS
from simkit.simulation.shell.network import CLUSTER_DOMAIN, RESOLVER


def configuration(node: Object, settings: EvictionSettings) -> dict[str, Any]:
    """The settings of the kubelet of a node by their names in a KubeletConfiguration, as the page shows them."""
    high, low = settings.images
    found: dict[str, Any] = {
        "enableServer": True,
        "port": int(at(node, "status", "daemonEndpoints", "kubeletEndpoint", "Port") or KUBELET_PORT),
        "clusterDomain": CLUSTER_DOMAIN,
        "clusterDNS": [RESOLVER],
        "nodeStatusReportFrequency": written(REPORT_EVERY),
        "nodeLeaseDurationSeconds": LEASE_SECONDS,
        "imageGCHighThresholdPercent": high,
        "imageGCLowThresholdPercent": low,
        "serializeImagePulls": True,
        "nodeStatusMaxImages": MOST_LISTED,
        "evictionHard": dict(settings.hard),
        "evictionPressureTransitionPeriod": written(settings.transition_period),
        "enableDebuggingHandlers": True,
    }
    pods = at(node, "status", "capacity", "pods")
    return {"kubeletconfig": {**found, **({"maxPods": int(pods)} if pods else {}), **_chosen(settings)}}


def _chosen(settings: EvictionSettings) -> dict[str, Any]:
    """Settings that are only there if somebody chose them."""
    found = {
        "evictionSoft": dict(settings.soft),
        "evictionSoftGracePeriod": {signal: written(length) for signal, length in settings.grace.items()},
        "evictionMinimumReclaim": dict(settings.reclaim),
        "evictionMaxPodGracePeriod": settings.most_pod_grace,
    }
    return {name: value for name, value in found.items() if value}
