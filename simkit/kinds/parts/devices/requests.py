"""Requests for devices, and the status of a claim: their defaults and validation.

Follows ``pkg/apis/resource/validation/validation.go`` and ``pkg/apis/resource/v1/defaults.go``, release 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import null_where_empty, own_copy, without_empty
from simkit.kinds.parts.devices.device import BINDING_CONDITIONS, EFFECT, device_key
from simkit.kinds.parts.devices.names import (
    FULLY_QUALIFIED,
    LABEL,
    NAME,
    OPAQUE,
    POOL,
    RAW,
    SUBDOMAIN,
    field_of,
    list_of,
    set_of,
)
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.scheduling import DEVICE_NODE_SELECTOR
from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.validation.fields import CONDITIONS
from simkit.kinds.parts.validation.ip import validate_interface_address
from simkit.kinds.parts.validation.object_meta import QUALIFIED
from simkit.kinds.rules import REQUIRED, Check, by, fields, must, placed, row, table
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import Environment, Program, own_version, type_named, written_version
from simkit.language.cel.errors import CompileError, InstantiationError
from simkit.language.cel.types import BOOL, STRING, Type, map_of, object_type
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, Shown, forbidden_field, invalid_value, quoted, required
from simkit.meta.name_validation import label_value
from simkit.meta.objects import Draft, Object, at, metadata
from simkit.schema.structural import Schema

MOST_COST: Final = 1_000_000
"""The cost of evaluating one expression for one device."""
_MOST_ENTRIES: Final = 32
_LONGEST_DRIVER, _LONGEST_VALUE = 63, 64
_ANY: Final = Type("dyn", "google.protobuf.Any")
"""The type of an attribute: a number, a text, a version or yes and no."""


class _Declared(DeclType):
    """A declaration without a schema."""

    def __init__(
        self,
        of: Type,
        max_elements: int,
        *,
        element: DeclType | None = None,
        fields: Mapping[str, DeclType] | None = None,
        named: DeclType | None = None,
    ) -> None:
        super().__init__(Schema({"type": "boolean"}, _no_definition), "")
        self.type, self.max_elements = of, max_elements
        self.element, self._named = element, named
        self.fields = {name: (name, each) for name, each in (fields or {}).items()}
        if fields is not None:
            self.type = object_type(of.name, self)

    def member(self, name: str) -> DeclType | None:
        """The declaration of a field, or of what any name leads to."""
        return super().member(name) or self._named


def _no_definition(name: str) -> Schema:
    raise LookupError(name)


def _by_domain(value: _Declared, *, named: bool) -> _Declared:
    """Values by domain and name."""
    inner = _Declared(map_of(STRING, value.type), _MOST_ENTRIES, element=value, named=value if named else None)
    return _Declared(map_of(STRING, inner.type), _MOST_ENTRIES, element=inner)


@lru_cache(maxsize=8)
def _device(shared: bool) -> DeclType:
    """The variable ``device``; ``shared`` tells whether several claims may have one device."""
    fields = {
        "driver": _Declared(STRING, _LONGEST_DRIVER),
        "attributes": _by_domain(_Declared(_ANY, _LONGEST_VALUE), named=True),
        "capacity": _by_domain(_Declared(type_named("Quantity"), 0), named=False),
    }
    if shared:
        fields["allowMultipleAllocations"] = _Declared(BOOL, 1)
    return _Declared(Type("object", "kubernetes.DRADevice"), 0, fields=fields)


@lru_cache(maxsize=256)
def _fault(source: str, behaviour: ServedBehaviour, version: str) -> str | None:
    """The fault of an expression; empty if it only costs too much, None if nothing is."""
    device = _device(behaviour.applies("devices-of-several-claims"))
    try:
        program = _program(source, behaviour, version)
    except InstantiationError as error:
        return f"program instantiation failed: {error}"
    except CompileError as error:
        return f"compilation failed: {error}"
    if program.type not in (BOOL, _ANY):
        return f"must evaluate to bool or the unknown type, not {program.type}"
    return "" if program.estimate(device)[1] > MOST_COST else None


@lru_cache(maxsize=256)
def _program(source: str, behaviour: ServedBehaviour, version: str) -> Program:
    variables = {"device": _device(behaviour.applies("devices-of-several-claims"))}
    return Environment(behaviour, variables, version=version, bindings=True).compile(source)


def _selector(*, stored: bool) -> Check:
    """The check of a selector of devices; ``stored`` tells whether it was there before."""

    def validate(behaviour: ServedBehaviour, path: str, source: str) -> Errors:
        fault = _fault(source, behaviour, own_version(behaviour) if stored else written_version(behaviour))
        if fault:
            yield invalid_value(path, source, fault)
        elif fault is not None:
            yield forbidden_field(path, "too complex, exceeds cost limit")

    return row(
        "cel",
        must.be_given(pointer=True),
        row("expression", must.have_at_most_bytes(_LONGEST_EXPRESSION), by(validate), zero=""),
    )


_LONGEST_EXPRESSION: Final = 10 * 1024
MOST_REQUESTS: Final = 32
MOST_CONFIGURATIONS: Final = 32
SELECTORS: Final = row("selectors", list_of(MOST_REQUESTS, _selector(stored=False)))
STORED_SELECTORS: Final = row("selectors", list_of(MOST_REQUESTS, _selector(stored=True)))
_MODES: Final = ("All", "ExactCount")
_ONE: Final = "exactly one of `exactly` or `firstAvailable` is required"
_UNNAMED: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)

Names = Mapping[str, Sequence[str]]
"""The names of requests, each with those of its alternatives."""


def defaulted_devices(devices: Object) -> Object:
    """The requests of a claim with how many devices they want."""
    requests = devices.get("requests")
    return {**devices, "requests": [_defaulted(one) for one in requests]} if requests else devices


def _defaulted(request: Object) -> Object:
    found = dict(request)
    if found.get("exactly") is not None:
        found["exactly"] = _counted(found["exactly"])
    if found.get("firstAvailable"):
        found["firstAvailable"] = [_counted(one) for one in found["firstAvailable"]]
    return found


def _counted(request: Object) -> Object:
    mode = request.get("allocationMode") or "ExactCount"
    count = {"count": 1} if mode == "ExactCount" and not request.get("count") else {}
    found = {**request, "allocationMode": mode, **count}
    if request.get("tolerations"):
        found["tolerations"] = [{**one, "operator": one.get("operator") or "Equal"} for one in request["tolerations"]]
    return found


def request_names(devices: Object) -> Names:
    """The names that constraints and configurations of a claim may use."""
    return {
        one.get("name") or "": [each.get("name") or "" for each in one.get("firstAvailable") or ()]
        for one in devices.get("requests") or ()
    }


def validate_devices(behaviour: ServedBehaviour, path: str, devices: Object) -> Sequence[FieldError]:
    """The errors of the ``devices`` of a claim."""
    names = references_to(request_names(devices))
    rules = table(
        _REQUESTS,
        row("constraints[]", table(row("requests", names), _CONSTRAINT)),
        row("config[]", row("requests", names), OPAQUE),
    )
    return placed(path, rules(behaviour, devices))


_NAME: Final = field_of("name")
_TOLERATION: Final = table(
    row("key", QUALIFIED),
    row(
        "value",
        must.hold(lambda value: not value, "must be empty for operator `Exists`"),
        when=fields.equal("operator", "Exists"),
    ),
    row("value", must.be(label_value), when=fields.equal("operator", "Equal"), zero=""),
    row("operator", REQUIRED, must.be_one_of("Equal", "Exists")),
    row("effect", EFFECT),
)
_ALL, _COUNTED = fields.equal("allocationMode", "All"), fields.equal("allocationMode", "ExactCount")
_EXACT: Final = table(
    row("deviceClassName", REQUIRED, SUBDOMAIN),
    SELECTORS,
    row("allocationMode", must.be_one_of(*_MODES), zero=""),
    row(
        "count",
        must.hold(lambda count: not count, "must not be specified when allocationMode is 'All'"),
        when=_ALL,
    ),
    row("count", must.be_above_zero, when=_COUNTED, zero=0),
    row("tolerations[]", _TOLERATION),
)
_ALTERNATIVES: Final = set_of(8, table(NAME, _EXACT), _NAME, "name")


def _validate_kind(behaviour: ServedBehaviour, path: str, request: Object) -> Errors:
    """The errors of the one kind of request that there must be."""
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    several = exactly is not None and bool(alternatives)
    if not several or not behaviour.applies("one-kind-of-request-read"):
        if alternatives:
            yield from placed(f"{path}.firstAvailable", _ALTERNATIVES(behaviour, alternatives))
        if exactly is not None:
            yield from placed(f"{path}.exactly", _EXACT(behaviour, exactly))
    if several:
        yield invalid_value(path, None, f"{_ONE}, but multiple fields are set")
    elif exactly is None and not alternatives:
        yield required(path, _ONE)


_REQUESTS: Final = row("requests", set_of(MOST_REQUESTS, table(NAME, by(_validate_kind)), _NAME, "name"))


def _validate_constraint(behaviour: ServedBehaviour, path: str, constraint: Object) -> Errors:
    for name in ("matchAttribute", "distinctAttribute"):
        if constraint.get(name) is not None:
            yield from placed(f"{path}.{name}", FULLY_QUALIFIED(behaviour, constraint[name]))
            return
    if behaviour.applies("distinct-attributes-of-devices"):
        both = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        yield required(path, both)
    else:
        yield required(f"{path}.matchAttribute")


_CONSTRAINT: Final = by(_validate_constraint)


def references_to(names: Names) -> Check:
    """The check of names of requests, each of which the claim must have."""
    return set_of(MOST_REQUESTS, reference_to(names))


def reference_to(names: Names) -> Check:
    """The check of the name of a request, or of one and its alternative."""

    def validate(behaviour: ServedBehaviour, path: str, name: str) -> Errors:
        request, *alternatives = name.split("/")
        if len(alternatives) > 1:
            yield invalid_value(path, name, _UNNAMED)
            return
        for part in (request, *alternatives):
            yield from placed(path, LABEL(behaviour, part))
        if request not in names or any(one not in names[request] for one in alternatives):
            yield invalid_value(path, name, _UNNAMED)

    return by(validate)


def without_empty_list(part: Object, name: str) -> Draft:
    """The spec or allocation of a claim without a list of its devices that is empty.

    Examples
    --------
    >>> without_empty_list({"devices": {"requests": []}}, "requests")
    {'devices': {}}
    """
    draft = dict(part)
    if "devices" in draft:
        without_empty(own_copy(draft, "devices"), (name,))
    return draft


def without_empty_requests(spec: Object) -> Draft:
    """The spec of a claim with null in place of an empty list of requests.

    Examples
    --------
    >>> without_empty_requests({"devices": {"requests": []}})
    {'devices': {'requests': None}}
    """
    draft = dict(spec)
    if "devices" in draft:
        null_where_empty(own_copy(draft, "devices"), "requests")
    return draft


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


def validate_claim_status(behaviour: ServedBehaviour, claim: Object, old: Object | None) -> Errors:
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

    def validate(behaviour: ServedBehaviour, path: str, device: Object) -> Errors:
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


def _validate_share(behaviour: ServedBehaviour, path: str, uid: str) -> Errors:
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
    row("conditions", CONDITIONS),
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
