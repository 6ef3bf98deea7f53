"""Messages of OpenAPI schema validation.

Follows ``k8s.io/kube-openapi/pkg/validation/errors``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from simkit.meta.fielderror import (
    FieldError,
    Shown,
    invalid_value,
    required,
    show,
    too_long_text,
    too_many,
    unsupported,
    wrong_type,
)
from simkit.meta.go_fmt import format_float
from simkit.meta.wording import joined

NOWHERE: Final = "<nil>"
"""The field of an error without a path."""


def type_name(value: Any) -> str:
    """The type name of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"


def shown(value: Any) -> Any:
    """A value for a field error: numbers as Go prints them, null in quotes."""
    if value is None:
        return None
    if isinstance(value, float) and not isinstance(value, bool):
        return Shown(format_float(value))
    if isinstance(value, dict | list | tuple):
        return Shown(structure(value), value)
    return value


def structure(value: Any) -> str:
    """A JSON value as Go prints it inside messages.

    Examples
    --------
    >>> structure({"b": [1, "x"], "a": None})
    'map[string]interface {}{"a":interface {}(nil), "b":[]interface {}{1, "x"}}'
    """
    if isinstance(value, dict):
        inner = ", ".join(f"{structure(name)}:{structure(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[]interface {{}}{{{', '.join(map(structure, value))}}}"
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, float):
        return format_float(value)
    text = show(value)
    assert isinstance(text, str), value
    return text


def place(path: str) -> str:
    return path or NOWHERE


def mistyped(path: str, wanted: str, found: str, value: Any = None) -> FieldError:
    """The error of a value of another type; ``found`` is its description, unless the value itself is shown."""
    text = found if value is None else value
    return wrong_type(place(path), text, joined("", (f"{path} in body must be of type {wanted}: ", show(text))))


def against(path: str, value: Any, rule: str) -> FieldError:
    """The error of a value that breaks a check: ``spec.a in body should be at least 2``."""
    return invalid_value(place(path), shown(value), f"{path} in body {rule}")


def bad_factor(path: str, factor: str) -> FieldError:
    """The error of a schema with a multipleOf that is not positive."""
    return invalid_value(
        place(path), Shown(factor), f"factor MultipleOf declared for {path} must be positive: {factor}"
    )


def not_listed(path: str, value: Any, choices: Sequence[Any]) -> FieldError:
    """The error of a value outside an enum."""
    texts = [choice if isinstance(choice, str) else orjson.dumps(choice).decode() for choice in choices]
    return unsupported(place(path), shown(value), texts)


def too_long_for(path: str, limit: int) -> FieldError:
    return too_long_text(place(path), limit)


def too_many_in(path: str, size: int, limit: int) -> FieldError:
    return too_many(place(path), size, limit)


def lacking(path: str) -> FieldError:
    return required(place(path))


def as_a_whole(text: str) -> FieldError:
    """The errors of combinations of schemas, which have no path."""
    return invalid_value(NOWHERE, "", text)
