"""The function ``format`` of strings: ``'%s is %d'.format([...])``.

Upstream: github.com/google/cel-go/ext/strings.go, version 0.17.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Final

from simkit.language.cel.containers import plain_key
from simkit.language.cel.conversions import type_of
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.values import kind_of
from simkit.meta.go_fmt import format_float

_STRING_CLAUSE: Final = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps"
)
_Clause = Callable[[Any, int | None], str]
_WHOLE: Final = 1e20
"""The size from which numbers are written without a fraction."""
_LONGEST_PRECISION: Final = 4
"""The most digits of a precision."""
_SUPERSCRIPT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def format_text(narrow: bool, template: str, values: Sequence[Any]) -> str:
    """The template with each clause replaced by the next value; ``narrow`` writes exponents without spaces."""
    parts: list[str] = []
    position, used = 0, 0
    while position < len(template):
        mark = template.find("%", position)
        if mark < 0:
            parts.append(template[position:])
            break
        parts.append(template[position:mark])
        if template[mark + 1 : mark + 2] == "%":
            parts.append("%")
            position = mark + 2
            continue
        if mark + 1 >= len(template):
            raise EvaluationError("unexpected end of string")
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        text, position = _clause(_CLAUSES[narrow], template, mark + 1, values[used])
        parts.append(text)
        used += 1
    return "".join(parts)


def _clause(clauses: Mapping[str, _Clause], template: str, position: int, value: Any) -> tuple[str, int]:
    precision: int | None = None
    if template[position] == ".":
        end = position + 1
        while end < len(template) and template[end] in "0123456789":
            end += 1
        if end >= len(template):
            raise EvaluationError("could not find end of precision specifier")
        digits = template[position + 1 : end]
        if len(digits) > _LONGEST_PRECISION:
            raise EvaluationError(f"could not parse precision: {digits[:20]} is too large")
        precision = int(digits or 0)
        position = end
    work = clauses.get(template[position])
    if work is None:
        raise EvaluationError(
            f'could not parse formatting clause: unrecognized formatting clause "{template[position]}"'
        )
    return work(value, precision), position + 1


def _wrong(what: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {what}, was given {type_of(value)}")


def _string(value: Any, precision: int | None) -> str:
    kind = kind_of(value)
    if kind == "list":
        return f"[{', '.join(_inner(each) for each in value)}]"
    if kind == "map":
        return _map(value)
    return _scalar(value, kind)


def _scalar(value: Any, kind: str) -> str:
    if kind == "bool":
        return "true" if value else "false"
    if kind == "null":
        return "null"
    if kind == "double":
        return format_float(value)
    if kind == "bytes":
        return str(value, "utf-8", "replace")
    if kind in ("int", "uint"):
        return str(int(value))
    if kind in ("string", "timestamp", "duration", "type"):
        return str(value)
    raise _wrong(_STRING_CLAUSE, value)


def _inner(value: Any) -> str:
    """A value inside a list or map; strings get quotes."""
    kind = kind_of(value)
    if kind in ("string", "bytes", "timestamp", "duration"):
        text = _quoted(_string(value, None))
        return text if kind == "string" else f"b{text}" if kind == "bytes" else f"{kind}({text})"
    if kind == "double":
        return f"{value:.6f}" if math.isfinite(value) else f'"{format_float(value)}"'
    return _string(value, None)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _map(value: Mapping[Any, Any]) -> str:
    entries = []
    for key, inner in value.items():
        plain = plain_key(key)
        if kind_of(plain) not in ("string", "bool", "int", "uint"):
            raise _wrong("no formatting function for map key", plain)
        entries.append(f"{_inner(plain)}:{_inner(inner)}")
    return f"{{{', '.join(sorted(entries))}}}"


def _decimal(value: Any, precision: int | None) -> str:
    if kind_of(value) in ("int", "uint"):
        return str(int(value))
    if kind_of(value) == "double" and not math.isfinite(value):
        return format_float(value).replace("+Inf", "Infinity").replace("-Inf", "-Infinity")
    raise _wrong("decimal clause can only be used on integers", value)


def _double(value: Any, what: str) -> float | str:
    """The number of a fixed or scientific clause, or its name if it is not finite."""
    kind = kind_of(value)
    if kind == "string" and value in ("NaN", "Infinity", "-Infinity"):
        return str(value)
    if kind not in ("double", "int", "uint"):
        raise _wrong(f"{what} clause can only be used on doubles", value)
    if not math.isfinite(value):
        return "NaN" if value != value else "∞" if value > 0 else "-∞"
    return float(value)


def _fixed(value: Any, precision: int | None) -> str:
    number = _double(value, "fixed-point")
    if isinstance(number, str):
        return number
    if number < _WHOLE:
        return f"{number:.{6 if precision is None else precision}f}"
    return f"{Decimal(number):f}"


def _scientific(narrow: bool, value: Any, precision: int | None) -> str:
    number = _double(value, "scientific")
    if isinstance(number, str):
        return number
    mantissa, _, exponent = f"{number:.{6 if precision is None else precision}e}".partition("e")
    power = f"{'-' if exponent[0] == '-' else ''}{abs(int(exponent)):02d}"
    space = "" if narrow else "\u202f"
    return f"{mantissa}{space}×{space}10{power.translate(_SUPERSCRIPT)}"


def _binary(value: Any, precision: int | None) -> str:
    if kind_of(value) not in ("int", "uint", "bool"):
        raise _wrong("only integers and bools can be formatted as binary", value)
    return f"{int(value):b}"


def _hexadecimal(value: Any, precision: int | None) -> str:
    kind = kind_of(value)
    if kind in ("int", "uint"):
        return f"{int(value):x}"
    if kind == "string":
        return str(value).encode().hex()
    if kind == "bytes":
        return bytes(value).hex()
    raise _wrong("only integers, byte buffers, and strings can be formatted as hex", value)


def _octal(value: Any, precision: int | None) -> str:
    if kind_of(value) not in ("int", "uint"):
        raise _wrong("octal clause can only be used on integers", value)
    return f"{int(value):o}"


_COMMON: Final[Mapping[str, _Clause]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "b": _binary,
    "x": _hexadecimal,
    "X": lambda value, precision: _hexadecimal(value, precision).upper(),
    "o": _octal,
}
_CLAUSES: Final[Mapping[bool, Mapping[str, _Clause]]] = {
    narrow: {**_COMMON, "e": partial(_scientific, narrow)} for narrow in (False, True)
}
