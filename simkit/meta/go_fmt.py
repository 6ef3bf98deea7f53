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
    """A value as Go's ``%v`` prints it: ``map[a:1 b:[x y]]``, keys sorted.

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
    """A float64 as ``%v`` prints it, and ``strconv.FormatFloat(value, 'g', -1, 64)``: with an exponent from 1e+06 on.

    Examples
    --------
    >>> format_float(50000000.0), format_float(0.75), format_float(-0.0)
    ('5e+07', '0.75', '-0')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, power = _shortest(value)
    if power < -4 or power >= 6:
        more = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{more}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    whole, fraction = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
    return f"{sign}{whole}{'.' if fraction else ''}{fraction}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits that parse to the same value, and the power of ten of the first digit."""
    text = repr(abs(value))
    sign = "-" if str(value).startswith("-") else ""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    return sign, digits.rstrip("0") or "0", power if digits else 0


def format_string(value: Any) -> str:
    """A value as Go's ``%s`` prints it: other types than strings come with their type in an error."""
    if isinstance(value, str):
        return value
    return "%!s(<nil>)" if value is None else f"%!s({type_name(value)}={format_value(value)})"


def type_name(value: Any) -> str:
    """The Go type of a decoded JSON value."""
    return "<nil>" if value is None else _TYPES.get(type(value), type(value).__name__)
