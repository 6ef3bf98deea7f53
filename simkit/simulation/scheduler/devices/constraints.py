"""Constraints of a claim: devices whose attribute has to be the same, or has to differ.

Upstream: k8s.io/dynamic-resource-allocation/structured (``matchAttributeConstraint``), release 1.34, and
``distinctAttributeConstraint``, releases 1.36 and 1.37.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.meta.behaviour import applies
from simkit.simulation.scheduler.devices.pools import Device

_KINDS: Final = ("string", "int", "bool", "version")


class AttributeConstraint:
    """One constraint, with the values of the devices that were chosen so far."""

    def __init__(self, constraint: Mapping[str, Any]) -> None:
        """Raises ValueError for a kind that the served release does not know."""
        if constraint.get("matchAttribute") is None and not applies("scheduler-shares-devices"):
            raise ValueError("empty constraint (unsupported constraint type?)")
        self._requests = frozenset(constraint.get("requests") or ())
        self._same = constraint.get("matchAttribute") is not None
        self._name = str(constraint.get("matchAttribute") or constraint.get("distinctAttribute") or "")
        self._values: list[tuple[str, Any]] = []
        self._compared: dict[str, tuple[str, Any]] = {}
        """By request what up to 1.36 new devices have to differ from: the device that was taken in last."""
        self._forgets = applies("scheduler-compares-with-last-device")

    def concerns(self, request: str) -> bool:
        """True if it is about a request, which ``parent/alternative`` names too."""
        return not self._requests or request in self._requests or request.partition("/")[0] in self._requests

    def add(self, request: str, device: Device) -> bool:
        """Take in a device for a request; False, and nothing is taken in, if it may not be added."""
        if not self.concerns(request):
            return True
        value = _value(device.attribute(self._name))
        if value is None or not self._fits(value):
            return False
        self._values.append(value)
        self._compared[request.partition("/")[0]] = value
        return True

    def _fits(self, value: tuple[str, Any]) -> bool:
        if self._same or not self._forgets:
            return not self._values or (value in self._values) == self._same
        return not self._values or value not in self._compared.values()

    def remove(self, request: str) -> None:
        """Forget the device that was taken in last for a request."""
        if self.concerns(request):
            self._values.pop()
            self._compared.pop(request.partition("/")[0], None)


def _value(attribute: Mapping[str, Any] | None) -> tuple[str, Any] | None:
    if attribute is None:
        return None
    return next(((kind, attribute[kind]) for kind in _KINDS if attribute.get(kind) is not None), None)
