"""Strategy of EndpointSlice: defaulting, preparation, validation, printer columns.

Follows ``pkg/registry/discovery/endpointslice/strategy.go`` and ``pkg/apis/discovery/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from itertools import chain
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import null_where_empty, own_items
from simkit.kinds.parts.printers.cells import UNSET, created
from simkit.kinds.parts.validation.fields import validate_immutable_field, validate_qualified_domain, validate_text
from simkit.kinds.parts.validation.ip import address, ip_warnings, validate_ip, validate_non_special_ip
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import applies
from simkit.meta.domain import api_group, label
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required, too_many, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain, label_value, qualified_name
from simkit.meta.objects import Draft, Object, labels_of, name_of

_HOSTNAME: Final = label("hostname")
_MANAGED_BY: Final = label("managed-by", "endpointslice")
_CONTROLLERS: Final = (api_group("endpointslice-controller"), api_group("endpointslicemirroring-controller"))
_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_CLASSES: Final = {"IPv4": IPv4Address, "IPv6": IPv6Address}
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS, _MOST_ZONES, _MOST_NODES, _MOST_LABELS = 1000, 100, 20000, 8, 8, 16


def _default(draft: Draft) -> None:
    for port in own_items(draft, "ports"):
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _prepare_older(draft: Draft, old: Object | None) -> None:
    """Set empty lists to null, as they are stored."""
    null_where_empty(draft, "endpoints", "ports")


def _prepare(draft: Draft, old: Object | None) -> None:
    _prepare_older(draft, old)
    if old is not None and draft["endpoints"] == old.get("endpoints"):
        return
    if old is not None:  # what is written counts for the generation, also what is dropped of it
        draft["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1
    known = {(each.get("deprecatedTopology") or {}).get(_HOSTNAME) for each in (old or {}).get("endpoints") or ()}
    for endpoint in own_items(draft, "endpoints"):
        node = (endpoint.pop("deprecatedTopology", None) or {}).get(_HOSTNAME)
        if node and node in known and endpoint.get("nodeName") is None and not dns_subdomain(node):
            endpoint["nodeName"] = node


def _raises_generation(obj: Object, old: Object) -> bool:
    """True if labels, address type, endpoints or ports changed; labels name the slice's service."""
    names = ("addressType", "endpoints", "ports")
    return labels_of(obj) != labels_of(old) or any(obj.get(name) != old.get(name) for name in names)


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    kind = obj.get("addressType") or ""
    parts = [_validate_endpoint(obj.get("endpoints") or (), kind), _validate_port(obj.get("ports") or ())]
    if applies("ports-of-endpoints-first"):
        parts.reverse()
    return [
        *_validate_type(kind),
        *chain.from_iterable(parts),
        *(validate_immutable_field("addressType", kind, old.get("addressType") or "") if old is not None else ()),
    ]


def _validate_type(kind: str) -> Iterator[FieldError]:
    if not kind:
        yield required("addressType")
    elif kind not in _TYPES:
        yield unsupported("addressType", kind, _TYPES)


def _validate_endpoint(endpoints: Sequence[Object], kind: str) -> Iterator[FieldError]:
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        yield from _validate_one(endpoint, f"endpoints[{index}]", kind)


def _validate_one(endpoint: Object, path: str, kind: str) -> Iterator[FieldError]:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        yield too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
    for index, one in enumerate(addresses):
        yield from _validate_address(f"{path}.addresses[{index}]", one, kind)
    if endpoint.get("nodeName") is not None:
        yield from validate_text(f"{path}.nodeName", endpoint["nodeName"], dns_subdomain)
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > _MOST_LABELS:
        yield too_many(f"{path}.deprecatedTopology", len(topology), _MOST_LABELS)
    if endpoint.get("hostname") is not None:
        yield from validate_text(f"{path}.hostname", endpoint["hostname"], dns_label)
    if endpoint.get("hints") is not None:
        for name, most, rule in (("forZones", _MOST_ZONES, label_value), ("forNodes", _MOST_NODES, dns_subdomain)):
            hints = endpoint["hints"].get(name) or ()
            yield from _validate_hints(f"{path}.hints.{name}", hints, most, rule)
            if len(hints) > most:
                return


def _validate_address(path: str, text: str, kind: str) -> Iterator[FieldError]:
    if kind == "FQDN":
        yield from validate_qualified_domain(path, text)
    elif kind in _CLASSES and applies("addresses-of-endpoints-by-family"):
        errors = list(validate_ip(path, text))
        if not errors and not isinstance(address(text), _CLASSES[kind]):
            errors.append(invalid_value(path.rpartition("[")[0], text, f"must be an {kind} address"))
            errors += validate_non_special_ip(path, text)
        yield from errors or validate_non_special_ip(path, text)
    elif kind in _CLASSES:
        if not isinstance(address(text), _CLASSES[kind]):
            yield invalid_value(path, text, f"must be a valid {kind} address")
        yield from validate_non_special_ip(path, text)


def _validate_hints(
    path: str, hints: Sequence[Object], most: int, rule: Callable[[str], Sequence[str]]
) -> Iterator[FieldError]:
    if len(hints) > most:
        yield too_many(path, len(hints), most)
        return
    seen: set[str] = set()
    for index, hint in enumerate(hints):
        name = hint.get("name") or ""
        if name in seen:
            yield duplicate(f"{path}[{index}].name", name)
        seen.add(name)
        yield from validate_text(f"{path}[{index}].name", name, rule)


def _validate_port(ports: Sequence[Object]) -> Iterator[FieldError]:
    if len(ports) > _MOST_PORTS:
        yield too_many("ports", len(ports), _MOST_PORTS)
        return
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port["name"]
        if name:
            yield from validate_text(f"{path}.name", name, dns_label)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        if port["protocol"] not in _PROTOCOLS:
            yield unsupported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
        if port.get("appProtocol") is not None:
            yield from validate_text(f"{path}.appProtocol", port["appProtocol"], qualified_name)


def _row(obj: Object, now: float) -> Sequence[Any]:
    ports = [_port(port) for port in obj.get("ports") or ()]
    addresses = [one for endpoint in obj.get("endpoints") or () for one in endpoint.get("addresses") or ()]
    return [name_of(obj), obj.get("addressType") or "", _some(ports), _some(addresses), created(obj, now)]


def _port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return port.get("name") or "*"


def _some(texts: Sequence[str]) -> str:
    """The first three, and the number of others."""
    more = len(texts) - 3
    return (",".join(texts[:3]) or UNSET) + (f" + {more} more..." if more > 0 else "")


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about a type of addresses that goes, and about addresses that no controller has written."""
    found = []
    if old is None and obj.get("addressType") == "FQDN" and applies("slices-of-names-warned"):
        found.append("spec.addressType: FQDN endpoints are deprecated")
    if applies("addresses-warned-about") and labels_of(obj).get(_MANAGED_BY) not in _CONTROLLERS:
        for place, endpoint in enumerate(obj.get("endpoints") or ()):
            for index, text in enumerate(endpoint.get("addresses") or ()):
                found += ip_warnings(f"endpoints[{place}].addresses[{index}]", text)
    return found


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    raises_generation=_raises_generation,
    print_row=_row,
    warnings=_warnings,
)
STRATEGY = replace(
    _STABLE, older_versions={f"{api_group('discovery')}/v1beta1": replace(_STABLE, prepare=_prepare_older)}
)
