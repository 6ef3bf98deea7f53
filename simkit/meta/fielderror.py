"""Field errors, with the messages of kube-apiserver.

Follows ``k8s.io/apimachinery/pkg/util/validation/field/errors.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.meta import go_json
from simkit.meta.behaviour import applies

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
"""The end of the detail of an error that depends on the server's flags: privileged containers."""


class Shown:
    """A value whose text in an error message is not its JSON, such as a printed struct.

    Parameters
    ----------
    text
        What releases up to 1.33 write.
    json
        What is written as JSON since 1.34; without it, the text there too.
    """

    def __init__(self, text: str, json: Any = ...) -> None:
        self.text, self.json = text, json


OMITTED: Final = Shown("")
"""The value of an error that shows no value."""


_ESCAPES: Final = dict(zip('\\"\a\b\f\n\r\t\v', '\\"abfnrtv', strict=True))


def quoted(text: object) -> str:
    r"""The text in double quotes, with the escapes of Go's ``%q`` (``strconv.Quote``).

    Examples
    --------
    >>> print(quoted("a\x05b"), quoted("a\u008ab"), quoted('say "hö"'))
    "a\x05b" "a\u008ab" "say \"hö\""
    """
    shown = str(text)
    if shown.isprintable() and '"' not in shown and "\\" not in shown:
        return f'"{shown}"'
    return f'"{"".join(map(_escaped, shown))}"'


def _escaped(letter: str) -> str:
    """One character as written between quotes."""
    if letter in _ESCAPES:
        return f"\\{_ESCAPES[letter]}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def show(value: Any) -> str:
    """A value in a field error: strings quoted, structs as compact JSON, nothing as null."""
    in_json = applies("values-in-json")
    if isinstance(value, Shown):
        return value.text if value.json is ... or not in_json else go_json.encode(value.json).decode()
    if value is None:
        return "null" if in_json else quoted("null")
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping | Sequence | bool):
        return go_json.encode(value).decode()
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


def missing(field: str, value: Any, detail: str = "") -> FieldError:
    return FieldError("FieldValueNotFound", field, value, detail)


def too_long(field: str, limit: int) -> FieldError:
    told = _too_long(limit) if applies("too-long-in-one-form") else f"must have at most {limit} bytes"
    return FieldError("FieldValueTooLong", field, None, told)


def too_long_text(field: str, limit: int) -> FieldError:
    """A text that is too long where older releases told it in other words: custom resources, managers of jobs."""
    told = _too_long(limit) if applies("too-long-in-one-form") else f"may not be longer than {limit}"
    return FieldError("FieldValueTooLong", field, None, told)


def _too_long(limit: int) -> str:
    return f"may not be more than {limit} {'byte' if limit == 1 and applies('one-byte') else 'bytes'}"


def too_many(field: str, actual: int, limit: int) -> FieldError:
    told = "item" if limit == 1 and applies("one-item") else "items"
    return FieldError("FieldValueTooMany", field, actual, f"must have at most {limit} {told}")


def wrong_type(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, value, detail)


def internal_error(field: str, detail: str) -> FieldError:
    return FieldError("InternalError", field, None, detail)


def field_detail(text: str) -> str:
    """A detail that begins with the name of its field, as it is up to 1.33; later ones leave the name out.

    Examples
    --------
    >>> field_detail("message must not contain line breaks")
    'message must not contain line breaks'
    """
    return text.partition(" ")[2] if applies("details-without-field-names") else text


def aggregate_errors(texts: Iterable[str]) -> str:
    """Several errors as one text, distinct, as k8s.io/apimachinery/pkg/util/errors joins them; empty for none.

    Examples
    --------
    >>> aggregate_errors(["a", "b", "a"]), aggregate_errors(["a"]), aggregate_errors([])
    ('[a, b]', 'a', '')
    """
    listed = list(dict.fromkeys(texts))
    return f"[{', '.join(listed)}]" if len(listed) > 1 else "".join(listed)
