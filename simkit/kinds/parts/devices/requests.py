"""Requests for devices: their defaults and validation.

Follows ``pkg/apis/resource/validation/validation.go`` and ``pkg/apis/resource/v1/defaults.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import null_where_empty, own_copy, without_empty
from simkit.kinds.parts.devices.device import taint_effects
from simkit.kinds.parts.devices.names import validate_each, validate_fully_qualified, validate_opaque, validate_set
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.object_meta import validate_qualified_name
from simkit.language.cel.decl_types import DeclType
from simkit.language.cel.environment import Environment, Program, own_version, type_named, written_version
from simkit.language.cel.errors import CompileError, InstantiationError
from simkit.language.cel.types import BOOL, STRING, Type, map_of, object_type
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, too_long, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain, label_value
from simkit.meta.objects import Draft, Object
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


def device_program(behaviour: ServedBehaviour, source: str) -> Program:
    """The program of a stored expression, whose variable is ``device``. Raises CompileError."""
    return _program(source, behaviour, own_version(behaviour))


def validate_expression(behaviour: ServedBehaviour, path: str, source: str, *, stored: bool) -> Iterator[FieldError]:
    """The error of an expression; ``stored`` tells whether it was there before."""
    fault = _fault(source, behaviour, own_version(behaviour) if stored else written_version(behaviour))
    if fault:
        yield invalid_value(path, source, fault)
    elif fault is not None:
        yield forbidden_field(path, "too complex, exceeds cost limit")


MOST_REQUESTS: Final = 32
MOST_CONFIGURATIONS: Final = 32
_MOST_ALTERNATIVES: Final = 8
_LONGEST_EXPRESSION: Final = 10 * 1024
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


def validate_devices(behaviour: ServedBehaviour, path: str, devices: Object) -> Iterator[FieldError]:
    """The errors of the ``devices`` of a claim."""
    names = request_names(devices)
    requests, constraints = devices.get("requests") or (), devices.get("constraints") or ()
    yield from validate_set(behaviour, f"{path}.requests", requests, MOST_REQUESTS, _validate_request, _name, "name")
    for index, constraint in enumerate(constraints):
        yield from _validate_constraint(behaviour, f"{path}.constraints[{index}]", constraint, names)
    for index, config in enumerate(devices.get("config") or ()):
        here = f"{path}.config[{index}]"
        yield from validate_references(behaviour, f"{here}.requests", config.get("requests") or (), names)
        yield from validate_opaque(behaviour, here, config)


def _name(item: Any) -> str:
    return item.get("name") or ""


def _validate_request(behaviour: ServedBehaviour, path: str, request: Object) -> Iterator[FieldError]:
    yield from validate_text(f"{path}.name", _name(request), dns_label)
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    several = exactly is not None and bool(alternatives)
    if not several or not behaviour.applies("one-kind-of-request-read"):
        if alternatives:
            where = f"{path}.firstAvailable"
            yield from validate_set(
                behaviour, where, alternatives, _MOST_ALTERNATIVES, _validate_alternative, _name, "name"
            )
        if exactly is not None:
            yield from _validate_exact(behaviour, f"{path}.exactly", exactly)
    if several:
        yield invalid_value(path, None, f"{_ONE}, but multiple fields are set")
    elif exactly is None and not alternatives:
        yield required(path, _ONE)


def _validate_alternative(behaviour: ServedBehaviour, path: str, request: Object) -> Iterator[FieldError]:
    yield from validate_text(f"{path}.name", _name(request), dns_label)
    yield from _validate_exact(behaviour, path, request)


def _validate_exact(behaviour: ServedBehaviour, path: str, request: Object) -> Iterator[FieldError]:
    name = request.get("deviceClassName") or ""
    if not name:
        yield required(f"{path}.deviceClassName")
    else:
        yield from validate_text(f"{path}.deviceClassName", name, dns_subdomain)
    yield from validate_selectors(behaviour, f"{path}.selectors", request.get("selectors") or ())
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode not in _MODES:
        yield unsupported(f"{path}.allocationMode", mode, _MODES)
    elif mode == "All" and count:
        yield invalid_value(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid_value(f"{path}.count", count, "must be greater than zero")
    for index, toleration in enumerate(request.get("tolerations") or ()):
        yield from _validate_toleration(behaviour, f"{path}.tolerations[{index}]", toleration)


def validate_selectors(
    behaviour: ServedBehaviour, path: str, selectors: Sequence[Object], *, stored: bool = False
) -> Iterator[FieldError]:
    """The errors of selectors of devices; ``stored`` tells whether they were there before."""

    def check(behaviour: ServedBehaviour, at: str, selector: Any) -> Iterator[FieldError]:
        if selector.get("cel") is None:
            yield required(f"{at}.cel")
            return
        source = selector["cel"].get("expression") or ""
        if len(source.encode()) > _LONGEST_EXPRESSION:
            yield too_long(f"{at}.cel.expression", _LONGEST_EXPRESSION)
        else:
            yield from validate_expression(behaviour, f"{at}.cel.expression", source, stored=stored)

    return validate_each(behaviour, path, selectors, MOST_REQUESTS, check)


def _validate_toleration(behaviour: ServedBehaviour, path: str, toleration: Object) -> Iterator[FieldError]:
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    effect = toleration.get("effect") or ""
    if toleration.get("key"):
        yield from validate_qualified_name(behaviour, f"{path}.key", toleration["key"])
    if operator == "Exists":
        if value:
            yield invalid_value(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from validate_text(f"{path}.value", value, label_value)
    elif not operator:
        yield required(f"{path}.operator")
    else:
        yield unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in taint_effects(behaviour):
        yield unsupported(f"{path}.effect", effect, taint_effects(behaviour))


def _validate_constraint(
    behaviour: ServedBehaviour, path: str, constraint: Object, names: Names
) -> Iterator[FieldError]:
    yield from validate_references(behaviour, f"{path}.requests", constraint.get("requests") or (), names)
    for name in ("matchAttribute", "distinctAttribute"):
        if constraint.get(name) is not None:
            yield from validate_fully_qualified(behaviour, f"{path}.{name}", constraint[name])
            return
    if behaviour.applies("distinct-attributes-of-devices"):
        both = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        yield required(path, both)
    else:
        yield required(f"{path}.matchAttribute")


def validate_references(
    behaviour: ServedBehaviour, path: str, given: Sequence[str], names: Names
) -> Iterator[FieldError]:
    """The errors of names of requests, each of which the claim must have."""
    return validate_set(
        behaviour, path, given, MOST_REQUESTS, lambda _, at, name: validate_reference(at, name, names), str
    )


def validate_reference(path: str, name: str, names: Names) -> Iterator[FieldError]:
    """The errors of the name of a request, or of one and its alternative."""
    request, *alternatives = name.split("/")
    if len(alternatives) > 1:
        yield invalid_value(path, name, _UNNAMED)
        return
    for part in (request, *alternatives):
        yield from validate_text(path, part, dns_label)
    if request not in names or any(one not in names[request] for one in alternatives):
        yield invalid_value(path, name, _UNNAMED)


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
