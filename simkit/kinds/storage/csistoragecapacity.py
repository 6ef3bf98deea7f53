"""Strategy of CSIStorageCapacity: validation, warnings, printer columns.

Follows ``pkg/registry/storage/csistoragecapacity/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.go_printing.syntax import selector as shown_selector
from simkit.kinds.parts.validation.deprecated_node_labels import selector_warnings
from simkit.kinds.parts.validation.fields import FIXED, validate_immutable_field, validate_text
from simkit.kinds.parts.validation.label_selector import validate_label_selector
from simkit.kinds.parts.validation.resource_quantities import validate_nonnegative_quantity
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object, metadata, name_of


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj))


def _validate_change(obj: Object, old: Object) -> Sequence[FieldError]:
    errors: list[FieldError] = []
    topology = obj.get("nodeTopology")
    if topology != old.get("nodeTopology"):
        shown = shown_selector(topology) if topology is not None else None
        errors.append(invalid_value("nodeTopology", shown, FIXED))
    errors += validate_immutable_field("storageClassName", obj.get("storageClassName"), old.get("storageClassName"))
    return errors


def _checked_once() -> bool:
    return applies("storage-capacities-checked-once")


def _validate_fields(obj: Object) -> Iterator[FieldError]:
    yield from validate_label_selector(obj.get("nodeTopology"), "nodeTopology")
    yield from validate_text("storageClassName", obj.get("storageClassName") or "", dns_subdomain)
    if obj.get("capacity") is not None:
        yield from validate_nonnegative_quantity("capacity", obj["capacity"])


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    if not applies("node-labels-of-classes-warned"):
        return ()
    return list(selector_warnings("nodeTopology", obj.get("nodeTopology") or {}))


def _row(obj: Object, now: float) -> Sequence[Any]:
    return [name_of(obj), metadata(obj).get("creationTimestamp")]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    validate=_validate,
    validate_last=_validate_change,
    checks_new_once=_checked_once,
    warnings=_warnings,
    print_row=_row,
    allow_unconditional_update=False,
)
