"""The fields that each type of Service needs, for defaulting, allocation and validation.

Follows ``pkg/registry/core/service/strategy.go``, release 1.30.
"""

from __future__ import annotations

from simkit.meta.objects import Object, at

CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
TYPES = (CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT)
HEADLESS = "None"


def type_of(service: Object) -> str:
    return at(service, "spec", "type") or ""


def needs_cluster_ip(service: Object) -> bool:
    """True if it has a cluster IP (``None`` counts as one)."""
    return type_of(service) != EXTERNAL_NAME


def needs_node_ports(service: Object) -> bool:
    """True if its ports may be open on every node."""
    return type_of(service) in (NODE_PORT, LOAD_BALANCER)


def needs_health_port(service: Object) -> bool:
    """True if nodes answer health checks for it."""
    return type_of(service) == LOAD_BALANCER and at(service, "spec", "externalTrafficPolicy") == "Local"


def is_external(service: Object) -> bool:
    """True if it can be reached from outside the cluster."""
    if type_of(service) in (LOAD_BALANCER, NODE_PORT):
        return True
    return type_of(service) == CLUSTER_IP and bool(at(service, "spec", "externalIPs"))


def is_headless(service: Object) -> bool:
    """True if its cluster IP is ``None``."""
    return bool(at(service, "spec", "clusterIPs") == [HEADLESS])
