"""The functions of queries, and the order and arithmetic of their values.

References
----------
The jq 1.7 manual, "Builtin operators and functions".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.language.cel.lib_regex import pattern


class NotApplicable(Exception):
    """A value that a query cannot be applied to."""


def items_of(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list):
        return value
    raise NotApplicable("cannot iterate")


def truth(value: Any) -> bool:
    return value is not None and value is not False


def order(value: Any) -> tuple[int, Any]:
    """The place of a value in the order of jq: null, false, true, numbers, texts, lists, maps."""
    if value is None:
        return 0, 0
    if isinstance(value, bool):
        return 1 + value, 0
    if isinstance(value, int | float):
        return 3, value
    if isinstance(value, str):
        return 4, value
    if isinstance(value, list):
        return 5, [order(each) for each in value]
    return 6, [(key, order(each)) for key, each in sorted(value.items())]


def calculated(left: Any, sign: str, right: Any) -> Any:
    if sign == "+" and (left is None or right is None):
        return right if left is None else left
    try:
        if sign == "+":
            return {**left, **right} if isinstance(left, Mapping) else left + right
        if sign == "-":
            return [each for each in left if each not in right] if isinstance(left, list) else left - right
        if sign == "*":
            return left * right
        return left / right if sign == "/" else int(left) % int(right)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise NotApplicable(str(error)) from error


def _shown(value: Any) -> str:
    import orjson

    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _type(value: Any) -> str:
    return ("null", "boolean", "boolean", "number", "string", "array", "object")[order(value)[0]]


def _entries(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": each} for key, each in value.items()]


def _number(value: Any) -> int | float:
    return value if isinstance(value, int | float) else float(value) if "." in value else int(value)


FUNCTIONS: Final[Mapping[tuple[str, int], Callable[..., Any]]] = {
    ("length", 0): lambda value: 0 if value is None else abs(value) if isinstance(value, int | float) else len(value),
    ("not", 0): lambda value: not truth(value),
    ("keys", 0): lambda value: sorted(value) if isinstance(value, Mapping) else list(range(len(value))),
    ("has", 1): lambda value, key: key in value if isinstance(value, Mapping) else 0 <= key < len(value),
    ("type", 0): _type,
    ("tostring", 0): _shown,
    ("tonumber", 0): _number,
    ("startswith", 1): lambda value, prefix: value.startswith(prefix),
    ("endswith", 1): lambda value, suffix: value.endswith(suffix),
    ("contains", 1): lambda value, part: part in value,
    ("test", 1): lambda value, text: pattern(text).search(value) is not None,
    ("split", 1): lambda value, separator: value.split(separator),
    ("join", 1): lambda value, separator: separator.join(_shown(each) for each in value),
    ("ascii_downcase", 0): lambda value: value.lower(),
    ("ascii_upcase", 0): lambda value: value.upper(),
    ("add", 0): lambda value: None if not value else _sum(items_of(value)),
    ("any", 0): lambda value: any(map(truth, value)),
    ("all", 0): lambda value: all(map(truth, value)),
    ("first", 0): lambda value: value[0] if value else None,
    ("last", 0): lambda value: value[-1] if value else None,
    ("min", 0): lambda value: min(value, key=order) if value else None,
    ("max", 0): lambda value: max(value, key=order) if value else None,
    ("sort", 0): lambda value: sorted(value, key=order),
    ("unique", 0): lambda value: _unique(sorted(value, key=order)),
    ("to_entries", 0): _entries,
    ("floor", 0): lambda value: int(value // 1),
}


def _unique(ordered: Sequence[Any]) -> list[Any]:
    return [each for n, each in enumerate(ordered) if not n or order(ordered[n - 1]) != order(each)]


def _sum(values: Sequence[Any]) -> Any:
    found = values[0]
    for each in values[1:]:
        found = calculated(found, "+", each)
    return found
