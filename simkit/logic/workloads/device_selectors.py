"""Expressions that select devices, evaluated for one device.

Upstream: k8s.io/dynamic-resource-allocation/cel (``DeviceMatches``), release 1.34.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.kinds.parts.devices.requests import MOST_COST, device_program
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.lib_quantity import quantity
from simkit.language.cel.lib_semver import semver
from simkit.meta.behaviour import ServedBehaviour

_KINDS: Final = ("int", "bool", "string", "version")


class _ByDomain(dict[str, Mapping[str, Any]]):
    """Values by domain and name; a domain that nothing is known of has none."""

    cel_kind = "map"

    def __missing__(self, domain: str) -> Mapping[str, Any]:
        return {}


def selects_device(behaviour: ServedBehaviour, expression: str, driver: str, device: Mapping[str, Any]) -> bool:
    """True if an expression selects a device as a slice has it. Raises CompileError or EvaluationError."""
    program = device_program(behaviour, expression)
    found = program.evaluate({"device": _variable(driver, device)}, budget=MOST_COST).value
    if not isinstance(found, bool):
        raise EvaluationError(f"CEL result of type {type(found).__name__} could not be converted to bool")
    return found


def _variable(driver: str, device: Mapping[str, Any]) -> Mapping[str, Any]:
    attributes, capacity = _ByDomain(), _ByDomain()
    for name, value in (device.get("attributes") or {}).items():
        _put(attributes, driver, name, _attribute(name, value))
    for name, amount in (device.get("capacity") or {}).items():
        _put(capacity, driver, name, quantity(str(amount.get("value") or "0")))
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
    }


def _put(found: _ByDomain, driver: str, name: str, value: Any) -> None:
    domain, separator, short = name.partition("/")
    if not separator:
        domain, short = driver, name
    found[domain] = {**found[domain], short: value}


def _attribute(name: str, value: Mapping[str, Any]) -> Any:
    kind = next((each for each in _KINDS if value.get(each) is not None), "")
    if not kind:
        raise EvaluationError(f"attribute {name}: unsupported attribute value")
    return semver(value[kind]) if kind == "version" else value[kind]
