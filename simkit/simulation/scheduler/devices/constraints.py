"""Constraints of a claim: devices whose attribute has to be the same, or has to differ.

Upstream: k8s.io/dynamic-resource-allocation/structured (``matchAttributeConstraint``), release 1.34, and
``distinctAttributeConstraint``, release 1.36.
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
        return True

    def _fits(self, value: tuple[str, Any]) -> bool:
        return not self._values or (value in self._values) == self._same

    def remove(self, request: str) -> None:
        """Forget the device that was taken in last for a request."""
        if self.concerns(request):
            self._values.pop()


def _value(attribute: Mapping[str, Any] | None) -> tuple[str, Any] | None:
    if attribute is None:
        return None
    return next(((kind, attribute[kind]) for kind in _KINDS if attribute.get(kind) is not None), None)
