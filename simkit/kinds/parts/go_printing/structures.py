"""Whole structs in Go syntax, such as pod templates and flow schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.kinds.parts.validation.resource_quantities import shown
from simkit.meta import datasets, go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Shown, quoted
from simkit.meta.objects import Object
from simkit.meta.wording import Written
from simkit.schema.custom.messages import structure as plain

_SAME: Final = {"core.EphemeralContainerCommon": "core.Container"}
"""Fields in declaration order as ``json/Name:type``: strings by default, with the name in JSON if it differs. A"""
_FIELD: Final = re.compile(
    r"(?:(?P<key>[\w$-]*)(?P<slash>/))?(?P<name>\w+)(?:@(?P<since>\d+))?(?:@-(?P<last>\d+))?(?::(?P<kind>.+))?"
)


class Field(NamedTuple):
    """One field of a struct."""

    name: str
    key: str
    """Its name in JSON; empty for an embedded one."""
    kind: str
    since: int = 0
    last: int = 99


_table: Final[Callable[[], Mapping[str, str]]] = datasets.lazy("api/releases/go-types.json")


def is_structure(kind: str) -> bool:
    """True if the fields of a type are known."""
    return _SAME.get(kind, kind) in _table()


@cache
def fields_of(minor: int, kind: str) -> Sequence[Field]:
    """The fields of a struct at a release, in declaration order.

    Examples
    --------
    >>> [(each.name, each.key, each.kind) for each in fields_of(30, "core.HostAlias")]
    [('IP', 'ip', ''), ('Hostnames', 'hostnames', 'texts')]
    """
    every = map(_field, _table()[_SAME.get(kind, kind)].split())
    return tuple(each for each in every if each.since <= minor <= each.last)


def _field(part: str) -> Field:
    match = _FIELD.fullmatch(part)
    assert match is not None, part
    name = match["name"]
    key = match["key"] if match["slash"] else f"{name[0].lower()}{name[1:]}"
    if not match["slash"]:
        name = f"{name[0].upper()}{name[1:]}"
    return Field(name, key, match["kind"] or "", int(match["since"] or 0), int(match["last"] or 99))


_ZEROS: Final[Mapping[str, Any]] = {"": "", "int": 0, "bool": False, "quantity": "0", "intstr.IntOrString": 0}
_LIKE_OUTSIDE: Final = ("v1.", "intstr.")
"""Types that are the same inside and outside, and have a JSON form of their own."""
_ANY: Final = "apiextensions.JSON"
_SCHEMA: Final = "apiextensions.JSONSchemaProps"
_NAMED: Final = {
    "apiextensions.JSONSchemaDefinitions": f"map[string]{_SCHEMA}",
    "apiextensions.JSONSchemaDependencies": f"map[string]{_SCHEMA}OrStringArray",
    "apiextensions.ValidationRules": "[]apiextensions.ValidationRule",
}
"""Lists and maps that have a type of their own."""
_MAP_OF: Final = "map[string]"


_SHARED: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def internal_pod_spec(spec: Object) -> Object:
    """The spec of a pod in kube-apiserver's internal version: its host namespaces are part of its security context."""
    shared = {key: spec[key] for key in _SHARED if key in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **shared}}


def _parts(kind: str, value: Any) -> Mapping[str, Any]:
    """The fields of a struct in its value; a schema or something else in its place is one of two fields."""
    if kind == "core.PodSpec" and value is not None:
        return internal_pod_spec(value)
    if not kind.startswith(f"{_SCHEMA}Or"):
        return value or {}
    found = {"allows": value is not False} if kind.endswith("OrBool") else {}
    if isinstance(value, Mapping):
        return {**found, "schema": value}
    return {**found, "jSONSchemas": value, "property": value}


def internal_json(minor: int, kind: str, value: Any) -> Any:
    """A value of a type as plain JSON, at a release.

    Examples
    --------
    >>> internal_json(34, "core.Toleration", {"key": "a", "tolerationSeconds": 5})
    {'Key': 'a', 'Operator': '', 'Value': '', 'Effect': '', 'TolerationSeconds': 5}
    """
    kind = _NAMED.get(kind, kind)
    if value is None and kind.startswith(("*", "[]", _MAP_OF)):
        return None
    if kind.startswith("*"):
        return internal_json(minor, kind[1:], value)
    if kind.startswith("[]"):
        return [internal_json(minor, kind[2:], each) for each in value]
    if kind.startswith(_MAP_OF):
        return {name: internal_json(minor, kind.removeprefix(_MAP_OF), value[name]) for name in sorted(value)}
    if kind.startswith(_LIKE_OUTSIDE):
        return _outside(minor, kind, value)
    if is_structure(kind):
        return _structure(minor, kind, _parts(kind, value))
    if isinstance(value, Mapping) and kind != _ANY:
        return {name: value[name] for name in sorted(value)}
    return _ZEROS.get(kind) if value is None else value


