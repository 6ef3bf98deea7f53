"""The functions of templates that Go's text/template has itself: comparison, indexing and formatting.

Upstream: Go, src/text/template/funcs.go and src/fmt/print.go, release 1.22.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import orjson

from simkit.meta.go_fmt import format_value, type_name
from simkit.simulation.stages.template.evaluation import shown, truth
from simkit.simulation.stages.template.syntax import TemplateError

_VERB: Final = re.compile(r"%(?P<flags>[-+# 0]*+)(?P<width>\d*+)(?:\.(?P<precision>\d++))?(?P<verb>[a-zA-Z%])")
_WIDEST: Final = 10_000


def index(value: Any, *keys: Any) -> Any:
    """An element of a map or a list, and of what it holds in turn; of an absent key nothing."""
    for key in keys:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, Sequence):
            if not isinstance(key, int) or not 0 <= key < len(value):
                raise TemplateError(f"index out of range: {shown(key)}")
            value = ord(value[key]) if isinstance(value, str) else value[key]
        else:
            raise TemplateError("index of untyped nil" if value is None else f"can't index {shown(value)[:40]!r}")
    return value


def part(value: Any, *bounds: int) -> Any:
    """A part of a text or list."""
    start, end = (bounds[0] if bounds else 0), (bounds[1] if len(bounds) > 1 else len(value))
    if not 0 <= start <= end <= len(value):
        raise TemplateError(f"index out of range: {shown(list(bounds))}")
    return value[start:end]


def equal(first: Any, *others: Any) -> bool:
    """True if the first is equal to one of the others."""
    if not others:
        raise TemplateError("missing argument for comparison")
    return any(isinstance(each, bool) is isinstance(first, bool) and each == first for each in others)


def _less(first: Any, second: Any) -> bool:
    if isinstance(first, str) is not isinstance(second, str) or first is None or second is None:
        raise TemplateError("incompatible types for comparison")
    return bool(first < second)


def formatted(pattern: str, *values: Any) -> str:
    """Values in a pattern of Go's ``Printf``.

    Examples
    --------
    >>> formatted("%s-%03d %q %v", "pod", 7, "a", [1, True])
    'pod-007 "a" [1 true]'
    """
    left = list(values)

    def replaced(found: re.Match[str]) -> str:
        verb = found["verb"]
        if verb == "%":
            return "%"
        if not left:
            return f"%!{verb}(MISSING)"
        text = _one(verb, left.pop(0), found["precision"], found["flags"])
        width = min(int(found["width"] or 0), _WIDEST)
        if "-" in found["flags"]:
            return text.ljust(width)
        return text.zfill(width) if "0" in found["flags"] else text.rjust(width)

    text = _VERB.sub(replaced, pattern)
    if left:
        text += f"%!(EXTRA {', '.join(f'{type_name(each)}={format_value(each)}' for each in left)})"
    return text


def _one(verb: str, value: Any, precision: str | None, flags: str) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if verb in "vs":
        text = format_value(value) if verb == "v" or not isinstance(value, str) else value
        return text[: int(precision)] if precision and verb == "s" else text
    if verb == "q":
        return quoted(value)
    if verb == "t" and isinstance(value, bool):
        return format_value(value)
    if verb in "dxXobc" and isinstance(value, int) and number:
        return chr(value) if verb == "c" else f"{value:{'+' if '+' in flags else ''}{verb}}"
    if verb in "feEgG" and number:
        return f"{value:.{min(int(precision or 6), 100)}{verb}}" if verb in "feE" or precision else format_value(value)
    if verb in "xX" and isinstance(value, str):
        return value.encode().hex() if verb == "x" else value.encode().hex().upper()
    return f"%!{verb}({type_name(value)}={format_value(value)})"


def quoted(value: Any) -> str:
    """A value in quotation marks; what is no text is first written as JSON.

    Examples
    --------
    >>> quoted('a"b'), quoted(5), quoted({"a": 1})
    ('"a\\\\"b"', '"5"', '"{\\\\"a\\\\":1}"')
    """
    text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return orjson.dumps(text).decode()


def _spaced(*values: Any) -> str:
    """Values as Go's ``Print`` writes them: with spaces where neither neighbour is a text."""
    found = []
    for number, each in enumerate(values):
        if number and not isinstance(each, str) and not isinstance(values[number - 1], str):
            found.append(" ")
        found.append(each if isinstance(each, str) else format_value(each))
    return "".join(found)


BUILT_IN: Final[Mapping[str, Callable[..., Any]]] = {
    "index": index,
    "slice": part,
    "len": len,
    "not": lambda value: not truth(value),
    "eq": equal,
    "ne": lambda first, second: not equal(first, second),
    "lt": _less,
    "le": lambda first, second: not _less(second, first),
    "gt": lambda first, second: _less(second, first),
    "ge": lambda first, second: not _less(first, second),
    "print": _spaced,
    "println": lambda *values: " ".join(map(shown, values)) + "\n",
    "printf": formatted,
    "html": lambda *values: html.escape(_spaced(*values)),
    "js": lambda *values: orjson.dumps(_spaced(*values)).decode()[1:-1].replace("'", "\\'"),
    "urlquery": lambda *values: quote(_spaced(*values), safe=""),
}
