"""Strategy of ResourcePoolStatusRequest: validation, the answer in its status, printer columns.

Follows ``pkg/registry/resource/resourcepoolstatusrequest/strategy.go`` and the markers of
``k8s.io/api/resource/v1alpha3/types.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.cells import NONE, created
from simkit.kinds.parts.copy_on_write import keep_all_but_own_status, missing
from simkit.kinds.parts.devices.names import POOL_IN_SEGMENTS
from simkit.kinds.parts.go_printing.structures import internal_json
from simkit.kinds.parts.validation.fields import CONDITIONS, shown_conditions
from simkit.kinds.rules import FIXED, REQUIRED, at_root, by, fixed, must, placed, row, table, validation
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, invalid_value, required, too_many
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Draft, Object, at, name_of

_USUAL_LIMIT: Final = 100
_MOST_POOLS: Final = 1000
_SHOWN: Final = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    if old is None:
        draft.pop("status", None)


def _validate_driver(behaviour: ServedBehaviour, path: str, driver: str) -> Errors:
    if not driver:
        yield required(path)
    for text in dns_subdomain(driver.lower()) if driver else ():
        told = (
            text.replace("a lowercase RFC", "an RFC").replace("lower case ", "").replace("example.com", "Example.com")
        )
        yield invalid_value(path, driver, told)


def _hidden(spec: Object) -> None:
    """The value of the error of a changed spec, which shows none."""


_AT_LEAST_1: Final = must.be_at_least(1)
_RULES: Final = validation(
    created=(
        row("spec.driver", by(_validate_driver), zero=""),
        row("spec.poolName", POOL_IN_SEGMENTS, empty=True),
        row("spec.limit", _AT_LEAST_1, must.be_at_most(1000)),
    ),
    changed=fixed("spec", zero={}, shown=_hidden),
)


def _validate_status(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    """The errors of an answer, which is given once."""
    status, before = obj.get("status"), (old or {}).get("status")
    if before is not None and status != before:
        shown = internal_json(behaviour.minor, "*resource.ResourcePoolStatusRequestStatus", status)
        if status is not None and status.get("conditions"):
            shown["Conditions"] = shown_conditions(status["conditions"])
        yield invalid_value("status", shown, FIXED)
    elif before is None and status is not None:
        yield from placed("status.conditions", CONDITIONS(behaviour, status.get("conditions") or ()))
    if status is not None and status != before:
        yield from _validate_answer(behaviour, obj, before or {})


_POOL: Final = table(
    row("driver", by(_validate_driver), zero=""),
    row("poolName", REQUIRED, POOL_IN_SEGMENTS),
    row("generation", REQUIRED),
    row("generation", must.be_nonnegative),
    row("resourceSliceCount", _AT_LEAST_1),
    *(
        row(name, must.be_nonnegative)
        for name in ("totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices")
    ),
    row("nodeName", must.be(dns_subdomain), empty=True),
    row("validationError", must.have_at_most_bytes(256)),
)
_COUNT: Final = row("status.poolCount", must.be_given(pointer=True), must.be_nonnegative)
_FEW: Final = row("status.conditions", must.have_at_most(10))


def _validate_answer(behaviour: ServedBehaviour, obj: Object, before: Object) -> Errors:
    yield from at_root(_COUNT(behaviour, obj))
    pools, known = at(obj, "status", "pools") or (), before.get("pools") or ()
    if len(pools) > _MOST_POOLS:
        yield too_many("status.pools", len(pools), _MOST_POOLS)
        pools = ()
    for index, pool in enumerate(pools):
        if pool not in known:
            yield from placed(f"status.pools[{index}]", _POOL(behaviour, pool))
    yield from at_root(_FEW(behaviour, obj))


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
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
    default=missing("spec", {"limit": _USUAL_LIMIT}),
    prepare=_prepare,
    validate=_RULES,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_own_status, _validate_status)},
    status_reset_fields=(("metadata",),),
    allow_unconditional_update=False,
)
