"""Validation of the cluster addresses and IP families of a Service.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import ne
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import own_copy, own_items
from simkit.kinds.parts.go_printing.structures import texts
from simkit.kinds.parts.validation.fields import repeats
from simkit.kinds.parts.validation.ip import family, validate_ip
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, Shown, duplicate, invalid_value, required, unsupported
from simkit.meta.objects import Draft, Object, at

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


FAMILIES: Final = ("IPv4", "IPv6")
POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_PATH: Final = "spec.clusterIPs"
ONCE: Final = "may not change once set"


def strings(values: Sequence[str]) -> Shown:
    """A list of strings as Go prints it."""
    return texts(values or None)


def validate_address_field(behaviour: ServedBehaviour, service: Object) -> Sequence[FieldError]:
    """The errors of ``clusterIP``, ``clusterIPs``, ``ipFamilies`` and ``ipFamilyPolicy`` taken together."""
    if type_of(service) == EXTERNAL_NAME:
        return ()
    spec = service["spec"]
    single, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    errors = [*_validate_pair(behaviour, single, several), *_validate_family(spec)]
    wrong = list(_validate_each(behaviour, several))
    errors += wrong
    if len(several) > 2:
        errors.append(invalid_value(_PATH, strings(several), "may only hold up to 2 values"))
    return errors if wrong else [*errors, *_validate_together(service, several)]


def _validate_pair(behaviour: ServedBehaviour, single: str, several: Sequence[str]) -> Errors:
    by_store = behaviour.applies("services-kept-by-the-store")
    if single and not several:
        yield required(_PATH)
    elif single and several[0] != single:
        text = "first value must match `clusterIP`" if by_store else "element [0] must match clusterIP"
        yield invalid_value(_PATH, strings(several), text)
    elif not single and several:
        reason = "`clusterIP` is not specified" if by_store else "clusterIP is empty"
        yield invalid_value(_PATH, strings(several), f"must be empty when {reason}")


def _validate_family(spec: Object) -> Errors:
    families = spec.get("ipFamilies") or ()
    again = repeats(families)
    for index, name in enumerate(families):
        if name not in FAMILIES:
            yield unsupported(f"spec.ipFamilies[{index}]", name, FAMILIES)
        if index in again:
            yield duplicate(f"spec.ipFamilies[{index}]", name)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        yield unsupported("spec.ipFamilyPolicy", policy, POLICIES)


def _validate_each(behaviour: ServedBehaviour, several: Sequence[str]) -> Errors:
    for index, one in enumerate(several):
        if index == 0 and one == HEADLESS:
            if len(several) > 1:
                yield invalid_value(_PATH, strings(several), "'None' must be the first and only value")
        else:
            yield from validate_ip(behaviour, f"{_PATH}[{index}]", one)


def _validate_together(service: Object, several: Sequence[str]) -> Errors:
    if len(several) > 1 and len({family(one) for one in several}) < 2:
        yield invalid_value(_PATH, strings(several), "may specify no more than one IP for each IP family")
    if is_headless(service):
        return
    for index, (one, wanted) in enumerate(zip(several, service["spec"].get("ipFamilies") or (), strict=False)):
        if wanted in FAMILIES and family(one) != wanted:
            text = f"expected an {wanted} value as indicated by `ipFamilies[{index}]`"
            yield invalid_value(f"{_PATH}[{index}]", one, text)


def validate_address_change(service: Object, old: Object) -> Errors:
    """The errors of changed addresses and families: the primary one is immutable, the secondary one may change."""
    if EXTERNAL_NAME in (type_of(service), type_of(old)):
        return
    if not (is_headless(service) and is_headless(old)):
        yield from _address_changes(service, old)
    if not (is_headless(service) or is_headless(old)):
        yield from _family_changes(service, old)


def _address_changes(service: Object, old: Object) -> Errors:
    now, before = service["spec"].get("clusterIPs") or [], at(old, "spec", "clusterIPs") or []
    if len(now) == len(before):
        for index, one in enumerate(before):
            if one != now[index]:
                yield invalid_value(f"{_PATH}[{index}]", strings(now), ONCE)
        return
    if len(before) > len(now) and not now:
        yield invalid_value(f"{_PATH}[0]", strings(now), "primary clusterIP can not be unset")
    elif before and now[0] != before[0]:
        yield invalid_value(f"{_PATH}[0]", strings(now), ONCE)
    if len(before) > len(now) == 1:
        yield from _validate_release(service, "clusterIP")


def _family_changes(service: Object, old: Object) -> Errors:
    first = "spec.ipFamilies[0]"
    now, before = service["spec"].get("ipFamilies") or [], at(old, "spec", "ipFamilies") or []
    addresses = service["spec"].get("clusterIPs") or []
    if len(now) == len(before):
        yield from (invalid_value(first, _families_shown(now), ONCE) for _ in range(sum(map(ne, before, now))))
        return
    if len(before) > len(now) and not addresses:
        yield invalid_value(first, _families_shown(now), "primary ipFamily can not be unset")
    if now and before and now[0] != before[0]:
        yield invalid_value(first, strings(addresses), ONCE)
    if len(before) > len(now) == 1:
        yield from _validate_release(service, "ipFamily")


def _validate_release(service: Object, what: str) -> Errors:
    policy = service["spec"].get("ipFamilyPolicy")
    if policy != "SingleStack":
        text = f"must be set to 'SingleStack' when releasing the secondary {what}"
        yield invalid_value("spec.ipFamilyPolicy", policy, text)


def _families_shown(families: Sequence[str]) -> Shown:
    return texts(families or None, "core.IPFamily")


_LONGEST_AFFINITY = 10800


def default_service(behaviour: ServedBehaviour, draft: Draft) -> None:
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

    def drop(*names: str) -> None:
        if all((spec.get(name) or None) == (old.get(name) or None) for name in names):
            for name in names:
                spec.pop(name, None)

    if needs_cluster_ip(live) and not needs_cluster_ip(draft):
        drop("clusterIP", "clusterIPs")
        drop("ipFamilies")
        drop("ipFamilyPolicy")
    if needs_node_ports(live) and not needs_node_ports(draft) and _node_ports(spec) == _node_ports(old):
        for port in own_items(spec, "ports"):
            port.pop("nodePort", None)
    if needs_health_port(live) and not needs_health_port(draft):
        drop("healthCheckNodePort")
    if type_of(live) == LOAD_BALANCER and type_of(draft) != LOAD_BALANCER:
        if spec.get("allocateLoadBalancerNodePorts") == old.get("allocateLoadBalancerNodePorts"):
            spec.pop("allocateLoadBalancerNodePorts", None)
        drop("loadBalancerClass")
    if is_external(live) and not is_external(draft):
        drop("externalTrafficPolicy")
    if type_of(draft) != LOAD_BALANCER and draft.get("status") == live.get("status"):  # else its status is written
        own_copy(draft, "status")["loadBalancer"] = {}


def _node_ports(spec: Object) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
