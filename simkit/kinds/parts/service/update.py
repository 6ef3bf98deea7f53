"""Values that an update of a Service keeps or drops when its type changes.

Follows ``pkg/registry/core/service/strategy.go`` and ``pkg/registry/core/service/storage/storage.go``, release 1.30.
"""

from __future__ import annotations

from typing import Any

from simkit.kinds.parts.copy_on_write import own_copy, own_items
from simkit.kinds.parts.service.types import (
    EXTERNAL_NAME,
    LOAD_BALANCER,
    is_external,
    needs_cluster_ip,
    needs_health_port,
    needs_node_ports,
    type_of,
)
from simkit.meta.objects import Draft, Object, at

Spec = dict[str, Any]


def patch_allocated_values(draft: Draft, live: Object) -> None:
    """Keep addresses and ports that the client left out. The draft owns its ``spec``."""
    spec, old = draft["spec"], live.get("spec") or {}
    if needs_cluster_ip(live) and needs_cluster_ip(draft):
        if not spec.get("clusterIP") and old.get("clusterIP"):
            spec["clusterIP"] = old["clusterIP"]
        if not spec.get("clusterIPs") and old.get("clusterIPs") and spec.get("clusterIP") == old.get("clusterIP"):
            spec["clusterIPs"] = list(old["clusterIPs"])
    if needs_node_ports(live) and needs_node_ports(draft):
        _keep_node_ports(spec, old)
    checked = needs_health_port(live) and needs_health_port(draft)
    if checked and not spec.get("healthCheckNodePort") and old.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = old["healthCheckNodePort"]


def _keep_node_ports(spec: Spec, old: Object) -> None:
    """Keep node ports by the names of their ports, unless another port has the number now."""
    ports = own_items(spec, "ports")
    before = {port.get("name", ""): port.get("nodePort") for port in old.get("ports") or ()}
    used = {port.get("nodePort") for port in ports} & {*before.values(), None}
    for port in ports:
        number = before.get(port.get("name", ""))
        if not port.get("nodePort") and number and number not in used:
            port["nodePort"] = number
            used.add(number)


def normalize_cluster_ips(draft: Draft, live: Object | None) -> None:
    """Make ``clusterIP`` and ``clusterIPs`` agree if a client wrote only one of them."""
    spec = draft["spec"]
    single, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if live is None:
        if single and not several:
            spec["clusterIPs"] = [single]
        return
    old_single, old_several = at(live, "spec", "clusterIP") or "", at(live, "spec", "clusterIPs") or []
    if old_several and not several and old_single == single:
        spec["clusterIPs"] = list(old_several)
    if old_single != single and (several == old_several or not several):
        if old_single and not single:
            spec.pop("clusterIPs", None)
        else:
            spec["clusterIPs"] = [single]


def drop_type_dependent_fields(draft: Draft, live: Object) -> None:
    """Drop fields that were allocated for the old type and that the client did not change."""
    spec, old = draft["spec"], live.get("spec") or {}

    def same(*names: str) -> bool:
        return all((spec.get(name) or None) == (old.get(name) or None) for name in names)

    def drop(*names: str) -> None:
        for name in names:
            spec.pop(name, None)

    if needs_cluster_ip(live) and not needs_cluster_ip(draft):
        if same("clusterIP", "clusterIPs"):
            drop("clusterIP", "clusterIPs")
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if same(name):
                drop(name)
    if needs_node_ports(live) and not needs_node_ports(draft) and _node_ports(spec) == _node_ports(old):
        for port in own_items(spec, "ports"):
            port.pop("nodePort", None)
    if needs_health_port(live) and not needs_health_port(draft) and same("healthCheckNodePort"):
        drop("healthCheckNodePort")
    if type_of(live) == LOAD_BALANCER and type_of(draft) != LOAD_BALANCER:
        if spec.get("allocateLoadBalancerNodePorts") == old.get("allocateLoadBalancerNodePorts"):
            drop("allocateLoadBalancerNodePorts")
        if same("loadBalancerClass"):
            drop("loadBalancerClass")
    if is_external(live) and not is_external(draft) and same("externalTrafficPolicy"):
        drop("externalTrafficPolicy")
    if type_of(draft) == EXTERNAL_NAME and type_of(live) != EXTERNAL_NAME and same("internalTrafficPolicy"):
        drop("internalTrafficPolicy")
    if type_of(draft) != LOAD_BALANCER and draft.get("status") == live.get("status"):  # else its status is written
        own_copy(draft, "status")["loadBalancer"] = {}


def _node_ports(spec: Object) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
