"""Strategy of Endpoints: defaults and validation. Subsets stay as they are written.

Follows ``pkg/registry/core/endpoint/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import own_items, without_empty
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.ip import ip_warnings, validate_ip, validate_non_special_ip, validate_port
from simkit.kinds.strategy import Strategy
from simkit.meta.behaviour import applies
from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, required, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain, qualified_name
from simkit.meta.objects import Draft, Object, labels_of, name_of

_MANAGED_BY: Final = label("managed-by", "endpoints")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_SIDES: Final = ("addresses", "notReadyAddresses")


def _default(draft: Draft) -> None:
    for subset in own_items(draft, "subsets"):
        for port in own_items(subset, "ports"):
            port["protocol"] = port.get("protocol") or "TCP"


def _prepare(draft: Draft, old: Object | None) -> None:
    without_empty(draft, ("subsets",))


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj.get("subsets") or ()))


def _validate_fields(subsets: Sequence[Object]) -> Iterator[FieldError]:
    for index, subset in enumerate(subsets):
        path = f"subsets[{index}]"
        if not any(subset.get(side) for side in _SIDES):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for side in _SIDES:
            for number, one in enumerate(subset.get(side) or ()):
                yield from _validate_address(one, f"{path}.{side}[{number}]")
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            yield from _validate_port(port, f"{path}.ports[{number}]", named=len(ports) > 1)


def _validate_address(one: Object, path: str) -> Iterator[FieldError]:
    ip = one.get("ip") or ""
    yield from validate_ip(f"{path}.ip", ip)
    if one.get("hostname"):
        yield from validate_text(f"{path}.hostname", one["hostname"], dns_label)
    if one.get("nodeName") is not None:
        yield from validate_text(f"{path}.nodeName", one["nodeName"], dns_subdomain)
    yield from validate_non_special_ip(f"{path}.ip", ip)


def _validate_port(port: Object, path: str, *, named: bool) -> Iterator[FieldError]:
    name = port.get("name") or ""
    if not name and named:
        yield required(f"{path}.name")
    elif name:
        yield from validate_text(f"{path}.name", name, dns_label)
    yield from validate_port(f"{path}.port", port.get("port") or 0)
    if port["protocol"] not in _PROTOCOLS:
        yield unsupported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    if port.get("appProtocol") is not None:
        yield from validate_text(f"{path}.appProtocol", port["appProtocol"], qualified_name)


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), _shown(obj.get("subsets") or ()), created(obj, now)]


def _shown(subsets: Sequence[Object]) -> str:
    found = [text for subset in subsets for text in _pairs(subset)]
    if not subsets:
        return NONE
    more = len(found) - 3
    return ",".join(found[:3]) + (f" + {more} more..." if more > 0 else "")


def _pairs(subset: Object) -> Iterator[str]:
    ports, addresses = subset.get("ports") or (), [one.get("ip", "") for one in subset.get("addresses") or ()]
    if not ports:
        yield from addresses
    for port in ports:
        for ip in addresses:
            yield f"[{ip}]:{port.get('port', 0)}" if ":" in ip else f"{ip}:{port.get('port', 0)}"


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about addresses that the endpoints controller has not written."""
    if not applies("addresses-warned-about") or labels_of(obj).get(_MANAGED_BY) == "endpoint-controller":
        return []
    return [
        warning
        for place, subset in enumerate(obj.get("subsets") or ())
        for field in _SIDES
        for index, address in enumerate(subset.get(field) or ())
        for warning in ip_warnings(f"subsets[{place}].{field}[{index}].ip", address.get("ip") or "")
    ]


STRATEGY = Strategy(
    default=_default,
    prepare=_prepare,
    validate=_validate,
    print_row=_row,
    warnings=_warnings,
    allow_create_on_update=True,
)
