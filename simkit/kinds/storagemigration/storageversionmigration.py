"""Strategy of StorageVersionMigration: validation and printer columns.

Follows ``pkg/apis/storagemigration/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.validation.fields import FIXED
from simkit.kinds.strategy import Strategy
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object, at, name_of


def _row(obj: Object, now: float) -> Sequence[Any]:
    resource = at(obj, "spec", "resource") or {}
    parts = (resource.get(name) for name in ("resource", "version", "group"))
    return [name_of(obj), ".".join(filter(None, parts))]


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    resource = at(obj, "spec", "resource") or {}
    if old is not None and resource != (at(old, "spec", "resource") or {}):
        return [invalid_value("spec.resource", resource, FIXED)]
    path = "spec.resource"
    errors = [
        required(f"{path}.{name}", f"{name} is required") for name in ("resource", "version") if not resource.get(name)
    ]
    if resource.get("group"):
        errors += [
            invalid_value(f"{path}.group", resource["group"], text) for text in dns_subdomain(resource["group"], False)
        ]
    return errors


STRATEGY = Strategy(print_row=_row, validate=_validate)
