"""Strategy of Service: preparation, warnings, printer columns. The registry's allocators assign addresses and ports.

Follows ``pkg/registry/core/service/strategy.go`` and ``pkg/api/service/warnings.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import NONE, UNKNOWN, created, pairs
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy, without_empty
from simkit.kinds.parts.service.cluster_ips import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    default_service,
    drop_type_dependent_fields,
    is_headless,
    type_of,
)
from simkit.kinds.parts.service.validation import (
    reached_at,
    validate_service,
    validate_service_fields,
    validate_service_status,
)
from simkit.kinds.parts.validation.ip import balancer_warnings, cidr_warnings, ip_warnings
from simkit.kinds.strategy import CHANGES, MetadataCheck, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.name_validation import dns1035_label, dns_label
from simkit.meta.objects import Draft, Object, annotations_of, at, name_of

_HINTS: Final = label("topology-aware-hints", "service")
_MODE: Final = label("topology-mode", "service")
_OPTIONAL: Final = ("ports", "selector", "externalIPs", "loadBalancerSourceRanges", "clusterIPs", "ipFamilies")


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    spec = own_copy(draft, "spec")
    without_empty(spec, _OPTIONAL)
    if old is None:
        draft["status"] = {"loadBalancer": {}}
    else:
        drop_type_dependent_fields(draft, old)


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    spec, found = obj["spec"], list[str]()
    if not behaviour.applies("services-warned-of"):
        return found
    if _HINTS in annotations_of(obj):
        found.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    if is_headless(obj) and behaviour.applies("headless-services-warned"):
        found += [f"spec.{shown} is ignored for headless services" for shown in _ignored(spec)]
    given = [] if is_headless(obj) or type_of(obj) == EXTERNAL_NAME else spec.get("clusterIPs") or []
    places = [(f"spec.clusterIPs[{index}]", one) for index, one in enumerate(given)]
    places += [(f"spec.externalIPs[{index}]", one) for index, one in enumerate(spec.get("externalIPs") or ())]
    direct = spec.get("externalIPs") and type_of(obj) != EXTERNAL_NAME and not is_headless(obj)
    if spec.get("loadBalancerIP"):
        places.append(("spec.loadBalancerIP", spec["loadBalancerIP"]))
    balancer = [place for place in places if place[0] == "spec.loadBalancerIP"]
    found += [text for path, one in places if (path, one) not in balancer for text in ip_warnings(behaviour, path, one)]
    if direct and behaviour.applies("external-addresses-deprecated"):
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    found += [text for path, one in balancer for text in ip_warnings(behaviour, path, one)]
    for index, one in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += cidr_warnings(behaviour, f"spec.loadBalancerSourceRanges[{index}]", one.strip())
    unused = behaviour.applies("unused-fields-of-services-warned")
    if unused and type_of(obj) == EXTERNAL_NAME and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if unused and type_of(obj) != EXTERNAL_NAME and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose" and behaviour.applies("close-traffic-deprecated"):
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _ignored(spec: Object) -> Iterator[str]:
    """The fields of a headless service that nobody looks at."""
    if spec.get("loadBalancerIP"):
        yield "loadBalancerIP"
    if spec.get("externalIPs"):
        yield "externalIPs"
    if spec.get("sessionAffinity") != "None":
        yield "SessionAffinity"


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    first = next(iter(spec.get("clusterIPs") or ()), NONE)
    made = created(obj, now)
    return [name_of(obj), type_of(obj), first, _outside(obj), _ports(spec), made, pairs(spec.get("selector"))]


def _outside(obj: Object) -> str:
    extra = list(at(obj, "spec", "externalIPs") or ())
    kind = type_of(obj)
    if kind in (CLUSTER_IP, NODE_PORT):
        return ",".join(extra) or NONE
    if kind == LOAD_BALANCER:
        return ",".join(reached_at(obj.get("status") or {}) + extra) or "<pending>"
    return (at(obj, "spec", "externalName") or "") if kind == EXTERNAL_NAME else UNKNOWN


def _ports(spec: Object) -> str:
    return ",".join(_port(port) for port in spec.get("ports") or ()) or NONE


def _port(port: Object) -> str:
    on_nodes = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{on_nodes}/{port.get('protocol', '')}"


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,), after=(MetadataCheck(whole=True, until="services-checked-once"),)),
    validate_name=dns1035_label,
    validate_name_since=("relaxed-service-names", dns_label),
    default=default_service,
    prepare=_prepare,
    validate=validate_service,
    validate_last=validate_service_fields,
    print_row=_row,
    warnings=_warnings,
    subresources={"status": Subresource(keep_all_but_status, validate_service_status, balancer_warnings, creates=True)},
    allow_create_on_update=True,
    return_deleted_object=True,
    tells_no_object=lambda behaviour: not behaviour.applies("deleted-services-told"),
)
