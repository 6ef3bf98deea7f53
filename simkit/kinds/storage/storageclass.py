"""Strategy of StorageClass: defaulting, validation, warnings, printer columns.

Follows ``pkg/registry/storage/storageclass/strategy.go`` and ``pkg/apis/storage/validation/validation.go``, release
1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.syntax import text_map
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.deprecated_node_labels import deprecation
from simkit.kinds.parts.validation.fields import FIXED, validate_immutable_field
from simkit.kinds.parts.volume.class_parameters import validate_parameters, validate_provisioner
from simkit.kinds.parts.volume.topology import validate_topology
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import applies
from simkit.meta.domain import label
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, unsupported
from simkit.meta.objects import Draft, Object, annotations_of, name_of

DEFAULT: Final = label("is-default-class", "storageclass")
_OLDER: Final = label("is-default-class", "storageclass.beta")
_POLICIES: Final = ("Delete", "Retain")
_MODES: Final = ("Immediate", "WaitForFirstConsumer")


def _default(draft: Draft) -> None:
    draft.setdefault("reclaimPolicy", "Delete")
    draft.setdefault("volumeBindingMode", "Immediate")


def _warnings(obj: Object, old: Object | None) -> Sequence[str]:
    if not applies("node-labels-of-classes-warned"):
        return ()
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {deprecation(one.get('key') or '')}"
        for index, term in enumerate(obj.get("allowedTopologies") or ())
        for number, one in enumerate(term.get("matchLabelExpressions") or ())
        if deprecation(one.get("key") or "")
    ]


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj))


def _validate_change(obj: Object, old: Object) -> Sequence[FieldError]:
    return list(_changes(obj, old))


def _validate_fields(obj: Object) -> Iterator[FieldError]:
    yield from validate_provisioner("provisioner", obj.get("provisioner") or "")
    yield from validate_parameters(obj.get("parameters") or {})
    if obj["reclaimPolicy"] and obj["reclaimPolicy"] not in _POLICIES:
        yield unsupported("reclaimPolicy", obj["reclaimPolicy"], _POLICIES)
    if obj["volumeBindingMode"] not in _MODES:
        yield unsupported("volumeBindingMode", obj["volumeBindingMode"], _MODES)
    yield from validate_topology("allowedTopologies", obj.get("allowedTopologies") or ())


def _changes(obj: Object, old: Object) -> Iterator[FieldError]:
    if applies("storage-classes-have-immutable-fields"):
        if (obj.get("parameters") or {}) != (old.get("parameters") or {}):
            yield invalid_value("parameters", text_map(obj.get("parameters") or None), FIXED)
        for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
            yield from validate_immutable_field(name, obj.get(name), old.get(name))
        return
    if (obj.get("parameters") or {}) != (old.get("parameters") or {}):
        yield forbidden_field("parameters", "updates to parameters are forbidden.")
    if obj.get("provisioner") != old.get("provisioner"):
        yield forbidden_field("provisioner", "updates to provisioner are forbidden.")
    if obj["reclaimPolicy"] != old.get("reclaimPolicy"):
        yield forbidden_field("reclaimPolicy", "updates to reclaimPolicy are forbidden.")
    yield from validate_immutable_field("volumeBindingMode", obj["volumeBindingMode"], old.get("volumeBindingMode"))


def _row(obj: Object, now: float) -> Sequence[Any]:
    annotations = annotations_of(obj)
    chosen = " (default)" if "true" in (annotations.get(DEFAULT), annotations.get(_OLDER)) else ""
    return [
        name_of(obj) + chosen,
        obj.get("provisioner") or "",
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        created(obj, now),
    ]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((WHOLE,), after=(CHANGES,)),
    warnings=_warnings,
    default=_default,
    validate=_validate,
    validate_last=_validate_change,
    print_row=_row,
    return_deleted_object=True,
)
