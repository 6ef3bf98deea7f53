"""Strategy of ResourcePoolStatusRequest: validation, the answer in its status, printer columns.

Follows ``pkg/registry/resource/resourcepoolstatusrequest/strategy.go`` and the markers of
``k8s.io/api/resource/v1alpha3/types.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import keep_all_but_own_status
from simkit.kinds.parts.devices.names import validate_pool_parts
from simkit.kinds.parts.go_printing.internal_json import internal_json
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.validation.conditions import shown_conditions, validate_conditions
from simkit.kinds.parts.validation.fields import FIXED
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.fielderror import FieldError, invalid_value, required, too_long, too_many
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_USUAL_LIMIT: Final = 100
_MOST_POOLS: Final = 1000
_MOST_CONDITIONS: Final = 10
_LONGEST_ERROR: Final = 256
_DEVICES: Final = ("totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices")
_SHOWN: Final = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")


def _default(draft: Draft) -> None:
    spec = draft["spec"] = dict(draft.get("spec") or {})
    if spec.get("limit") is None:
        spec["limit"] = _USUAL_LIMIT


def _prepare(draft: Draft, old: Object | None) -> None:
    if old is None:
        draft.pop("status", None)


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    spec = obj["spec"]
    if old is not None:
        return [] if spec == (old.get("spec") or {}) else [invalid_value("spec", None, FIXED)]
    errors = list(_validate_driver("spec.driver", spec.get("driver") or ""))
    if spec.get("poolName") is not None:
        errors += validate_pool_parts("spec.poolName", spec["poolName"])
    return errors + list(_validate_range("spec.limit", spec.get("limit"), 1, 1000))


def _validate_driver(path: str, driver: str) -> Iterator[FieldError]:
    if not driver:
        yield required(path)
    for text in dns_subdomain(driver.lower()) if driver else ():
        told = (
            text.replace("a lowercase RFC", "an RFC").replace("lower case ", "").replace("example.com", "Example.com")
        )
        yield invalid_value(path, driver, told)


def _validate_range(path: str, number: int | None, least: int, most: int | None = None) -> Iterator[FieldError]:
    if number is not None and number < least:
        yield invalid_value(path, number, f"must be greater than or equal to {least}")
    if number is not None and most is not None and number > most:
        yield invalid_value(path, number, f"must be less than or equal to {most}")


def _validate_status(obj: Object, old: Object | None) -> Sequence[FieldError]:
    """The errors of an answer, which is given once."""
    status, before = obj.get("status"), (old or {}).get("status")
    errors = list[FieldError]()
    if before is not None and status != before:
        shown = internal_json("*resource.ResourcePoolStatusRequestStatus", status)
        if status is not None and status.get("conditions"):
            shown["Conditions"] = shown_conditions(status["conditions"])
        errors.append(invalid_value("status", shown, FIXED))
    elif before is None and status is not None:
        errors += validate_conditions("status.conditions", status.get("conditions") or ())
    if status is not None and status != before:
        errors += _validate_answer(status, before or {})
    return errors


def _validate_answer(status: Object, before: Object) -> Iterator[FieldError]:
    if status.get("poolCount") is None:
        yield required("status.poolCount")
    yield from _validate_range("status.poolCount", status.get("poolCount"), 0)
    pools, conditions = (status.get(name) or () for name in ("pools", "conditions"))
    if len(pools) > _MOST_POOLS:
        yield too_many("status.pools", len(pools), _MOST_POOLS)
        pools = ()
    known = before.get("pools") or ()
    for index, pool in enumerate(pools):
        if pool not in known:
            yield from _validate_pool(f"status.pools[{index}]", pool)
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many("status.conditions", len(conditions), _MOST_CONDITIONS)


def _validate_pool(path: str, pool: Object) -> Iterator[FieldError]:
    yield from _validate_driver(f"{path}.driver", pool.get("driver") or "")
    if not pool.get("poolName"):
        yield required(f"{path}.poolName")
    else:
        yield from validate_pool_parts(f"{path}.poolName", pool["poolName"])
    if not pool.get("generation"):
        yield required(f"{path}.generation")
    yield from _validate_range(f"{path}.generation", pool.get("generation"), 0)
    yield from _validate_range(f"{path}.resourceSliceCount", pool.get("resourceSliceCount"), 1)
    for name in _DEVICES:
        yield from _validate_range(f"{path}.{name}", pool.get(name), 0)
    node = pool.get("nodeName")
    if node is not None:
        yield from (invalid_value(f"{path}.nodeName", node, text) for text in dns_subdomain(node))
    if len((pool.get("validationError") or "").encode()) > _LONGEST_ERROR:
        yield too_long(f"{path}.validationError", _LONGEST_ERROR)


def _row(obj: Object, now: float) -> Sequence[Any]:
    status = obj.get("status")
    ended = None if status is None else _end(status)
    state, counts, completed = "Pending" if ended is None else ended["type"], ["-"] * (len(_SHOWN) + 1), NONE
    pools, count = (at(obj, "status", "pools") or (), at(obj, "status", "poolCount") or 0)
    if ended is not None and state == "Complete":
        completed = created({"metadata": {"creationTimestamp": ended.get("lastTransitionTime")}}, now)
        state = f"Complete ({len(pools)}/{count} pools)" if count > len(pools) else state
    if status is not None and state != "Failed":
        counts = [str(sum(pool.get(name) or 0 for pool in pools)) for name in _SHOWN]
        counts.append(str(sum(pool.get("validationError") is not None for pool in pools)))
    return [name_of(obj), at(obj, "spec", "driver") or "", *counts, count, state, completed]


def _end(status: Object) -> Object | None:
    """The condition that tells how a request ended."""
    conditions: Sequence[Object] = status.get("conditions") or ()
    ends = ("Complete", "Failed")
    return next((each for each in conditions if each.get("type") in ends and each.get("status") == "True"), None)


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,)),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
    status_reset_fields=(("metadata",),),
    allow_unconditional_update=False,
)
