"""Strategy of VolumeAttributesClass: validation and printer columns.

Follows ``pkg/registry/storage/volumeattributesclass/strategy.go`` and ``pkg/apis/storage/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.volume.class_parameters import validate_parameters, validate_provisioner
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataCheck, MetadataChecks, Strategy
from simkit.meta.behaviour import applies
from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, forbidden_field, required
from simkit.meta.objects import Object, annotations_of, name_of

_DEFAULT = label("is-default-class", "volumeattributesclass.alpha")


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    if old is None:
        return list(_validate_fields(obj))
    before = () if _once() else _validate_fields(obj)
    return [*before, *_changes(obj, old)]


def _once() -> bool:
    return not applies("changed-attribute-classes-checked-twice")


def _validate_again(obj: Object, old: Object) -> Sequence[FieldError]:
    """The errors of the new object as a whole, which follow those of the change."""
    return list(_validate_fields(obj))


def _validate_fields(obj: Object) -> Iterator[FieldError]:
    yield from validate_provisioner("driverName", obj.get("driverName") or "")
    if not obj.get("parameters"):
        yield required("parameters", "must contain at least one key/value pair")
    else:
        yield from validate_parameters(obj["parameters"])


def _changes(obj: Object, old: Object) -> Iterator[FieldError]:
    if obj.get("driverName") != old.get("driverName"):
        yield forbidden_field("driverName", "updates to driverName are forbidden.")
    if (obj.get("parameters") or {}) != (old.get("parameters") or {}):
        yield forbidden_field("parameters", "updates to parameters are forbidden.")


def _row(obj: Object, now: float) -> Sequence[Any]:
    chosen = " (default)" if annotations_of(obj).get(_DEFAULT) == "true" else ""
    return [name_of(obj) + chosen, obj.get("driverName") or "", created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((MetadataCheck(whole=True, until=_once), CHANGES), after=(WHOLE,)),
    validate=_validate,
    validate_last=_validate_again,
    print_row=_row,
    return_deleted_object=True,
)
