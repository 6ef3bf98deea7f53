"""Strategy of VolumeAttributesClass: validation and printer columns.

Follows ``pkg/registry/storage/volumeattributesclass/strategy.go`` and ``pkg/apis/storage/validation/validation.go``,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.volume.persistent_spec import validate_parameters, validate_provisioner
from simkit.kinds.rules import by, changes, fixed, last, must, row, table, validation, whole
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataCheck, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.objects import Object, annotations_of, name_of

_DEFAULT = label("is-default-class", "volumeattributesclass.alpha")


_TWICE: Final = "changed-attribute-classes-checked-twice"
_FIELDS: Final = table(
    row("driverName", by(validate_provisioner), zero=""),
    row("parameters", must.be_given("must contain at least one key/value pair"), by(validate_parameters)),
)


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    chosen = " (default)" if annotations_of(obj).get(_DEFAULT) == "true" else ""
    return [name_of(obj) + chosen, obj.get("driverName") or "", created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((MetadataCheck(whole=True, since=_TWICE), CHANGES), after=(WHOLE,)),
    validate=validation(
        created=(_FIELDS,),
        changed=changes(
            whole(_FIELDS, since=_TWICE),
            fixed("driverName", detail="updates to driverName are forbidden.", forbidden=True),
            fixed("parameters", zero={}, detail="updates to parameters are forbidden.", forbidden=True),
        ),
    ),
    validate_last=last(whole(_FIELDS)),
    print_row=_row,
    return_deleted_object=True,
)
