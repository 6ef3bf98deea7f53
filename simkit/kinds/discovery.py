"""Strategy of EndpointSlice: defaulting, preparation, validation, printer columns.

Follows ``pkg/registry/discovery/endpointslice/strategy.go`` and ``pkg/apis/discovery/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from itertools import chain
from typing import Final

from simkit.kinds.parts.cells import UNSET, columns, few
from simkit.kinds.parts.copy_on_write import null_where_empty, own_items
from simkit.kinds.parts.validation.fields import validate_immutable_field, validate_qualified_domain
from simkit.kinds.parts.validation.ip import address, ip_warnings, validate_ip, validate_non_special_ip
from simkit.kinds.rules import REQUIRED, at_root, distinct, first, items, must, placed, row, table
from simkit.kinds.strategy import WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group, label
from simkit.meta.fielderror import Errors, FieldError, invalid_value, required, too_many
from simkit.meta.name_validation import dns_label, dns_subdomain, label_value, qualified_name
from simkit.meta.objects import Draft, Object, labels_of

_HOSTNAME: Final = label("hostname")
_MANAGED_BY: Final = label("managed-by", "endpointslice")
_CONTROLLERS: Final = (api_group("endpointslice-controller"), api_group("endpointslicemirroring-controller"))
_CLASSES: Final = {"IPv4": IPv4Address, "IPv6": IPv6Address}
_MOST_ENDPOINTS, _MOST_ADDRESSES = 1000, 100


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    for port in own_items(draft, "ports"):
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _prepare_older(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """Set empty lists to null, as they are stored."""
    null_where_empty(draft, "endpoints", "ports")


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    _prepare_older(behaviour, draft, old)
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


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    kind = obj.get("addressType") or ""
    parts = [list(_validate_endpoint(behaviour, obj.get("endpoints") or (), kind)), at_root(_PORTS(behaviour, obj))]
    if behaviour.applies("ports-of-endpoints-first"):
        if old is not None and (obj.get("endpoints") or []) == (old.get("endpoints") or []):
            parts[0] = []  # which an earlier release took for valid
        parts.reverse()
    return [
        *at_root(_TYPE(behaviour, obj)),
        *chain.from_iterable(parts),
        *(validate_immutable_field("addressType", kind, old.get("addressType") or "") if old is not None else ()),
    ]


_TYPE: Final = row("addressType", REQUIRED, must.be_one_of("FQDN", "IPv4", "IPv6"))
_PORTS: Final = row(
    "ports",
    must.have_at_most(20000),
    items(
        row("name", must.be(dns_label)),
        distinct("name"),
        row("protocol", must.be_one_of("SCTP", "TCP", "UDP"), empty=True),
        row("appProtocol", must.be(qualified_name), empty=True),
    ),
)
_ENDPOINT: Final = table(
    row("nodeName", must.be(dns_subdomain), empty=True),
    row("deprecatedTopology", must.have_at_most(16)),
    row("hostname", must.be(dns_label), empty=True),
    row(
        "hints",
        first(
            row("forZones", must.have_at_most(8)),
            table(
                row("forZones", items(distinct("name"), row("name", must.be(label_value), zero=""))),
                row(
                    "forNodes",
                    must.have_at_most(8),
                    items(distinct("name"), row("name", must.be(dns_subdomain), zero="")),
                ),
            ),
        ),
    ),
)


def _validate_endpoint(behaviour: ServedBehaviour, endpoints: Sequence[Object], kind: str) -> Errors:
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        yield from _validate_one(behaviour, endpoint, f"endpoints[{index}]", kind)


def _validate_one(behaviour: ServedBehaviour, endpoint: Object, path: str, kind: str) -> Errors:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        yield too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
    for index, one in enumerate(addresses):
        yield from _validate_address(behaviour, f"{path}.addresses[{index}]", one, kind)
    yield from placed(path, _ENDPOINT(behaviour, endpoint))


def _validate_address(behaviour: ServedBehaviour, path: str, text: str, kind: str) -> Errors:
    if kind == "FQDN":
        yield from validate_qualified_domain(path, text)
    elif kind in _CLASSES and behaviour.applies("addresses-of-endpoints-by-family"):
        errors = list(validate_ip(behaviour, path, text))
        if not errors and not isinstance(address(text), _CLASSES[kind]):
            errors.append(invalid_value(path.rpartition("[")[0], text, f"must be an {kind} address"))
            errors += validate_non_special_ip(behaviour, path, text)
        yield from errors or validate_non_special_ip(behaviour, path, text)
    elif kind in _CLASSES:
        if not isinstance(address(text), _CLASSES[kind]):
            yield invalid_value(path, text, f"must be a valid {kind} address")
        yield from validate_non_special_ip(behaviour, path, text)


def _port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    name: str | None = port.get("name")
    return "*" if name is None else name


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[str]:
    """The warnings about a type of addresses that goes, and about addresses that no controller has written."""
    if old is None and obj.get("addressType") == "FQDN" and behaviour.applies("slices-of-names-warned"):
        yield "spec.addressType: FQDN endpoints are deprecated"
    if behaviour.applies("addresses-warned-about") and labels_of(obj).get(_MANAGED_BY) not in _CONTROLLERS:
        for place, endpoint in enumerate(obj.get("endpoints") or ()):
            for index, text in enumerate(endpoint.get("addresses") or ()):
                yield from ip_warnings(behaviour, f"endpoints[{place}].addresses[{index}]", text)


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((WHOLE,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    raises_generation=_raises_generation,
    print_row=columns(
        "addressType",
        lambda obj: few([*map(_port, obj.get("ports") or ())], UNSET),
        lambda obj: few(
            [one for endpoint in obj.get("endpoints") or () for one in endpoint.get("addresses") or ()], UNSET
        ),
    ),
    warnings=_warnings,
)


STRATEGIES: Final = {
    "EndpointSlice": replace(
        _STABLE, older_versions={f"{api_group('discovery')}/v1beta1": replace(_STABLE, prepare=_prepare_older)}
    ),
}
