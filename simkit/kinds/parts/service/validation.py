"""Validation of a Service, in the order of kube-apiserver.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.service.cluster_ips import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    TYPES,
    is_external,
    is_headless,
    needs_health_port,
    type_of,
    validate_address_change,
    validate_address_field,
)
from simkit.kinds.parts.validation.fields import repeats
from simkit.kinds.parts.validation.ip import (
    PORT,
    PORT_OR_NAME,
    address,
    network,
    validate_cidr,
    validate_ip,
    validate_non_special_ip,
)
from simkit.kinds.parts.validation.object_meta import validate_labels
from simkit.kinds.rules import FIXED, placed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import Errors, FieldError, duplicate, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain, qualified_name
from simkit.meta.objects import Object, annotations_of, at

_MODES: Final = ("Proxy", "VIP")


def validate_load_balancer_status(behaviour: ServedBehaviour, path: str, status: Object, *, modes: bool) -> Errors:
    """The errors of a load balancer's ingress points; ``modes`` says whether each needs a mode."""
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    for index, point in enumerate(points):
        where, ip, name = f"{path}.ingress[{index}]", point.get("ip") or "", point.get("hostname") or ""
        if ip:
            yield from validate_ip(behaviour, f"{where}.ip", ip, formerly="must be a valid IP address")
        if modes and behaviour.applies("modes-of-addresses"):
            yield from _validate_mode(where, ip, point.get("ipMode"))
        if name:
            yield from (invalid_value(f"{where}.hostname", name, text) for text in dns_subdomain(name))
            if address(name) is not None:
                yield invalid_value(f"{where}.hostname", name, "must be a DNS name, not an IP address")


def _validate_mode(where: str, ip: str, mode: str | None) -> Errors:
    if ip and mode is None:
        yield required(f"{where}.ipMode", "must be specified when `ip` is set")
    elif not ip and mode is not None:
        yield forbidden_field(f"{where}.ipMode", "may not be specified when `ip` is not set")
    elif mode is not None and mode not in _MODES:
        yield unsupported(f"{where}.ipMode", mode, _MODES)


def reached_at(status: Object) -> list[str]:
    """The distinct addresses and host names of a load balancer, sorted."""
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    return sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})


_HINTS: Final = label("topology-aware-hints", "service")
_MODE: Final = label("topology-mode", "service")
_RANGES: Final = label("load-balancer-source-ranges", "service.beta")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_AFFINITIES: Final = ("ClientIP", "None")
TRAFFIC_POLICIES: Final = ("Cluster", "Local")
_NEAREST: Final = ("PreferSameZone", "PreferSameNode")
_KUBELET: Final = 10250
_DAY: Final = 86400
_EXTERNAL_ONLY: Final = "may only be set for externally-accessible services"
_OUTWARD_ONLY: Final = "may only be set when `type` is 'NodePort' or 'LoadBalancer'"
_BALANCER_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"


