"""Strategy of ResourceClaim: defaulting, preparation, validation, printer columns.

Follows ``pkg/registry/resource/resourceclaim/strategy.go``, releases 1.30 and 1.36: up to 1.30 claims name a class of
resources, and later they request devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from simkit.kinds.parts.cells import by_release, columns
from simkit.kinds.parts.copy_on_write import (
    keep_all_but_own_status,
    null_where_empty,
    own_copy,
    own_items,
    without_empty,
)
from simkit.kinds.parts.devices.device import device_key
from simkit.kinds.parts.devices.requests import (
    defaulted_devices,
    validate_claim_status,
    validate_devices,
    without_empty_list,
    without_empty_requests,
)
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.strategy import WHOLE, MetadataCheck, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value
from simkit.meta.objects import Draft, Object, at, metadata

_UNREAD: Final = "changed-claims-of-devices-unread"
_ADMIN: Final = label("admin-access", "resource")
_ADMIN_NEEDS: Final = f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = dict(draft.get("spec") or {})
    if behaviour.applies("claims-of-devices"):
        spec["devices"] = defaulted_devices(spec.get("devices") or {})
    else:
        spec["allocationMode"] = spec.get("allocationMode") or "WaitForFirstConsumer"
    draft["spec"] = spec


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    if old is None:
        draft["status"] = {}
    else:
        _drop_deallocated(draft, old)


def _drop_deallocated(draft: Draft, old: Object) -> None:
    """Remove what drivers told about devices that are no longer allocated."""
    told = at(draft, "status", "devices")
    freed = _allocated(old) - _allocated(draft)
    if not told or not freed:
        return
    status = own_copy(draft, "status")
    status["devices"] = [device for device in told if device_key(device) not in freed]
    without_empty(status, ("devices",))


def _allocated(claim: Object) -> set[tuple[str, ...]]:
    return {device_key(one) for one in at(claim, "status", "allocation", "devices", "results") or ()}


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Sequence[FieldError]:
    if not behaviour.applies("claims-of-devices"):
        return ()
    spec = obj.get("spec") or {}
    if old is None or _twice(behaviour):
        return [*validate_devices(behaviour, "spec.devices", spec.get("devices") or {})]
    return ()


def _twice(behaviour: ServedBehaviour) -> bool:
    """True if an update validates the claim like a new one, and then once more as a change."""
    return not behaviour.applies(_UNREAD)


def _validate_change(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
    spec = obj.get("spec") or {}
    if not behaviour.applies("claims-of-devices"):
        return ()
    changed = without_empty_requests(spec) != old.get("spec")
    shown = structure("resource.ResourceClaimSpec", spec)
    errors = [invalid_value("spec", shown, "field is immutable")] if changed else []
    return [*errors, *(_validate(behaviour, obj, old) if _twice(behaviour) else ())]


def _canonicalize(draft: Draft) -> None:
    draft["spec"] = without_empty_requests(draft.get("spec") or {})
    allocation = at(draft, "status", "allocation")
    if allocation:
        own_copy(draft, "status")["allocation"] = without_empty_list(allocation, "results")
    if at(draft, "status", "devices"):
        for device in own_items(own_copy(draft, "status"), "devices"):
            null_where_empty(device, "conditions")


def admin_errors(behaviour: ServedBehaviour, claim: Object, labels: Mapping[str, str]) -> Sequence[FieldError]:
    """The errors of requests for devices that are in use, which need a namespace that is labelled for it."""
    if labels.get(_ADMIN) == "true" or not behaviour.applies("admin-access-to-devices"):
        return ()
    for index, request in enumerate(at(claim, "spec", "devices", "requests") or ()):
        if at(request, "exactly", "adminAccess"):
            path = f"spec.devices.requests[{index}].adminAccess"
            return [forbidden_field(path, _ADMIN_NEEDS)]
    return ()


def admin_status_errors(
    behaviour: ServedBehaviour, claim: Object, old: Object, labels: Mapping[str, str]
) -> list[FieldError]:
    """The errors of allocated devices that are in use, as of requests for them."""
    if labels.get(_ADMIN) == "true" or not behaviour.applies("admin-access-to-devices") or _admin_path(old):
        return []
    path = _admin_path(claim)
    return [forbidden_field(path, _ADMIN_NEEDS)] if path else []


def _admin_path(claim: Object) -> str:
    """The place of the first allocated device that is in use; empty if none is."""
    for index, result in enumerate(at(claim, "status", "allocation", "devices", "results") or ()):
        if result.get("adminAccess"):
            return f"status.allocation.devices.results[{index}].adminAccess"
    return ""


def _states(obj: Object) -> str:
    status = obj.get("status") or {}
    allocated, reserved = status.get("allocation") is not None, bool(status.get("reservedFor"))
    states = ["deleted"] if metadata(obj).get("deletionTimestamp") else []
    states += ["allocated"] if allocated else [] if states else ["pending"]
    if allocated and reserved:
        states.append("reserved")
    elif allocated and (states[0] == "deleted" or status.get("deallocationRequested")):
        states.append("deallocating")
    return ",".join(states)


STRATEGY = Strategy(
    metadata_checks=MetadataChecks(
        (WHOLE, MetadataCheck(whole=False, since=_UNREAD)), after=(MetadataCheck(whole=False, until=_UNREAD),)
    ),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    validate_last=_validate_change,
    canonicalize=_canonicalize,
    validate_in_namespace=admin_errors,
    print_row=by_release(
        "claims-of-devices", columns(_states), columns("spec.resourceClassName", "spec.allocationMode", _states)
    ),
    subresources={"status": Subresource(keep_all_but_own_status, validate_claim_status, owns_all=True)},
    status_reset_fields=(("metadata",),),
    reset_fields=lambda behaviour: {} if behaviour.applies("metadata-of-claims-reset") else {"status": ("spec",)},
    return_deleted_object=True,
)
