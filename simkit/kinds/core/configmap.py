"""Strategy of ConfigMap: validation of keys, size and immutability; printer columns.

Follows ``pkg/registry/core/configmap/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.copy_on_write import prepared
from simkit.kinds.parts.printers.cells import columns
from simkit.kinds.parts.validation.fields import LARGEST, validate_key
from simkit.kinds.rules import by, immutable, last, validation, whole
from simkit.kinds.strategy import CHANGES, WHOLE, MetadataChecks, Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, invalid_value, too_long
from simkit.meta.objects import Object


def _validate_data(behaviour: ServedBehaviour, path: str, obj: Object) -> Iterator[FieldError]:
    texts, binaries = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in texts:
        yield from validate_key(behaviour, f".data[{key}]", key)
        if key in binaries:
            yield invalid_value(f".data[{key}]", key, "duplicate of key present in binaryData")
    for key in binaries:
        yield from validate_key(behaviour, f".binaryData[{key}]", key)
    size = len("".join(texts.values()).encode())
    if binaries:
        size += sum(len(base64.b64decode(value)) for value in binaries.values())
    if size > LARGEST:
        yield too_long("", LARGEST)


_DATA: Final = by(_validate_data)
STRATEGY = Strategy(
    metadata_checks=MetadataChecks((CHANGES,), after=(WHOLE,)),
    prepare=prepared(without=("data", "binaryData")),
    validate=validation(created=(_DATA,), changed=immutable("data", "binaryData")),
    validate_last=last(whole(_DATA)),
    print_row=columns(lambda obj: len(obj.get("data") or {}) + len(obj.get("binaryData") or {})),
)
