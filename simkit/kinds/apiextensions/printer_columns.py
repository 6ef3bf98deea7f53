"""Printer columns of custom resources: JSON paths into the object and the cells made from their values.

Follows ``k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go``, release 1.30.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import orjson

from simkit.kinds.parts.cells import duration
from simkit.meta.go_fmt import format_value
from simkit.meta.objects import Object

_STEP: Final = re.compile(
    r"\.\.(?P<deep>(?:\\.|[^.\[\]\\])+)|\.?\[(?P<union>'[^']*'(?:\s*,\s*'[^']*')+)\]|"
    r"\.(?P<name>(?:\\.|[^.\[\]\\])+)|\.?\[(?P<filter>\?\(.*?\))\]|\.?\['(?P<quoted>(?:\\'|[^'])*)'\]"
    r"|\.?\[(?P<slice>[-\d:]*)\]|\.?\[(?P<all>\*)\]|\.(?P<star>\*)"
)
_FILTER: Final = re.compile(r"\?\(\s*@((?:\.(?:\\.|[^.\[\]=!<>\s\\])+)+)\s*(?:(==|!=|<=|>=|<|>)\s*+(.+))?\)")
MOST: Final = 20_000
"""The most values of an object that a column's path may come by until it has found one: several steps at any depth come
by each of them again and again."""


class _Walk:
    """The number of values that a path may still come by in one object."""

    def __init__(self, most: float) -> None:
        self.left = most

    def goes_on(self) -> bool:
        self.left -= 1
        return self.left > 0


Step = Callable[[Any, _Walk], Iterator[Any]]
Path = Sequence[Step]


class BadPath(ValueError):
    """A path that cannot be parsed."""


@lru_cache(maxsize=2048)
def parse_json_path(path: str) -> Path:
    """The steps of a JSON path such as ``.spec.ports[0].port`` or ``.a[?(@.type=="Ready")].status``. Raises BadPath.

    Examples
    --------
    >>> list(find_values({"a": [{"t": "x", "v": 1}, {"t": "y", "v": 2}]}, '.a[?(@.t=="y")].v'))
    [2]
    """
    steps: list[Step] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            raise BadPath(path)
        steps.append(_step(found))
        position = found.end()
    return steps


def find_values(obj: Any, path: str, most: float = math.inf) -> Iterator[Any]:
    """The values at a path; none if there are none, and no further ones once it has come by so many."""
    return _found(obj, parse_json_path(path), _Walk(most))


def _found(value: Any, path: Path, walk: _Walk) -> Iterator[Any]:
    found: Iterator[Any] = iter((value,))
    for step in path:
        found = _through(found, step, walk)
    return found


def _through(found: Iterator[Any], step: Step, walk: _Walk) -> Iterator[Any]:
    for value in found:
        if not walk.goes_on():
            return
        yield from step(value, walk)


def _step(found: re.Match[str]) -> Step:
    if found["deep"] is not None:
        return _deep(found["deep"])
    if found["union"] is not None:
        return _united([parse_json_path(f".{name}") for name in re.findall(r"'([^']*)'", found["union"])])
    name = found["name"] if found["name"] is not None else found["quoted"]
    if found["all"] is not None or found["star"] is not None or name == "*":
        return _everything
    if name is not None:
        return _named(re.sub(r"\\(.)", r"\1", name))
    if found["filter"] is not None:
        return _filtered(found["filter"])
    return _sliced(found["slice"])


def _everything(value: Any, walk: _Walk) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _named(name: str) -> Step:
    def step(value: Any, walk: _Walk) -> Iterator[Any]:
        if isinstance(value, Mapping) and name in value:
            yield value[name]

    return step


def _deep(name: str) -> Step:
    """The values of a name at any depth; of ``*`` all values."""
    here = _everything if name == "*" else _named(name)

    def step(value: Any, walk: _Walk) -> Iterator[Any]:
        if walk.goes_on():
            yield from here(value, walk)
            for each in _everything(value, walk):
                yield from step(each, walk)

    return step


def _united(paths: Sequence[Path]) -> Step:
    def step(value: Any, walk: _Walk) -> Iterator[Any]:
        for path in paths:
            yield from _found(value, path, walk)

    return step


def _sliced(text: str) -> Step:
    try:
        bounds = [int(part) if part else None for part in text.split(":")]
    except ValueError:
        raise BadPath(text) from None
    if bounds[2:] == [0] or len(bounds) > 3:
        raise BadPath(text)

    def step(value: Any, walk: _Walk) -> Iterator[Any]:
        if not isinstance(value, list):
            return
        if len(bounds) > 1:
            yield from value[slice(*bounds)]
        elif bounds[0] is not None and -len(value) <= bounds[0] < len(value):
            yield value[bounds[0]]

    return step


def _filtered(text: str) -> Step:
    found = _FILTER.fullmatch(text)
    if found is None:
        raise BadPath(text)
    inner, operator, literal = found[1], found[2], _literal(found[3].rstrip()) if found[3] else None

    def step(value: Any, walk: _Walk) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            here = list(_found(item, parse_json_path(inner), walk))
            if here and (operator is None or _compared(here[0], operator, literal)):
                yield item

    return step


def _literal(text: str) -> Any:
    if text[:1] in "\"'" and text[-1:] == text[:1]:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other),
    "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other),
    ">=": lambda one, other: bool(one >= other),
}


def _compared(one: Any, operator: str, other: Any) -> bool:
    try:
        return _ORDER[operator](one, other)
    except TypeError:
        return False


_LEAST: Final = -(2**63)


def cell(obj: Object, column: Mapping[str, Any], now: float) -> Any:
    """The cell of a column: the first value of the path if it has the column's type, else null."""
    try:
        found = next(find_values(obj, column.get("jsonPath") or "", MOST), None)
    except BadPath:
        return None
    return _shown(found, column.get("type") or "", now) if found is not None else None


def _shown(value: Any, kind: str, now: float) -> Any:
    if kind == "integer":
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return int(value) if _LEAST <= value < -_LEAST else _LEAST  # as Go converts what does not fit
    if kind == "number":
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "date":
        return _age(value, now) if isinstance(value, str) else None
    return _text(value)


def _age(text: str, now: float) -> str:
    if not text:
        return "<unknown>"
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00").replace("z", "+00:00"))
    except ValueError:
        return "<invalid>"
    return duration(now - moment.timestamp()) if moment.tzinfo is not None else "<invalid>"


def _text(value: Any) -> str:
    """A value as text: strings unchanged, numbers and booleans printed, structures as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return format_value(value)
