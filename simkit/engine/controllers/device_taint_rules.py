"""Rules that taint devices: which count at a release, and the devices that each selects.

Upstream: k8s.io/dynamic-resource-allocation/resourceslice/tracker, releases 1.34 and 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resources import DEVICE_CLASSES, DEVICE_TAINT_RULES
from simkit.logic.workloads.device_id import DeviceId
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object, at, name_of

_NAMED = ("driver", "pool", "device")


class TaintRules:
    """The rules that count, in the order of their names.

    Parameters
    ----------
    class_of
        A device class by name, which rules could name up to release 1.34.
    """

    def __init__(self, rules: Sequence[Object], class_of: Callable[[str], Object | None]) -> None:
        self.rules, self._class_of = sorted(rules, key=name_of), class_of

    def alone(self, rule: Object) -> TaintRules:
        """One rule, as if there were no others."""
        return TaintRules([rule], self._class_of)

    def taints(self, device: DeviceId, published: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The taints that the rules add to a published device. A rule without a selector taints every device."""
        return [at(each, "spec", "taint") or {} for each in self.rules if self._selects(each, device, published)]

    def evicting(self, device: DeviceId, published: Mapping[str, Any] | None) -> list[Object]:
        """The rules by which a device that a claim has is tainted with NoExecute.

        A rule by class needs to know the device; one without a selector evicts nobody since release 1.35.
        """
        by_class = applies("rules-taint-devices-by-class")
        return [
            each
            for each in self.rules
            if at(each, "spec", "taint", "effect") == "NoExecute"
            and (published is not None if by_class else at(each, "spec", "deviceSelector") is not None)
            and self._selects(each, device, published or {})
        ]

    def _selects(self, rule: Object, device: DeviceId, published: Mapping[str, Any]) -> bool:
        selector = at(rule, "spec", "deviceSelector") or {}
        if not names_device(rule, device):
            return False
        expressions = list(selector.get("selectors") or ())
        if selector.get("deviceClassName"):
            found = self._class_of(selector["deviceClassName"])
            if found is None:
                return False
            expressions = [*(at(found, "spec", "selectors") or ()), *expressions]
        return all(_fits(str(at(each, "cel", "expression") or ""), device, published) for each in expressions)


def names_device(rule: Object, device: DeviceId) -> bool:
    """True if a rule names a device, by what it says of driver, pool and name."""
    selector = at(rule, "spec", "deviceSelector") or {}
    return all(selector.get(name) in (None, value) for name, value in zip(_NAMED, device, strict=True))


def _fits(expression: str, device: DeviceId, published: Mapping[str, Any]) -> bool:
    """True if an expression selects a device; one that fails for it does not."""
    from simkit.language.cel.errors import BudgetExceeded, CompileError, EvaluationError  # which no server loads early
    from simkit.logic.workloads.device_selectors import selects_device

    try:
        return selects_device(expression, device.driver, published)
    except (CompileError, EvaluationError, BudgetExceeded):
        return False


def rules_count() -> bool:
    """True if rules taint devices at the served release."""
    if applies("rules-taint-devices-by-class"):
        return applies("scheduler-heeds-device-taints")
    return applies("rules-taint-devices")


def taint_rules(lister: Lister) -> TaintRules:
    """The rules that count, read once for a lister."""
    return lister.once("device taint rules", lambda: _read(lister))


def _read(lister: Lister) -> TaintRules:
    if not rules_count() or DEVICE_TAINT_RULES not in lister.snapshot.captured():
        return TaintRules((), lambda _: None)
    classes = {name_of(each): each for each in lister.scan(DEVICE_CLASSES)} if _need_classes(lister) else {}
    return TaintRules(lister.scan(DEVICE_TAINT_RULES), classes.get)


def _need_classes(lister: Lister) -> bool:
    """True if rules may name classes, and these are known."""
    return applies("rules-taint-devices-by-class") and DEVICE_CLASSES in lister.snapshot.captured()
