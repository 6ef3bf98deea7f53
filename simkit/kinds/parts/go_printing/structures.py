"""Whole structs in Go syntax, such as pod templates and flow schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from simkit.kinds.parts.go_printing.internal_json import internal_json
from simkit.kinds.parts.go_printing.syntax import pointer, printed, text_map, texts
from simkit.kinds.parts.go_printing.types import fields_of, is_structure
from simkit.kinds.parts.validation.resource_quantities import shown
from simkit.meta import go_json
from simkit.meta.fielderror import Shown, quoted
from simkit.meta.objects import Object

_NEVER: Final = "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"


def template_text(template: Object) -> Shown:
    """A pod template."""
    return structure("core.PodTemplateSpec", template)


def structures(kind: str, values: Sequence[Object] | None) -> Shown:
    """A list of structs of a known type."""
    return Shown(_text(f"[]{kind}", values), internal_json(f"[]{kind}", values))


def structure(kind: str, value: Object) -> Shown:
    """A struct of a known type."""
    fields = ", ".join(
        f"{field.name}:{_text(field.kind, value.get(field.key) if field.key else value)}" for field in fields_of(kind)
    )
    return Shown(f"{kind}{{{fields}}}", internal_json(kind, value))


def _text(kind: str, value: Any) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind](value)
    if kind.startswith("*"):
        return pointer(kind[1:], value)
    if kind.startswith("[]"):
        if not is_structure(kind[2:]):
            return texts(value, kind[2:]).text
        listed = ", ".join(structure(kind[2:], one).text for one in value or ())
        return f"{kind}(nil)" if value is None else f"{kind}{{{listed}}}"
    return structure(kind, value or {}).text


def amounts(value: Mapping[str, str] | None) -> Shown:
    """Amounts by resource."""
    return Shown(_amounts_text(value), None if value is None else dict(sorted(value.items())))


def _amounts_text(value: Mapping[str, str] | None) -> str:
    if value is None:
        return "core.ResourceList(nil)"
    listed = ", ".join(f"{quoted(name)}:{shown(value[name]).text}" for name in sorted(value))
    return f"core.ResourceList{{{listed}}}"


def _time(value: str | None) -> str:
    if not value:
        return _NEVER
    at = datetime.fromisoformat(value)
    return f"time.Date({at:%Y}, time.{at:%B}, {at.day}, {at.hour}, {at.minute}, {at.second}, 0, time.UTC)"


def _bytes(value: Any) -> str:
    if value is None:
        return "[]uint8(nil)"
    return f"[]uint8{{{', '.join(f'{byte:#x}' for byte in go_json.encode(value))}}}"


_PLAIN: Final[Mapping[str, Callable[[Any], str]]] = {
    "": lambda value: printed(value or ""),
    "int": lambda value: str(value or 0),
    "bool": lambda value: printed(bool(value)),
    "map": lambda value: text_map(value).text,
    "texts": lambda value: texts(value).text,
    "amounts": _amounts_text,
    "time": _time,
    "v1.Time": _time,
    "time?": lambda _: "<nil>",
    "raw": lambda value: f"runtime.RawExtension{{Raw:{_bytes(value)}, Object:runtime.Object(nil)}}",
}
