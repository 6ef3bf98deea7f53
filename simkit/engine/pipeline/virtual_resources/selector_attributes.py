"""Validation of the field and label selectors in access reviews.

Upstream: pkg/apis/authorization/validation/validation.go, release 1.36; KEP-4601.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.name_validation import label_value, qualified_name

_PATH: Final = "spec.resourceAttributes"
_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def selector_errors(attributes: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of both selectors of resource attributes. Unknown operators are allowed, for newer clients."""
    for name in ("fieldSelector", "labelSelector"):
        selector = attributes.get(name)
        if selector is not None:
            yield from _errors(selector, f"{_PATH}.{name}", labels=name == "labelSelector")


def _errors(selector: Mapping[str, Any], path: str, *, labels: bool) -> Iterator[FieldError]:
    raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or ()
    if raw and requirements:
        yield invalid_value(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")
    if not raw and not requirements:
        detail = f"when {path} is specified, requirements or rawSelector is required"
        yield required(f"{path}.requirements", detail)
    for index, requirement in enumerate(requirements):
        yield from _requirement(requirement, f"{path}.requirements[{index}]", labels=labels)


def _requirement(requirement: Mapping[str, Any], path: str, *, labels: bool) -> Iterator[FieldError]:
    key, operator = requirement.get("key") or "", requirement.get("operator") or ""
    values = requirement.get("values") or ()
    if not key and not labels:
        yield required(f"{path}.key", "must be specified")
    if operator in _WITH_VALUES and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WITHOUT_VALUES and values:
        yield forbidden_field(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    if labels:
        yield from (invalid_value(f"{path}.key", key, text) for text in qualified_name(key))
        for number, value in enumerate(values):
            yield from (invalid_value(f"{path}.values[{number}]", value, text) for text in label_value(value))
