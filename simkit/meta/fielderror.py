"""Field errors, with the messages of kube-apiserver.

Follows ``k8s.io/apimachinery/pkg/util/validation/field/errors.go``, release 1.30.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_WORDS: Final = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "InternalError": "Internal error",
    "FieldValueTypeInvalid": "Invalid value",
}
_WITHOUT_VALUE: Final = {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError"}


CLUSTER_POLICY: Final = "disallowed by cluster policy"
"""How the detail of a fault ends that only some servers mind: privileged containers."""


class Shown:
    """A value whose text in an error message is not its JSON, such as a printed structure."""

    def __init__(self, text: str) -> None:
        self.text = text


OMITTED: Final = Shown("")
"""The value of an error that shows none."""


def quoted(text: str) -> str:
    """The text in double quotes, with the escapes of Go's ``%q``."""
    return json.dumps(text, ensure_ascii=False).replace("\\u007f", "\\x7f")


def show(value: Any) -> str:
    """A value as it stands in a field error: strings quoted, also the word null, structures as compact JSON."""
    if isinstance(value, Shown):
        return value.text
    if isinstance(value, str) or value is None:
        return quoted("null" if value is None else value)
    if isinstance(value, Mapping | Sequence | bool):
        return json.dumps(value, separators=(",", ":"))
    return str(value)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One cause of an Invalid status. ``kind`` is the cause's reason; make one with the functions below."""

    kind: str
    field: str
    value: Any = None
    detail: str = ""

    @property
    def body(self) -> str:
        word = _WORDS[self.kind]
        if self.kind not in _WITHOUT_VALUE and self.value is not OMITTED:
            word = f"{word}: {show(self.value)}"
        return f"{word}: {self.detail}" if self.detail else word

    def cause(self) -> dict[str, str]:
        """The entry of ``details.causes``."""
        return {"reason": self.kind, "message": self.body, "field": self.field}

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, value, detail)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, None, detail)


def unsupported(field: str, value: Any, choices: Sequence[str]) -> FieldError:
    listed = ", ".join(quoted(choice) for choice in choices)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {listed}" if choices else "")


def forbidden_field(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, None, detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value)


def missing(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", field, value)


def too_long(field: str, limit: int) -> FieldError:
    return FieldError("FieldValueTooLong", field, None, f"must have at most {limit} bytes")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    return FieldError("FieldValueTooMany", field, actual, f"must have at most {limit} items")


def wrong_type(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, value, detail)


def internal_error(field: str, detail: str) -> FieldError:
    return FieldError("InternalError", field, None, detail)
