"""Strategies of DeviceClass, DeviceTaintRule, ResourceSlice and the kinds that resource claims had before them.

Follows ``pkg/registry/resource``, releases 1.30 and 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import by_release, columns, created, generated_row
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, own_copy, own_items, without_empty
from simkit.kinds.parts.devices.device import default_taint, validate_changed_taint, validate_slice
from simkit.kinds.parts.devices.names import LABEL, OPAQUE, POOL, SUBDOMAIN, list_of
from simkit.kinds.parts.devices.requests import MOST_CONFIGURATIONS, SELECTORS, STORED_SELECTORS
from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.validation.fields import CONDITIONS
from simkit.kinds.parts.validation.resource_quantities import is_extended
from simkit.kinds.rules import must, placed, row, table, validation
from simkit.kinds.strategy import (
    CHANGES,
    MetadataCheck,
    MetadataChecks,
    Strategy,
    Subresource,
    WriteContext,
    again,
    spec_differs,
)
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.fielderror import FieldError, quoted
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_UNCHECKED: Final = "prefixes-of-device-classes-unchecked"


_REST: Final = table(
    row("config", list_of(MOST_CONFIGURATIONS, OPAQUE)),
    row("extendedResourceName", must.hold(is_extended, "must be a valid extended resource name"), empty=True),
)


def _validate_device_class(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    same = old is not None and (spec.get("selectors") or ()) == (at(old, "spec", "selectors") or ())
    selectors = STORED_SELECTORS if same and behaviour.applies(_UNCHECKED) else SELECTORS
    return placed("spec", [*selectors(behaviour, spec), *_REST(behaviour, spec)])


def _validate_name(name: str, prefix: bool) -> Sequence[str]:
    return () if prefix else dns_subdomain(name)


_CHECKS: Final = (
    MetadataCheck(whole=True, until=_UNCHECKED),
    MetadataCheck(whole=True, since=_UNCHECKED, prefix=False),
    MetadataCheck(whole=False, since=_UNCHECKED),
)
_LATE: Final = (MetadataCheck(whole=False, until=_UNCHECKED), again(_UNCHECKED))


_STATUS: Final = validation(row("status.conditions", CONDITIONS), row("status.conditions", must.have_at_most(8)))


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    if old is None and behaviour.applies("device-taint-rules-tell-progress"):
        draft["status"] = {}


def _date_taint(behaviour: ServedBehaviour, draft: Draft, old: Object | None, circumstances: WriteContext) -> None:
    """Say when the taint was added: a changed effect makes it a new one."""
    taint = own_copy(draft, "spec", "taint")
    before = (at(old, "spec", "taint") or {}) if old is not None else taint
    if taint.get("effect") != before.get("effect") and taint.get("timeAdded") == before.get("timeAdded"):
        taint["timeAdded"] = timestamp(circumstances.now)
    default_taint(taint, circumstances.now)


_SELECTOR: Final = row(
    "deviceSelector",
    row("deviceClassName", SUBDOMAIN, empty=True),
    row("driver", DRIVER, empty=True),
    row("pool", POOL, empty=True),
    row("device", LABEL, empty=True),
)
_NEW, _STORED = row("deviceSelector", SELECTORS), row("deviceSelector", STORED_SELECTORS)


def _validate_device_taint_rule(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors of a rule; up to 1.34 its selector may name a class, and have expressions."""
    spec, before = obj.get("spec") or {}, {} if old is None else old.get("spec") or {}
    stored = (at(spec, "deviceSelector", "selectors") or ()) == at(before, "deviceSelector", "selectors")
    selectors = (_STORED if stored else _NEW)(behaviour, spec)
    taint = validate_changed_taint(behaviour, spec.get("taint") or {}, before.get("taint"))
    return placed("spec", [*_SELECTOR(behaviour, spec), *selectors, *placed(".taint", taint)])


def _taint_rule_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    taint = at(obj, "spec", "taint") or {}
    added = created({"metadata": {"creationTimestamp": taint["timeAdded"]}}, now) if taint.get("timeAdded") else ""
    cells = [taint.get(name) or "" for name in ("key", "value", "effect")]
    return [name_of(obj), *cells, added, created(obj, now)]


_CONDITIONS: Final = ("bindingConditions", "bindingFailureConditions")


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    """Forget conditions that are empty lists; errors tell them from none where a device has the others."""
    if any(any(device.get(name) == [] for name in _CONDITIONS) for device in at(draft, "spec", "devices") or ()):
        for device in own_items(own_copy(draft, "spec"), "devices"):
            if not any(device.get(name) for name in _CONDITIONS):
                without_empty(device, _CONDITIONS)


def _date_taints(behaviour: ServedBehaviour, draft: Draft, old: Object | None, circumstances: WriteContext) -> None:
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


STRATEGIES: Final = {
    "DeviceClass": Strategy(
        metadata_checks=MetadataChecks(_CHECKS, after=_LATE),
        validate_name_since=(_UNCHECKED, _validate_name),
        validate=_validate_device_class,
        raises_generation=spec_differs,
        print_row=columns(),
        return_deleted_object=True,
    ),
    "DeviceTaintRule": Strategy(
        metadata_checks=MetadataChecks((CHANGES,)),
        prepare=_prepare,
        prepare_with_context=_date_taint,
        validate=_validate_device_taint_rule,
        raises_generation=spec_differs,
        print_row=_taint_rule_row,
        subresources={"status": Subresource(keep_all_but_own_status, _STATUS)},
        status_reset_fields=(("metadata",),),
    ),
    "PodSchedulingContext": Strategy(print_row=columns("spec.selectedNode")),
    "ResourceClaimParameters": Strategy(print_row=generated_row),
    "ResourceClass": Strategy(print_row=columns("driverName")),
    "ResourceClassParameters": Strategy(print_row=generated_row),
    "ResourceSlice": Strategy(
        default=_default,
        metadata_checks=MetadataChecks((CHANGES,)),
        prepare_with_context=_date_taints,
        validate=_validate,
        warnings=_warnings,
        raises_generation=spec_differs,
        counts_dropped_fields=True,
        print_row=by_release(
            "claims-of-devices",
            columns("spec.nodeName", "spec.driver", "spec.pool.name"),
            columns("nodeName", "driverName"),
        ),
        return_deleted_object=True,
    ),
}
