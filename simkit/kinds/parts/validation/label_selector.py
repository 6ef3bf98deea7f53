"""Validation of ``metav1.LabelSelector``.

Follows ``k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.name_validation import label_value, qualified_name
from simkit.meta.objects import Object

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def validate_label_selector(selector: Object | None, path: str, *, any_value: bool = False) -> Sequence[FieldError]:
    """The errors of a selector at a path; an absent one is valid.

    Parameters
    ----------
    any_value
        Whether expressions may list values that no label can have.
    """
    return list(_validate_fields(selector or {}, path, any_value))


def _validate_fields(selector: Object, path: str, any_value: bool) -> Iterator[FieldError]:
    for key, value in (selector.get("matchLabels") or {}).items():
        yield from (invalid_value(f"{path}.matchLabels", key, text) for text in qualified_name(key))
        yield from (invalid_value(f"{path}.matchLabels", value, text) for text in label_value(value))
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        yield from _validate_expression(expression, f"{path}.matchExpressions[{index}]", any_value)


def _validate_expression(expression: Object, path: str, any_value: bool) -> Iterator[FieldError]:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values = expression.get("values") or ()
    if operator in _WITH_VALUES and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WITHOUT_VALUES and values:
        yield forbidden_field(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
        yield invalid_value(f"{path}.operator", operator, "not a valid selector operator")
    yield from (invalid_value(f"{path}.key", key, text) for text in qualified_name(key))
    any_value = any_value or not applies("values-of-selectors-checked")
    for number, value in enumerate(() if any_value else values):
        yield from (invalid_value(f"{path}.values[{number}]", value, text) for text in label_value(value))
