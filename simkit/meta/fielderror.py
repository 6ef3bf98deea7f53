"""Field errors, with the messages of kube-apiserver.

Follows ``k8s.io/apimachinery/pkg/util/validation/field/errors.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from simkit.meta import go_json
from simkit.meta.wording import Text, Worded, Written, told

if TYPE_CHECKING:
    from simkit.meta.behaviour import ServedBehaviour

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


def show(value: Any) -> Text:
    """A value in a field error: strings quoted, structs as compact JSON, nothing as null."""
    if isinstance(value, Shown):
        if value.json is ...:
            return value.text
        return Worded("values-in-json", go_json.encode(value.json).decode(), value.text)
    if isinstance(value, Worded | Written):
        return value
    if value is None:
        return Worded("values-in-json", "null", quoted("null"))
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
    detail: Text = ""

    def body(self, behaviour: ServedBehaviour) -> str:
        """The error without its field, in the words of a release."""
        word, detail = _WORDS[self.kind], told(self.detail, behaviour)
        if self.kind not in _WITHOUT_VALUE and self.value is not OMITTED:
            word = f"{word}: {told(show(self.value), behaviour)}"
        return f"{word}: {detail}" if detail else word

    def cause(self, behaviour: ServedBehaviour) -> dict[str, str]:
        """The entry of ``details.causes``."""
        return {"reason": self.kind, "message": self.body(behaviour), "field": self.field}

    def told(self, behaviour: ServedBehaviour) -> str:
        """The error in the words of a release."""
        return f"{self.field}: {self.body(behaviour)}"

    def __str__(self) -> str:
        raise TypeError(f"the words of an error of {self.field} depend on the release: use told")


Errors = Iterator[FieldError]
"""The errors that a function finds one after the other."""


def invalid_value(field: str, value: Any, detail: Text) -> FieldError:
    return FieldError("FieldValueInvalid", field, value, detail)


def required(field: str, detail: Text = "") -> FieldError:
    return FieldError("FieldValueRequired", field, None, detail)


def unsupported(field: str, value: Any, choices: Sequence[str]) -> FieldError:
    listed = ", ".join(quoted(choice) for choice in choices)
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {listed}" if choices else "")


def forbidden_field(field: str, detail: Text) -> FieldError:
    return FieldError("FieldValueForbidden", field, None, detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value)


def missing(field: str, value: Any, detail: Text = "") -> FieldError:
    return FieldError("FieldValueNotFound", field, value, detail)


def too_long(field: str, limit: int) -> FieldError:
    return _too_long(field, limit, f"must have at most {limit} bytes")


def too_long_text(field: str, limit: int) -> FieldError:
    """A text that is too long where older releases told it in other words: custom resources, managers of jobs."""
    return _too_long(field, limit, f"may not be longer than {limit}")


def _too_long(field: str, limit: int, before: str) -> FieldError:
    since: Text = f"may not be more than {limit} bytes"
    if limit == 1:
        since = Worded("one-byte", "may not be more than 1 byte", since)
    return FieldError("FieldValueTooLong", field, None, Worded("too-long-in-one-form", since, before))


def too_many(field: str, actual: int, limit: int) -> FieldError:
    detail: Text = f"must have at most {limit} items"
    if limit == 1:
        detail = Worded("one-item", "must have at most 1 item", detail)
    return FieldError("FieldValueTooMany", field, actual, detail)


def wrong_type(field: str, value: Any, detail: Text) -> FieldError:
    return FieldError("FieldValueTypeInvalid", field, value, detail)


def internal_error(field: str, detail: Text) -> FieldError:
    return FieldError("InternalError", field, None, detail)


def field_detail(text: str) -> Text:
    """A detail that begins with the name of its field, as it is up to 1.33; later ones leave the name out."""
    return Worded("details-without-field-names", text.partition(" ")[2], text)


def aggregate_errors(texts: Iterable[str]) -> str:
    """Several errors as one text, distinct, as k8s.io/apimachinery/pkg/util/errors joins them; empty for none.

    Examples
    --------
    >>> aggregate_errors(["a", "b", "a"]), aggregate_errors(["a"]), aggregate_errors([])
    ('[a, b]', 'a', '')
    """
    listed = list(dict.fromkeys(texts))
    return f"[{', '.join(listed)}]" if len(listed) > 1 else "".join(listed)