def validate_service(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    """The errors of a new service; with ``old``, those of changed immutable fields."""
    return _validate_change(obj, old) if old is not None else validate_service_fields(behaviour, obj, None)


def _validate_change(obj: Object, old: Object) -> Errors:
    yield from validate_address_change(obj, old)
    yield from _validate_class(obj, old)
    ports = {at(service, "spec", "healthCheckNodePort") or 0 for service in (obj, old)}
    if needs_health_port(obj) and needs_health_port(old) and len(ports) > 1:
        yield forbidden_field("spec.healthCheckNodePort", FIXED)


def validate_service_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors of a service's status."""
    status = obj.get("status") or {}
    unbalanced = type_of(obj) != LOAD_BALANCER and behaviour.applies("load-balancer-status-of-load-balancers-only")
    if unbalanced and at(status, "loadBalancer", "ingress"):
        text = "may only be used when `spec.type` is 'LoadBalancer'"
        return [forbidden_field("status.loadBalancer.ingress", text)]
    return list(validate_load_balancer_status(behaviour, "status.loadBalancer", status, modes=True))


def validate_service_fields(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    """The errors of a service, in a change after those of its immutable fields."""
    spec = obj["spec"]
    yield from _validate_annotation(behaviour, obj)
    ports = spec.get("ports") or ()
    if not ports and not is_headless(obj) and type_of(obj) != EXTERNAL_NAME:
        yield required("spec.ports")
    yield from _validate_type(obj)
    names: set[str] = set()
    for index, port in enumerate(ports):
        yield from _validate_port(behaviour, port, f"spec.ports[{index}]", names, named=len(ports) > 1)
    yield from validate_labels(behaviour, "spec.selector", dict(sorted((spec.get("selector") or {}).items())))
    yield from _validate_affinity(spec)
    yield from validate_address_field(behaviour, obj)
    for index, one in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        yield from list(validate_ip(behaviour, path, one)) or validate_non_special_ip(behaviour, path, one)
    if type_of(obj) not in TYPES:
        yield unsupported("spec.type", type_of(obj), TYPES)
    yield from _ports_together(obj)
    yield from _validate_balancer_only(behaviour, obj)
    yield from _validate_class(obj, None)
    yield from _validate_traffic(behaviour, obj)
    yield from _validate_distribution(behaviour, spec.get("trafficDistribution"))


def _validate_annotation(behaviour: ServedBehaviour, obj: Object) -> Errors:
    annotations = annotations_of(obj)
    if not behaviour.applies("topology-mode-annotation"):
        return
    if _HINTS in annotations and _MODE in annotations and annotations[_HINTS] != annotations[_MODE]:
        text = f"must match annotations[{_HINTS}] when both are specified"
        yield invalid_value(f"metadata.annotations[{_MODE}]", annotations[_MODE], text)


def _validate_type(obj: Object) -> Errors:
    spec, kind = obj["spec"], type_of(obj)
    if kind == LOAD_BALANCER:
        for index, port in enumerate(spec.get("ports") or ()):
            if port.get("port") == _KUBELET:
                text = f"may not expose port {_KUBELET} externally since it is used by kubelet"
                yield invalid_value(f"spec.ports[{index}]", _KUBELET, text)
    if kind in (LOAD_BALANCER, NODE_PORT) and is_headless(obj):
        yield invalid_value("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind != EXTERNAL_NAME:
        return
    for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(name):
            yield forbidden_field(f"spec.{name}", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
    else:
        yield from (invalid_value("spec.externalName", name, text) for text in dns_subdomain(name))


def _validate_port(behaviour: ServedBehaviour, port: Object, path: str, names: set[str], *, named: bool) -> Errors:
    name = port.get("name") or ""
    if not name and named:
        yield required(f"{path}.name")
    elif name:
        yield from (invalid_value(f"{path}.name", name, text) for text in dns_label(name))
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
    yield from placed(f"{path}.port", PORT(behaviour, port.get("port") or 0))
    if port["protocol"] not in _PROTOCOLS:
        yield unsupported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    yield from placed(f"{path}.targetPort", PORT_OR_NAME(behaviour, port["targetPort"]))
    if port.get("appProtocol") is not None:
        value = port["appProtocol"]
        yield from (invalid_value(f"{path}.appProtocol", value, text) for text in qualified_name(value))


def _validate_affinity(spec: Object) -> Errors:
    affinity = spec["sessionAffinity"]
    if affinity not in _AFFINITIES:
        yield unsupported("spec.sessionAffinity", affinity, _AFFINITIES)
    if affinity == "ClientIP":
        timeout = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < timeout <= _DAY:
            text = f"must be greater than 0 and less than {_DAY}"
            yield invalid_value("spec.sessionAffinityConfig.clientIP.timeoutSeconds", timeout, text)


def _ports_together(obj: Object) -> Errors:
    ports = obj["spec"].get("ports") or ()
    if type_of(obj) == CLUSTER_IP:
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield forbidden_field(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    for index in sorted(repeats((port["protocol"], port.get("nodePort") or None) for port in ports)):
        if ports[index].get("nodePort"):
            yield duplicate(f"spec.ports[{index}].nodePort", ports[index]["nodePort"])
    for index in sorted(repeats((port["protocol"], port.get("port") or 0) for port in ports)):
        shown = {"protocol": ports[index]["protocol"], "port": ports[index].get("port") or 0}
        yield duplicate(f"spec.ports[{index}]", structure("core.ServicePort", shown))


def _validate_balancer_only(behaviour: ServedBehaviour, obj: Object) -> Errors:
    spec, balanced = obj["spec"], type_of(obj) == LOAD_BALANCER
    ranges = spec.get("loadBalancerSourceRanges") or ()
    annotation = annotations_of(obj).get(_RANGES)
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        if not balanced:
            yield forbidden_field(path, _BALANCER_ONLY)
        if not behaviour.applies("addresses-told-alike"):
            yield from _ranges_together(path, f"[{' '.join(ranges)}]", ranges)
            ranges = ()
        for index, one in enumerate(ranges):
            yield from validate_cidr(behaviour, f"{path}[{index}]", one.strip())
    elif annotation is not None:
        path = f"metadata.annotations[{_RANGES}]"
        if not balanced:
            yield forbidden_field(path, _BALANCER_ONLY)
        given = annotation.strip().split(",") if annotation.strip() else []
        if not behaviour.applies("addresses-told-alike"):
            yield from _ranges_together(path, annotation, given)
            given = []
        for one in given:
            yield from validate_cidr(behaviour, path, one.strip())
    if "allocateLoadBalancerNodePorts" in spec and not balanced:
        yield forbidden_field("spec.allocateLoadBalancerNodePorts", _BALANCER_ONLY)


def _ranges_together(path: str, shown: str, ranges: Sequence[str]) -> Errors:
    """The one error of bad ranges up to 1.29."""
    if any(network(each.strip()) is None for each in ranges):
        yield invalid_value(path, shown, "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ")


def _validate_class(obj: Object, old: Object | None) -> Errors:
    path, chosen = "spec.loadBalancerClass", obj["spec"].get("loadBalancerClass")
    if old is not None:
        both = type_of(obj) == type_of(old) == LOAD_BALANCER
        if both and chosen != at(old, "spec", "loadBalancerClass"):
            yield invalid_value(path, chosen, "may not change once set")
    if chosen is not None and type_of(obj) != LOAD_BALANCER:
        yield forbidden_field(path, _BALANCER_ONLY)
    elif chosen is not None:
        yield from (invalid_value(path, chosen, text) for text in qualified_name(chosen))


def _validate_distribution(behaviour: ServedBehaviour, chosen: str | None) -> Errors:
    if chosen is None or not behaviour.applies("traffic-distribution-checked"):
        return
    known = ("PreferClose", *(_NEAREST if behaviour.applies("traffic-stays-in-node-or-zone") else ()))
    if chosen not in known:
        yield unsupported("spec.trafficDistribution", chosen, known)


def _validate_traffic(behaviour: ServedBehaviour, obj: Object) -> Errors:
    spec = obj["spec"]
    path, policy = "spec.externalTrafficPolicy", spec.get("externalTrafficPolicy") or ""
    if not is_external(obj):
        if policy:
            text = _EXTERNAL_ONLY if behaviour.applies("external-policies-by-access") else _OUTWARD_ONLY
            if not behaviour.applies("services-kept-by-the-store"):
                text = "ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service"
            yield invalid_value(path, policy, text)
    elif policy not in TRAFFIC_POLICIES:
        yield unsupported(path, policy, TRAFFIC_POLICIES)
    path, port = "spec.healthCheckNodePort", spec.get("healthCheckNodePort") or 0
    if not needs_health_port(obj):
        if port:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            if not behaviour.applies("services-kept-by-the-store"):
                text = "HealthCheckNodePort can only be set on LoadBalancer service with ExternalTrafficPolicy=Local"
            yield invalid_value(path, port, text)
    elif not port:
        yield required(path)
    else:
        yield from placed(path, PORT(behaviour, port))
    policy = spec.get("internalTrafficPolicy")
    if policy is not None and policy not in TRAFFIC_POLICIES:
        yield unsupported("spec.internalTrafficPolicy", policy, TRAFFIC_POLICIES)
