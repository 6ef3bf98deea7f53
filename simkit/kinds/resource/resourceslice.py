"""Strategy of ResourceSlice: validation, warnings, generation, printer columns.

Follows ``pkg/registry/resource/resourceslice/strategy.go``, releases 1.30 and 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import created
from simkit.kinds.parts.copy_on_write import own_copy, own_items, without_empty
from simkit.kinds.parts.devices.device import default_taint, validate_slice
from simkit.kinds.rules import placed
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, WriteContext, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, quoted
from simkit.meta.objects import Draft, Object, at, name_of


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    if behaviour.applies("claims-of-devices"):
        spec = obj.get("spec") or {}
        return [
            name_of(obj),
            spec.get("nodeName") or "",
            spec.get("driver") or "",
            at(spec, "pool", "name") or "",
            created(obj, now),
        ]
    return [name_of(obj), obj.get("nodeName") or "", obj.get("driverName") or "", created(obj, now)]


_CONDITIONS: Final = ("bindingConditions", "bindingFailureConditions")


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    """Forget conditions that are empty lists; errors tell them from none where a device has the others."""
    if any(_has_empty_conditions(device) for device in at(draft, "spec", "devices") or ()):
        for device in own_items(own_copy(draft, "spec"), "devices"):
            if not any(device.get(name) for name in _CONDITIONS):
                without_empty(device, _CONDITIONS)


def _has_empty_conditions(device: Object) -> bool:
    return any(device.get(name) == [] for name in _CONDITIONS)


def _prepare_with_context(
    behaviour: ServedBehaviour, draft: Draft, old: Object | None, circumstances: WriteContext
) -> None:
    """Say of each taint when it was added."""
    if any(device.get("taints") for device in at(draft, "spec", "devices") or ()):
        for device in own_items(own_copy(draft, "spec"), "devices"):
            for taint in own_items(device, "taints"):
                default_taint(taint, circumstances.now)


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    if not behaviour.applies("claims-of-devices"):
        return ()
    before = None if old is None else old.get("spec") or {}
    return placed("spec", validate_slice(behaviour, obj.get("spec") or {}, before))


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[str]:
    driver = at(obj, "spec", "driver") or ""
    if driver == driver.lower() or not behaviour.applies("drivers-of-devices-in-lower-case"):
        return []
    return [f"spec.driver: driver names should be lowercase; {quoted(driver)} contains uppercase characters"]


STRATEGY = Strategy(
    default=_default,
    metadata_checks=MetadataChecks((CHANGES,)),
    prepare_with_context=_prepare_with_context,
    validate=_validate,
    warnings=_warnings,
    raises_generation=spec_differs,
    counts_dropped_fields=True,
    print_row=_row,
    return_deleted_object=True,
)
