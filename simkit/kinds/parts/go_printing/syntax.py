"""Values in Go syntax (``%#v``), such as ``v1.LabelSelector{...}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.internal_json import internal_json
from simkit.meta.fielderror import Shown, quoted
from simkit.meta.objects import Object

_POINTED: Final = "0xc000000000"


def text_map(values: Mapping[str, str] | None) -> Shown:
    """A map of strings, keys sorted.

    Examples
    --------
    >>> text_map({"b": "2", "a": "1"}).text
    'map[string]string{"a":"1", "b":"2"}'
    """
    if values is None:
        return Shown("map[string]string(nil)", None)
    listed = ", ".join(f"{quoted(key)}:{quoted(values[key])}" for key in sorted(values))
    return Shown(f"map[string]string{{{listed}}}", {key: values[key] for key in sorted(values)})


def texts(values: Sequence[str] | None, kind: str = "string") -> Shown:
    """A list of texts, or of a type of texts."""
    if values is None:
        return Shown(f"[]{kind}(nil)", None)
    return Shown(f"[]{kind}{{{', '.join(map(quoted, values))}}}", list(values))


def whole_numbers(values: Sequence[int], kind: str = "int32") -> Shown:
    """A list of numbers."""
    return Shown(f"[]{kind}{{{', '.join(map(str, values))}}}", list(values))


def selector(value: Object | None) -> Shown:
    """A label selector; an absent one is null, up to 1.33 in quotes. An empty map or list is not nil in Go.

    Examples
    --------
    >>> selector({"matchLabels": {}}).text
    'v1.LabelSelector{MatchLabels:map[string]string{}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}'
    """
    if value is None:
        return Shown('"null"', None)
    expressions = value.get("matchExpressions")
    listed = "{" + ", ".join(_requirement(one) for one in expressions) + "}" if expressions is not None else "(nil)"
    labels = text_map(value.get("matchLabels")).text
    text = f"v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:[]v1.LabelSelectorRequirement{listed}}}"
    return Shown(text, internal_json("v1.LabelSelector", value))


def _requirement(value: Object) -> str:
    key, operator = quoted(value.get("key") or ""), quoted(value.get("operator") or "")
    values = texts(value.get("values") or None).text
    return f"v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"


def number_or_text(value: int | str) -> Shown:
    """A number, or a text such as a percentage."""
    if isinstance(value, str):
        return Shown(f"intstr.IntOrString{{Type:1, IntVal:0, StrVal:{quoted(value)}}}", value)
    return Shown(f'intstr.IntOrString{{Type:0, IntVal:{value}, StrVal:""}}', value)


def time(value: str) -> Shown:
    """A moment, as Go prints it: without zeros at the end of a fraction of a second."""
    moment = value.replace("T", " ").removesuffix("Z")
    seconds, _, fraction = moment.partition(".")
    fraction = fraction.rstrip("0")
    return Shown(f"{seconds}{f'.{fraction}' if fraction else ''} +0000 UTC", value)


def pointer(kind: str, value: Any) -> str:
    """A pointer to a value of a type; only its presence is shown."""
    return f"(*{kind})({'nil' if value is None else _POINTED})"


def struct(name: str, *fields: tuple[str, str]) -> Shown:
    """A struct whose fields are printed already."""
    return Shown(f"{name}{{{', '.join(f'{key}:{value}' for key, value in fields)}}}")


def printed(value: Any) -> str:
    """A plain value inside a struct; an absent one is the empty text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else quoted(value or "")
