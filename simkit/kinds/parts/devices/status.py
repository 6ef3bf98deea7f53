"""Validation of the status of a claim: what is allocated for whom, and what drivers tell about it.

Follows ``pkg/apis/resource/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.devices.device import BINDING_CONDITIONS, device_key
from simkit.kinds.parts.devices.names import LABEL, OPAQUE, POOL, RAW, field_of, set_of
from simkit.kinds.parts.devices.requests import (
    Names,
    reference_to,
    references_to,
    request_names,
    without_empty_list,
)
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.scheduling import DEVICE_NODE_SELECTOR
from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.validation.conditions import validate_conditions
from simkit.kinds.parts.validation.ip import validate_interface_address
from simkit.kinds.rules import REQUIRED, by, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import (
    FieldError,
    Shown,
    forbidden_field,
    invalid_value,
    quoted,
)
from simkit.meta.objects import Object, at, metadata

_ANY_NUMBER: Final = 1 << 31
_CANONICAL: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID: Final = re.compile(
    "[0-9a-fA-F]{32}|(?:urn:uuid:|[{])?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[}]?", re.IGNORECASE
)
_NORMALIZED: Final = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)
_CONSUMERS: Final = row(
    "reservedFor",
    set_of(256, table(*(row(name, REQUIRED) for name in ("resource", "name", "uid"))), field_of("uid"), "uid"),
)


def validate_claim_status(behaviour: ServedBehaviour, claim: Object, old: Object | None) -> Iterator[FieldError]:
    """The errors of a written status of a claim."""
    if not behaviour.applies("claims-of-devices"):
        return
    status, before = claim.get("status") or {}, (old or {}).get("status") or {}
    reserved, allocation = status.get("reservedFor") or (), status.get("allocation")
    yield from placed("status", _CONSUMERS(behaviour, status))
    yield from placed("status.devices", _validate_devices(behaviour, status, allocation))
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
        yield from placed("status.allocation", _validate_allocation(behaviour, allocation, names))
    elif without_empty_list(allocation, "results") != before["allocation"]:
        yield invalid_value(
            "status.allocation", structure("resource.AllocationResult", allocation), "field is immutable"
        )


def _validate_devices(behaviour: ServedBehaviour, status: Object, allocation: Object | None) -> Sequence[FieldError]:
    allocated = {device_key(one) for one in at(allocation or {}, "devices", "results") or ()}

    def validate(behaviour: ServedBehaviour, path: str, device: Object) -> Iterator[FieldError]:
        if device_key(device) not in allocated:
            shown = Shown("/".join(filter(None, device_key(device))), _parts(behaviour, device))
            yield invalid_value(path, shown, "must be an allocated device in the claim")

    devices = set_of(_ANY_NUMBER, table(_NAMES, _SHARE, by(validate), _TOLD), device_key, "deviceID")
    return devices(behaviour, status.get("devices") or ())


def _parts(behaviour: ServedBehaviour, device: Object) -> Mapping[str, Any]:
    """The parts of a device's identity, as messages show them: up to 1.34 as structures with nothing to see."""
    names = ("Driver", "Pool", "Device", "ShareID")
    if behaviour.applies("identities-of-devices-shown"):
        return dict(zip(names, device_key(device), strict=True))
    return {name: {} for name in (names if behaviour.applies("identities-of-devices-have-shares") else names[:3])}


def _validate_share(behaviour: ServedBehaviour, path: str, uid: str) -> Iterator[FieldError]:
    """The errors of the uid of a share of a device."""
    wrong = _uuid_error(uid)
    if wrong:
        yield invalid_value(path, uid, f"error validating uid: {wrong}")
    elif not _CANONICAL.fullmatch(uid):
        yield invalid_value(path, uid, _NORMALIZED)


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


_NAMES: Final = table(row("driver", DRIVER, zero=""), row("pool", POOL, zero=""), row("device", LABEL, zero=""))
_SHARE: Final = row("shareID", by(_validate_share), empty=True)
_TOLD: Final = table(
    row("conditions", must.have_at_most(8)),
    row("conditions", by(validate_conditions)),
    row("data", RAW, empty=True),
    row(
        "networkData",
        row("interfaceName", must.have_at_most_bytes(256)),
        row("hardwareAddress", must.have_at_most_bytes(128)),
        row("ips", set_of(16, by(validate_interface_address))),
    ),
)
"""The check of what drivers tell about a device."""


def _validate_allocation(behaviour: ServedBehaviour, allocation: Object, names: Names) -> Sequence[FieldError]:
    rules = table(
        row(
            "devices.results[]",
            table(row("request", reference_to(names), zero=""), _NAMES, BINDING_CONDITIONS, _SHARE),
        ),
        row(
            "devices.config[]",
            row("source", REQUIRED, must.be_one_of("FromClaim", "FromClass")),
            row("requests", references_to(names)),
            OPAQUE,
        ),
        row("nodeSelector", DEVICE_NODE_SELECTOR),
    )
    return rules(behaviour, allocation)
