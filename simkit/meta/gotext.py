"""JSON values as Go's package fmt prints them with ``%v`` and ``%s``."""

from __future__ import annotations

from typing import Any, Final

_TYPES: Final = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}


def format_value(value: Any) -> str:
    """A value in the plain style of the server's language: ``map[a:1 b:[x y]]``, keys sorted.

    Examples
    --------
    >>> format_value({"b": ["x", None], "a": True})
    'map[a:true b:[x <nil>]]'
    """
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{format_value(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(format_value, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return str(value).lower()
    return format_float(value) if isinstance(value, float) else str(value)


def format_float(value: float) -> str:
    """A fraction in its shortest form, with an exponent for the very large and the very small."""
    text = repr(value)
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    mantissa, exponent, power = text.partition("e")
    if not exponent:
        return text
    return f"{mantissa.removesuffix('.0')}e{power[0] if power[0] in '+-' else '+'}{power.lstrip('+-').zfill(2)}"


def format_string(value: Any) -> str:
    """A value where the server's format asks for a string: others come with their type in a complaint."""
    if isinstance(value, str):
        return value
    return "%!s(<nil>)" if value is None else f"%!s({type_name(value)}={format_value(value)})"


def type_name(value: Any) -> str:
    """The type that the server's language has for a decoded JSON value."""
    return "<nil>" if value is None else _TYPES.get(type(value), type(value).__name__)
