"""Validation of the status of a claim: what is allocated for whom, and what drivers tell about it.

Follows ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.kinds.parts.devices.device import device_key, validate_binding_conditions
from simkit.kinds.parts.devices.names import validate_opaque, validate_pool_name, validate_raw, validate_set
from simkit.kinds.parts.devices.requests import (
    Names,
    request_names,
    validate_reference,
    validate_references,
    without_empty_list,
)
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.scheduling import DEVICE_NODE_SELECTOR
from simkit.kinds.parts.pod.validation.volumes import validate_driver
from simkit.kinds.parts.validation.conditions import validate_conditions
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.ip import validate_interface_address
from simkit.kinds.rules import placed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import (
    FieldError,
    Shown,
    forbidden_field,
    invalid_value,
    quoted,
    required,
    too_long,
    too_many,
    unsupported,
)
from simkit.meta.name_validation import dns_label
from simkit.meta.objects import Object, at, metadata

_MOST_CONSUMERS: Final = 256
_MOST_ADDRESSES: Final = 16
_MOST_CONDITIONS: Final = 8
_LENGTHS: Final = {"interfaceName": 256, "hardwareAddress": 128}
_CANONICAL: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID: Final = re.compile(
    "[0-9a-fA-F]{32}|(?:urn:uuid:|[{])?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[}]?", re.IGNORECASE
)
_NORMALIZED: Final = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)
_SOURCES: Final = ("FromClaim", "FromClass")


def validate_claim_status(behaviour: ServedBehaviour, claim: Object, old: Object) -> Iterator[FieldError]:
    """The errors of a written status of a claim."""
    status, before = claim.get("status") or {}, old.get("status") or {}
    reserved, allocation = status.get("reservedFor") or (), status.get("allocation")
    yield from validate_set(behaviour, "status.reservedFor", reserved, _MOST_CONSUMERS, _validate_consumer, _uid, "uid")
    yield from _validate_devices(behaviour, status, allocation)
    if reserved and allocation is None:
        yield forbidden_field("status.reservedFor", "may not be specified when `allocated` is not set")
    elif metadata(claim).get("deletionTimestamp") and any(
        one not in (before.get("reservedFor") or ()) for one in reserved
    ):
        states = "`deallocationRequested` or `deletionTimestamp` are set"
        yield forbidden_field("status.reservedFor", f"new entries may not be added while {states}")
    if allocation is None:
        return
    if before.get("allocation") is None:
        names = request_names(at(claim, "spec", "devices") or {})
        yield from _validate_allocation(behaviour, "status.allocation", allocation, names)
    elif without_empty_list(allocation, "results") != before["allocation"]:
        yield invalid_value(
            "status.allocation", structure("resource.AllocationResult", allocation), "field is immutable"
        )


def _uid(consumer: Any) -> str:
    return consumer.get("uid") or ""


def _validate_consumer(behaviour: ServedBehaviour, path: str, consumer: Object) -> Iterator[FieldError]:
    return (required(f"{path}.{name}") for name in ("resource", "name", "uid") if not consumer.get(name))


def _validate_devices(behaviour: ServedBehaviour, status: Object, allocation: Object | None) -> Iterator[FieldError]:
    allocated = {device_key(one) for one in at(allocation or {}, "devices", "results") or ()}

    def check(behaviour: ServedBehaviour, path: str, device: Object) -> Iterator[FieldError]:
        yield from _validate_names(behaviour, path, device)
        yield from _validate_share(path, device)
        if device_key(device) not in allocated:
            shown = "/".join(filter(None, device_key(device)))
            yield invalid_value(
                path, Shown(shown, _parts(behaviour, device)), "must be an allocated device in the claim"
            )
        conditions = device.get("conditions") or ()
        if len(conditions) > _MOST_CONDITIONS:
            yield too_many(f"{path}.conditions", len(conditions), _MOST_CONDITIONS)
        yield from validate_conditions(behaviour, f"{path}.conditions", conditions)
        if device.get("data") is not None:
            yield from validate_raw(f"{path}.data", device["data"])
        yield from _validate_network(behaviour, f"{path}.networkData", device.get("networkData") or {})

    return validate_set(behaviour, "status.devices", status.get("devices") or (), -1, check, device_key, "deviceID")


def _parts(behaviour: ServedBehaviour, device: Object) -> Mapping[str, Any]:
    """The parts of a device's identity, as messages show them: up to 1.34 as structures with nothing to see."""
    names = ("Driver", "Pool", "Device", "ShareID")
    if behaviour.applies("identities-of-devices-shown"):
        return dict(zip(names, device_key(device), strict=True))
    return {name: {} for name in (names if behaviour.applies("identities-of-devices-have-shares") else names[:3])}


def _validate_names(behaviour: ServedBehaviour, path: str, device: Object) -> Iterator[FieldError]:
    yield from validate_driver(behaviour, f"{path}.driver", device.get("driver") or "")
    yield from validate_pool_name(behaviour, f"{path}.pool", device.get("pool") or "")
    yield from validate_text(f"{path}.device", device.get("device") or "", dns_label)


def _validate_share(path: str, device: Object) -> Iterator[FieldError]:
    """The errors of the uid of a share of a device."""
    uid = device.get("shareID")
    if uid is None:
        return
    wrong = _uuid_error(uid)
    if wrong:
        yield invalid_value(f"{path}.shareID", uid, f"error validating uid: {wrong}")
    elif not _CANONICAL.fullmatch(uid):
        yield invalid_value(f"{path}.shareID", uid, _NORMALIZED)


def _uuid_error(text: str) -> str:
    """The fault of a UUID in any of its forms; empty if nothing is."""
    octets = len(text.encode())
    if octets not in (32, 36, 38, 45):
        return f"invalid UUID length: {octets}"
    if octets == 45 and text[:9].lower() != "urn:uuid:":
        return f"invalid urn prefix: {quoted(text[:9])}"
    if octets == 38 and (text[0], text[-1]) != ("{", "}"):
        return "invalid bracketed UUID format"
    return "" if _UUID.fullmatch(text) else "invalid UUID format"


def _validate_network(behaviour: ServedBehaviour, path: str, network: Object) -> Iterator[FieldError]:
    for name, most in _LENGTHS.items():
        if len((network.get(name) or "").encode()) > most:
            yield too_long(f"{path}.{name}", most)
    yield from validate_set(
        behaviour, f"{path}.ips", network.get("ips") or (), _MOST_ADDRESSES, validate_interface_address, str
    )


def _validate_allocation(
    behaviour: ServedBehaviour, path: str, allocation: Object, names: Names
) -> Iterator[FieldError]:
    for index, result in enumerate(at(allocation, "devices", "results") or ()):
        here = f"{path}.devices.results[{index}]"
        yield from validate_reference(f"{here}.request", result.get("request") or "", names)
        yield from _validate_names(behaviour, here, result)
        yield from validate_binding_conditions(behaviour, here, result)
        yield from _validate_share(here, result)
    for index, config in enumerate(at(allocation, "devices", "config") or ()):
        here, source = f"{path}.devices.config[{index}]", config.get("source") or ""
        if not source:
            yield required(f"{here}.source")
        elif source not in _SOURCES:
            yield unsupported(f"{here}.source", source, _SOURCES)
        yield from validate_references(behaviour, f"{here}.requests", config.get("requests") or (), names)
        yield from validate_opaque(behaviour, here, config)
    if allocation.get("nodeSelector") is not None:
        yield from placed(f"{path}.nodeSelector", DEVICE_NODE_SELECTOR(behaviour, allocation["nodeSelector"]))
