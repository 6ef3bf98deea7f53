"""Strategy of CSINode: validation and printer columns.

Follows ``pkg/registry/storage/csinode/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.copy_on_write import null_where_empty, own_copy, own_items
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.volume_sources import validate_driver
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.fields import validate_text
from simkit.kinds.parts.validation.repeats import repeats
from simkit.kinds.strategy import WHOLE, MetadataCheck, MetadataChecks, Strategy, again
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, Shown, duplicate, invalid_value, required
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Draft, Object, at, name_of

_LONGEST_ID: Final = 256


def _prepare(draft: Draft, old: Object | None) -> None:
    spec = own_copy(draft, "spec")
    null_where_empty(spec, "drivers")
    for driver in own_items(spec, "drivers"):
        null_where_empty(driver, "topologyKeys")


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj["spec"].get("drivers") or ()))


def _validate_change(obj: Object, old: Object) -> Sequence[FieldError]:
    path = "spec.drivers" if applies("driver-errors-name-list") else "CSINodeDriver"
    return [
        invalid_value(path, _shown(_fixed(driver)), "field is immutable")
        for before in at(old, "spec", "drivers") or ()
        for driver in obj["spec"].get("drivers") or ()
        if driver["name"] == before["name"] and _fixed(driver) != _fixed(before)
    ]


def _fixed(driver: Object) -> Object:
    """A driver without what may change."""
    if not applies("volume-counts-of-nodes-change"):
        return driver
    return {name: value for name, value in driver.items() if name != "allocatable"}


def _validate_fields(drivers: Sequence[Object]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, driver in enumerate(drivers):
        path, name, node = f"spec.drivers[{index}]", driver.get("name") or "", driver.get("nodeID") or ""
        yield from validate_driver(f"{path}.name", name)
        if not node:
            yield required(f"{path}.nodeID")
        if len(node) > _LONGEST_ID:
            yield invalid_value(f"{path}.nodeID", node, f"must be {_LONGEST_ID} characters or less")
        count = at(driver, "allocatable", "count")
        if count is not None and count < 0:
            yield invalid_value(f"{path}.allocatable.count", count, "must be greater than or equal to 0")
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _validate_key(
            driver.get("topologyKeys") or (), path
        )  # kube-apiserver names the driver, not the keys


def _validate_key(keys: Sequence[str], path: str) -> Iterator[FieldError]:
    again = repeats(keys)
    for index, key in enumerate(keys):
        if not key:
            yield required(path)
        if index in again:
            yield duplicate(path, key)
        yield from validate_text(path, key, qualified_name)


def _shown(driver: Object) -> Shown:
    return structure("storage.CSINodeDriver", driver)


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), len(at(obj, "spec", "drivers") or ()), created(obj, now)]


def _once() -> bool:
    return applies("node-drivers-checked-once")


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(MetadataCheck(whole=True, until=_once), again(_once))),
    prepare=_prepare,
    validate=_validate,
    validate_last=_validate_change,
    print_row=_row,
    allow_unconditional_update=False,
    return_deleted_object=True,
)
