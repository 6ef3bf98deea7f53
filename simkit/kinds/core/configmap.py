"""Strategy of ConfigMap: validation of keys, size and immutability; printer columns.

Follows ``pkg/registry/core/configmap/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.copy_on_write import without_empty
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.parts.validation.config_keys import LARGEST, validate_key
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, too_long
from simkit.meta.objects import Draft, Object, name_of

FIXED = "field is immutable when `immutable` is set"


def _prepare(draft: Draft, old: Object | None) -> None:
    without_empty(draft, ("data", "binaryData"))


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    return list(_validate_fields(obj) if old is None else _changes(obj, old))


def _validate_again(obj: Object, old: Object) -> Sequence[FieldError]:
    """The errors of the new object as a whole, which follow those of the change."""
    return list(_validate_fields(obj))


def _validate_fields(obj: Object) -> Iterator[FieldError]:
    texts, binaries = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in texts:
        yield from validate_key(f"data[{key}]", key)
        if key in binaries:
            yield invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binaries:
        yield from validate_key(f"binaryData[{key}]", key)
    size = len("".join(texts.values()).encode())
    if binaries:
        size += sum(len(base64.b64decode(value)) for value in binaries.values())
    if size > LARGEST:
        yield too_long("", LARGEST)


def _changes(obj: Object, old: Object) -> Iterator[FieldError]:
    """The errors of changes of an immutable object."""
    if not old.get("immutable"):
        return
    if not obj.get("immutable"):
        yield forbidden_field("immutable", FIXED)
    for name in ("data", "binaryData"):
        if (obj.get(name) or {}) != (old.get(name) or {}):
            yield forbidden_field(name, FIXED)


def _row(obj: Object, now: float) -> Sequence[Any]:
    count = len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
    return [name_of(obj), count, created(obj, now)]


STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
    prepare=_prepare,
    validate=_validate,
    validate_last=_validate_again,
    print_row=_row,
)
