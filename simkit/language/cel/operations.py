"""Operators on values of any kind: the careful functions, which check kinds and word every error.

Compiled expressions go straight to Python's own operations where the checked types allow it, and come here otherwise.

cel-go 0.17, common/types.

Upstream: github.com/google/cel-go/common/types/int.go, version 0.17.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.language.cel.containers import KEYS, key_or_none, watched
from simkit.language.cel.errors import LONGEST_LIST, LONGEST_TEXT, EvaluationError, no_overload
from simkit.language.cel.values import INT_MAX, INT_MIN, NUMBERS, UINT_MAX, UInt, duration, kind_of, timestamp
from simkit.meta.deadline import check_deadline

_ORDERED: Final = frozenset({"bool", "string", "bytes", "duration", "timestamp"})


def checked_int(value: int) -> int:
    """The number if it fits 64 bits; else an EvaluationError."""
    if not INT_MIN <= value <= INT_MAX:
        raise EvaluationError("integer overflow")
    return value


def checked_uint(value: int) -> UInt:
    """The number as an unsigned one if it fits 64 bits; else an EvaluationError."""
    if not 0 <= value <= UINT_MAX:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


def _number(kind: str, value: Any) -> Any:
    return checked_int(value) if kind == "int" else checked_uint(value) if kind == "uint" else value


def add(left: Any, right: Any) -> Any:
    """``left + right``."""
    kind, other = kind_of(left), kind_of(right)
    if kind == other:
        if kind in NUMBERS:
            return _number(kind, left + right)
        if kind in ("string", "bytes"):
            if len(left) + len(right) > LONGEST_TEXT:
                raise EvaluationError(f"a text of {len(left) + len(right)} letters is larger than {LONGEST_TEXT}")
            return left + right
        if kind == "list":
            return joined(left, right)
        if kind == "duration":
            return duration(left.nanos + right.nanos)
    if {kind, other} == {"timestamp", "duration"}:
        return timestamp(left.nanos + right.nanos, (left if kind == "timestamp" else right).offset)
    return _own(left, right, python.add)


def _own(left: Any, right: Any, work: Callable[[Any, Any], Any]) -> Any:
    """The result of a Python operator, if the values bring their own (``cel_operators``); else an EvaluationError."""
    if getattr(left, "cel_operators", False):
        try:
            return work(left, right)
        except TypeError:
            raise no_overload() from None
    raise no_overload()


def joined(left: Sequence[Any], right: Sequence[Any]) -> Sequence[Any]:
    """``left + right`` of lists; a set adds new elements, a keyed list overwrites in place."""
    union = getattr(left, "cel_add", None)
    if union is not None:
        found: Sequence[Any] = union(right)
        return found
    if len(left) + len(right) > LONGEST_LIST:
        raise EvaluationError(f"a list of {len(left) + len(right)} elements is longer than {LONGEST_LIST}")
    return [*left, *right]


def subtract(left: Any, right: Any) -> Any:
    """``left - right``."""
    kind, other = kind_of(left), kind_of(right)
    if kind == other:
        if kind in NUMBERS:
            return _number(kind, left - right)
        if kind in ("duration", "timestamp"):
            return duration(left.nanos - right.nanos)
    if kind == "timestamp" and other == "duration":
        return timestamp(left.nanos - right.nanos, left.offset)
    return _own(left, right, python.sub)


def multiply(left: Any, right: Any) -> Any:
    """``left * right``."""
    kind = kind_of(left)
    if kind not in NUMBERS or kind != kind_of(right):
        return _own(left, right, python.mul)
    return _number(kind, left * right)


def divide(left: Any, right: Any) -> Any:
    """``left / right``, truncated for integers."""
    kind = kind_of(left)
    if kind not in NUMBERS or kind != kind_of(right):
        return _own(left, right, python.truediv)
    if kind == "double":
        return divide_double(left, right)
    return _number(kind, divide_int(left, right))


def divide_double(left: float, right: float) -> float:
    """Division of doubles with infinities and NaN, as in IEEE 754."""
    if right != 0:
        return left / right
    if left == 0 or left != left:
        return float("nan")
    negative = (left < 0) != (str(right)[0] == "-")
    return float("-inf") if negative else float("inf")


def divide_int(left: int, right: int) -> int:
    """Integer division, truncated."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient) if type(left) is int else quotient


def modulo(left: Any, right: Any) -> Any:
    """``left % right`` with the sign of the left side."""
    kind = kind_of(left)
    if kind not in ("int", "uint") or kind != kind_of(right):
        raise no_overload()
    return _number(kind, modulo_int(left, right))


def modulo_int(left: int, right: int) -> int:
    """The remainder of a truncated integer division."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvaluationError("integer overflow")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def negate(value: Any) -> Any:
    """``-value``."""
    kind = kind_of(value)
    if kind == "int":
        return checked_int(-value)
    if kind == "double":
        return -value
    return _own(value, None, lambda own, _: -own)


def truth(value: Any) -> bool:
    """The value if it is a bool; else an EvaluationError."""
    if value is True or value is False:
        return bool(value)
    raise no_overload()


def negation(value: Any) -> bool:
    """``!value``."""
    return not truth(value)


def unordered() -> bool:
    """The error of a comparison with NaN."""
    raise EvaluationError("NaN values cannot be ordered")


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Both values in one kind: an integer and a double become two doubles."""
    kind, other = kind_of(left), kind_of(right)
    if kind in NUMBERS and other in NUMBERS:
        if left != left or right != right:
            unordered()
        return (float(left), float(right)) if "double" in (kind, other) else (left, right)
    if kind != other or not (kind in _ORDERED or getattr(left, "cel_operators", False)):
        raise no_overload()
    return left, right


def less(left: Any, right: Any) -> bool:
    """``left < right``."""
    one, other = _comparable(left, right)
    return bool(one < other)


def less_equal(left: Any, right: Any) -> bool:
    """``left <= right``."""
    one, other = _comparable(left, right)
    return bool(one <= other)


def greater(left: Any, right: Any) -> bool:
    """``left > right``."""
    one, other = _comparable(left, right)
    return bool(one > other)


def greater_equal(left: Any, right: Any) -> bool:
    """``left >= right``."""
    one, other = _comparable(left, right)
    return bool(one >= other)


def equals(left: Any, right: Any) -> bool:
    """``left == right``: numbers by value, containers deeply, values of different kinds never."""
    kind, other = kind_of(left), kind_of(right)
    if kind != other:
        if kind not in NUMBERS or other not in NUMBERS:
            return False
        return float(left) == float(right) if "double" in (kind, other) else bool(left == right)
    if kind == "list":
        own = getattr(left, "cel_equals", None)
        if own is not None:
            return bool(own(right))
        check_deadline()
        return len(left) == len(right) and all(map(equals, left, right))
    if kind == "map":
        check_deadline()
        return len(left) == len(right) and all(_holds(right, key, value) for key, value in left.items())
    if kind == "optional":
        return left.present == right.present and (not left.present or equals(left.value, right.value))
    return bool(left == right)


def _holds(mapping: Mapping[Any, Any], key: Any, value: Any) -> bool:
    return key in mapping and equals(value, mapping[key])


def differs(left: Any, right: Any) -> bool:
    """``left != right``."""
    return not equals(left, right)


def contained(value: Any, container: Any) -> bool:
    """``value in container``."""
    kind = kind_of(container)
    if kind == "list":
        return any(equals(value, element) for element in watched(container))
    if kind == "map":
        return key_or_none(value) in container if kind_of(value) in KEYS else False
    raise no_overload()
