"""Defaulting of Services.

Follows ``pkg/apis/core/v1/defaults.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.copy_on_write import own_copy, own_items
from simkit.kinds.parts.service.types import CLUSTER_IP, LOAD_BALANCER, NODE_PORT, is_external
from simkit.meta.objects import Draft, at

_LONGEST_AFFINITY = 10800


def default_service(draft: Draft) -> None:
    """Set type, ports, affinity and traffic policies; addresses are allocated elsewhere."""
    spec = own_copy(draft, "spec")
    spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    _default_affinity(spec)
    kind = spec["type"] = spec.get("type") or CLUSTER_IP
    for port in own_items(spec, "ports"):
        port["protocol"] = port.get("protocol") or "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port") or 0
    if is_external(draft) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in (NODE_PORT, LOAD_BALANCER, CLUSTER_IP) and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    if kind == LOAD_BALANCER:
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        _default_points(draft)


def _default_affinity(spec: Draft) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        given = at(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
        if given is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _LONGEST_AFFINITY}}


def _default_points(draft: Draft) -> None:
    """Set the IP mode of load balancer addresses to VIP by default."""
    if not at(draft, "status", "loadBalancer", "ingress"):
        return
    for point in own_items(own_copy(draft, "status", "loadBalancer"), "ingress"):
        if point.get("ip"):
            point.setdefault("ipMode", "VIP")
