"""Validation of references to objects of any kind in the same namespace.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator

from simkit.kinds.parts.validation.fields import segment, validate_text
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object


def validate_local_reference(path: str, reference: Object | None) -> Iterator[FieldError]:
    """The errors of ``apiGroup``, ``kind`` and ``name`` of a reference."""
    if reference is None:
        return
    if reference.get("apiGroup") is not None:
        yield from validate_text(f"{path}.apiGroup", reference["apiGroup"], dns_subdomain)
    for name in ("kind", "name"):
        value = reference.get(name) or ""
        if not value:
            yield required(f"{path}.{name}", "" if applies("references-told-as-required") else f"{name} is required")
        else:
            yield from validate_text(f"{path}.{name}", value, segment)


def validate_version(path: str, version: str, *, core: bool) -> Iterator[FieldError]:
    """The errors of an API version, which must be one of a named group unless the ``core`` group will do."""
    if version.count("/") > 1:
        yield invalid_value(path, version, f"unexpected GroupVersion string: {version}")
    elif not version.rpartition("/")[0] and not core:
        yield invalid_value(path, version, "apiVersion must specify API group")


def validate_scaled_reference(path: str, reference: Object) -> Iterator[FieldError]:
    """The errors of ``kind`` and ``name`` of a reference to a scaled or measured object."""
    for name in ("kind", "name"):
        value = reference.get(name) or ""
        if not value:
            yield required(f"{path}.{name}")
        else:
            yield from validate_text(f"{path}.{name}", value, segment)
