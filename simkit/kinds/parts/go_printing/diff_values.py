"""Values in the reports of go-cmp: zero fields left out, depth bounded.

Follows ``github.com/google/go-cmp/cmp, report_reflect.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from simkit.kinds.parts.go_printing.diff_layout import DOTS, Listing, Record, Text, Wrap
from simkit.kinds.parts.go_printing.types import fields_of, is_structure
from simkit.kinds.parts.printers.label_selector import selector_structure
from simkit.kinds.parts.validation.resource_quantities import parts_of
from simkit.meta.fielderror import quoted


class _Absent:
    """An element that a list or map lacks on one side."""


ABSENT: Final = _Absent()
_NIL: Final = "nil"
_TYPES: Final[Mapping[str, str]] = {
    "texts": "[]string",
    "map": "map[string]string",
    "amounts": "core.ResourceList",
    "quantity": "resource.Quantity",
}
_PORT: Final = "intstr.IntOrString"


def parts_of_number(kind: str, value: Any) -> Any:
    """The value of a number or text; any other value unchanged."""
    if kind != _PORT or isinstance(value, Mapping):
        return value
    return {"type": 1, "strVal": value} if isinstance(value, str) else {"intVal": value or 0}


def is_zero(kind: str, value: Any) -> bool:
    """True if a value is the zero value."""
    if value is None or value is ABSENT:
        return True
    if is_structure(kind):
        held = parts_of_number(kind, value)
        return all(is_zero(each.kind, held.get(each.key) if each.key else held) for each in fields_of(kind))
    return not value and not isinstance(value, list | tuple | Mapping) and not kind.startswith("*")


def key_text(kind: str, key: str) -> str:
    """The key of an entry; resource names differ from strings."""
    return f"s{quoted(key)}" if kind == "amounts" else quoted(key)


def typed(kind: str, text: Text, mode: str, side: str) -> Text:
    """The text with the name of its type, if that is shown."""
    known = is_structure(kind) or kind in _TYPES or kind.startswith("[]")
    if mode == "elide" or (mode == "auto" and (not known or text == _NIL or side == " ")):
        return text
    return Wrap(_TYPES.get(kind, kind), text)


def printed_value(kind: str, value: Any, mode: str, side: str, level: int) -> Text | None:
    """A printed value of a type; None for an absent one. Each level doubles the details."""
    if value is ABSENT:
        return None
    if kind.startswith("*"):
        return _pointed(kind[1:], value, mode, side, level)
    if kind.startswith("[]") or kind in ("texts", "map", "amounts"):
        return _NIL if value is None else typed(kind, _held(kind, value, side, level), mode, side)
    if kind == "moment":
        return f"s{quoted(_moment(value))}"
    if is_structure(kind):
        return typed(kind, _structure(kind, parts_of_number(kind, value) or {}, side, level), mode, side)
    if kind == "quantity":
        return typed(kind, _quantity(value or "0", side, level), mode, side)
    return _scalar(kind, value, level)


def _pointed(kind: str, value: Any, mode: str, side: str, level: int) -> Text | None:
    if value is None:
        return _NIL
    if kind == "v1.LabelSelector":
        return f"s{_text(selector_structure(value), level)}"
    inside = printed_value(kind, value, mode, side, level)
    return Wrap("&", inside) if inside is not None else None


def _held(kind: str, value: Any, side: str, level: int) -> Text:
    """The elements of a list, or the entries of a map."""
    if isinstance(value, Mapping):
        element = "quantity" if kind == "amounts" else ""
        entries = ((key_text(kind, key), element, value[key]) for key in sorted(value))
        return _bounded(entries, "elide", side, level)
    element = "" if kind == "texts" else kind.removeprefix("[]")
    return _bounded((("", element, each) for each in value), "elide", side, level)


def _structure(kind: str, value: Mapping[str, Any], side: str, level: int) -> Text:
    parts = ((each.name, each.kind, value.get(each.key) if each.key else value) for each in fields_of(kind))
    return _bounded((part for part in parts if not is_zero(part[1], part[2])), "auto", side, level)


def _bounded(parts: Iterable[tuple[str, str, Any]], mode: str, side: str, level: int) -> Text:
    """As many parts as the level allows."""
    most, records = ((1 << level) >> 1) << 2, list[Record]()
    for name, kind, value in parts:
        if len(records) == most:
            records.append(Record(DOTS))
            break
        text = printed_value(kind, value, mode, side, max(0, level - 1))
        if text is not None:
            records.append(Record(text, name))
    return Wrap("{", Listing(records), "}")


def _quantity(text: str, side: str, level: int) -> Text:
    """A quantity as number, scale, original text and format."""
    value, scale, kept, family = parts_of(text, stored=side != "+")
    number: Text = Wrap("{", Listing([Record(str(n), k) for k, n in (("value", value), ("scale", scale)) if n]), "}")
    if level < 2:
        number = Wrap("{", DOTS, "}")
    number = number if side == " " else Wrap("resource.int64Amount", number)
    records = [Record(number, "i")] if value else []
    records += [Record(quoted(part), name) for name, part in (("s", kept), ("Format", family)) if part]
    return Wrap("{", Listing(records) if level else DOTS, "}")


def _scalar(kind: str, value: Any, level: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if value is None and kind in ("bool", "int"):
        return "false" if kind == "bool" else "0"
    return _text(value or "", level) if isinstance(value, str | None) else _unknown(value)


def _moment(value: str) -> str:
    return f"{datetime.fromisoformat(value.replace('Z', '+00:00')).astimezone(UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"


def _text(value: str, level: int) -> str:
    """A text in quotation marks, shortened if it is long."""
    most = (1 << level) << 5
    shown, more = (value, "") if len(value) <= most + len(DOTS) else (value[:most], DOTS)
    marked = quoted(shown)
    plain = "`" not in shown and shown.replace("\t", "").isprintable()
    return f"{f'`{shown}`' if len(marked) > len(shown) + 2 and plain else marked}{more}"


def _unknown(value: Any) -> str:
    """A value of a type with unknown fields, in their own order."""
    if isinstance(value, Mapping):
        listed = ", ".join(f"{key[:1].upper()}{key[1:]}: {_unknown(item)}" for key, item in value.items())
        return f"{{{listed}}}"
    if isinstance(value, list | tuple):
        return f"{{{', '.join(map(_unknown, value))}}}"
    return _scalar("", value, 1)
