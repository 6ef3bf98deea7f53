"""Strategy of CSINode: validation and printer columns.

Follows ``pkg/registry/storage/csinode/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simkit.kinds.parts.copy_on_write import null_where_empty, own_copy, own_items
from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.pod.validation.volumes import DRIVER
from simkit.kinds.parts.printers.cells import columns, count
from simkit.kinds.parts.validation.fields import repeats, validate_text
from simkit.kinds.rules import REQUIRED, by, distinct, must, row, validation
from simkit.kinds.strategy import WHOLE, MetadataCheck, MetadataChecks, Strategy, again
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required
from simkit.meta.name_validation import qualified_name
from simkit.meta.objects import Draft, Object, at
from simkit.meta.wording import Written


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    spec = own_copy(draft, "spec")
    null_where_empty(spec, "drivers")
    for driver in own_items(spec, "drivers"):
        null_where_empty(driver, "topologyKeys")


def _validate_change(behaviour: ServedBehaviour, obj: Object, old: Object) -> Sequence[FieldError]:
    path = "spec.drivers" if behaviour.applies("driver-errors-name-list") else "CSINodeDriver"
    return [
        invalid_value(path, _shown(_fixed(behaviour, driver)), "field is immutable")
        for before in at(old, "spec", "drivers") or ()
        for driver in obj["spec"].get("drivers") or ()
        if driver["name"] == before["name"] and _fixed(behaviour, driver) != _fixed(behaviour, before)
    ]


def _fixed(behaviour: ServedBehaviour, driver: Object) -> Object:
    """A driver without what may change."""
    if not behaviour.applies("volume-counts-of-nodes-change"):
        return driver
    return {name: value for name, value in driver.items() if name != "allocatable"}


def _validate_keys(behaviour: ServedBehaviour, path: str, driver: Object) -> Iterator[FieldError]:
    """The errors of the topology keys of a driver; kube-apiserver names the driver, not the keys."""
    keys = driver.get("topologyKeys") or ()
    again = repeats(keys)
    for index, key in enumerate(keys):
        if not key:
            yield required(path)
        if index in again:
            yield duplicate(path, key)
        yield from validate_text(path, key, qualified_name)


def _shown(driver: Object) -> Written:
    return structure("storage.CSINodeDriver", driver)


STRATEGY = Strategy(
    metadata_checks=MetadataChecks(
        (WHOLE,),
        after=(MetadataCheck(whole=True, until="node-drivers-checked-once"), again("node-drivers-checked-once")),
    ),
    prepare=_prepare,
    validate=validation(
        row(
            "spec.drivers[]",
            row("name", DRIVER, zero=""),
            row("nodeID", REQUIRED, must.hold(lambda node: len(node) <= 256, "must be 256 characters or less")),
            row("allocatable.count", must.be_nonnegative),
            distinct("name"),
            by(_validate_keys),
        )
    ),
    validate_last=_validate_change,
    print_row=columns(count("spec.drivers")),
    allow_unconditional_update=False,
    return_deleted_object=True,
)