def _structure(minor: int, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields_of(minor, kind):
        inner = internal_json(minor, field.kind, value.get(field.key) if field.key else value)
        if not field.key or field.kind == f"v1.{field.name}":
            found |= inner
        else:
            found[field.name] = inner
    return found


def _outside(minor: int, kind: str, value: Any) -> Any:
    """A value of a type with its own JSON form: as it was written, in the order of its fields."""
    if value is None:
        return _ZEROS.get(kind, None if kind.endswith("Time") else {})
    if not isinstance(value, Mapping) or not is_structure(kind):
        return value
    return {
        field.key: internal_json(minor, field.kind, value[field.key])
        for field in fields_of(minor, kind)
        if value.get(field.key) not in (None, [], {}) or (field.key in _ALWAYS and field.key in value)
    }


_ALWAYS: Final = ("apiVersion", "kind", "name", "uid")


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


def selector(value: Object | None) -> Shown | Written:
    """A label selector; an absent one is null, up to 1.33 in quotes. An empty map or list is not nil in Go.

    Examples
    --------
    >>> from simkit.meta.behaviour import ServedBehaviour
    >>> selector({"matchLabels": {}}).told(ServedBehaviour(30))
    'v1.LabelSelector{MatchLabels:map[string]string{}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}'
    """
    if value is None:
        return Shown('"null"', None)
    return structure("v1.LabelSelector", value)


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


def template_text(template: Object) -> Written:
    """A pod template."""
    return structure("core.PodTemplateSpec", template)


def structures(kind: str, values: Sequence[Object] | None) -> Written:
    """A list of structs of a known type."""
    return structure(f"[]{kind}", values)


def structure(kind: str, value: Object | Sequence[Object] | None) -> Written:
    """A struct of a known type, or a list of them: Go's syntax up to 1.33 and JSON since 1.34."""
    return Written(lambda behaviour: _as_json(behaviour, kind, value) or _text(behaviour.minor, kind, value))


def _as_json(behaviour: ServedBehaviour, kind: str, value: Any) -> str:
    """A value of a type as JSON; empty where the release does not show it so."""
    if not behaviour.applies("values-in-json"):
        return ""
    return go_json.encode(internal_json(behaviour.minor, kind, value)).decode()


def _text(minor: int, kind: str, value: Any) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind](value)
    if kind.startswith("*"):
        return pointer(kind[1:], value)
    inside = _NAMED.get(kind, kind)
    if inside.startswith("[]"):
        if not is_structure(inside[2:]):
            return texts(value, inside[2:]).text
        listed = ", ".join(_text(minor, inside[2:], each) for each in value or ())
        return f"{kind}(nil)" if value is None else f"{kind}{{{listed}}}"
    if inside.startswith(_MAP_OF):
        of, entries = inside.removeprefix(_MAP_OF), sorted((value or {}).items())
        listed = ", ".join(f"{quoted(name)}:{_text(minor, of, each)}" for name, each in entries)
        return f"{kind}(nil)" if value is None else f"{kind}{{{listed}}}"
    held = _parts(kind, value)
    fields = ", ".join(
        f"{field.name}:{_text(minor, field.kind, held.get(field.key) if field.key else held)}"
        for field in fields_of(minor, kind)
    )
    return f"{kind}{{{fields}}}"


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
        return "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"
    at = datetime.fromisoformat(value)
    return f"time.Date({at:%Y}, time.{at:%B}, {at.day}, {at.hour}, {at.minute}, {at.second}, 0, time.UTC)"


def _bytes(value: Any) -> str:
    if value is None:
        return "[]uint8(nil)"
    return f"[]uint8{{{', '.join(f'{byte:#x}' for byte in go_json.encode(value))}}}"


def _anything(values: Sequence[Any] | None) -> str:
    """Values of any type."""
    if values is None:
        return f"[]{_ANY}(nil)"
    return f"[]{_ANY}{{{', '.join(f'{_ANY}(nil)' if each is None else plain(each) for each in values)}}}"


_PLAIN: Final[Mapping[str, Callable[[Any], str]]] = {
    "": lambda value: printed(value or ""),
    "int": lambda value: str(value or 0),
    "bool": lambda value: printed(bool(value)),
    "map": lambda value: text_map(value).text,
    f"[]{_ANY}": _anything,
    "texts": lambda value: texts(value).text,
    "amounts": _amounts_text,
    "time": _time,
    "v1.Time": _time,
    "time?": lambda _: "<nil>",
    "raw": lambda value: f"runtime.RawExtension{{Raw:{_bytes(value)}, Object:runtime.Object(nil)}}",
}
