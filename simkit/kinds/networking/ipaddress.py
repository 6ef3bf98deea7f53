"""Strategy of IPAddress: validation, printer columns.

Follows ``pkg/registry/networking/ipaddress/strategy.go`` and ``pkg/apis/networking/validation/validation.go``, release
1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.printers.cells import NONE, created
from simkit.kinds.parts.validation.fields import FIXED, validate_required_name
from simkit.kinds.parts.validation.ip import validate_canonical_ip
from simkit.kinds.strategy import Strategy
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_subdomain, path_segment
from simkit.meta.objects import Object, at, name_of

_PARENT = "spec.parentRef"


def _validate_name(name: str, prefix: bool) -> Sequence[str]:
    """The errors of a name, which is an address as Go writes it, whether or not it is meant as a prefix."""
    return [error.detail for error in validate_canonical_ip("", name)]


def _validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
    parent = at(obj, "spec", "parentRef")
    errors = [required(_PARENT)] if parent is None else list(_validate_parent(parent))
    if old is not None and parent != at(old, "spec", "parentRef"):
        errors.append(invalid_value(_PARENT, parent and structure("networking.ParentReference", parent), FIXED))
    return errors


def _validate_parent(parent: Object) -> Iterator[FieldError]:
    group, namespace = parent.get("group") or "", parent.get("namespace") or ""
    if group:
        yield from (invalid_value(f"{_PARENT}.group", group, text) for text in dns_subdomain(group))
    for field in ("resource", "name"):
        yield from validate_required_name(f"{_PARENT}.{field}", parent.get(field) or "", path_segment)
    if namespace:
        yield from (invalid_value(f"{_PARENT}.namespace", namespace, text) for text in path_segment(namespace))


def _row(obj: Object, now: float) -> Sequence[Any]:
    """Three cells under two columns, as in kube-apiserver."""
    return [name_of(obj), _parent(at(obj, "spec", "parentRef")), created(obj, now)]


def _parent(reference: Object | None) -> str:
    if reference is None:
        return NONE
    kind = f"{reference.get('resource', '')}.{reference.get('group', '')}".rstrip(".").lower()
    return "/".join(filter(None, (kind, reference.get("namespace"), reference.get("name"))))


STRATEGY = Strategy(validate_name=_validate_name, validate=_validate, print_row=_row)
