"""Operators on values of any kind: the careful functions, which check kinds and word every error.

Compiled expressions go straight to Python's own operations where the checked types allow it, and come here otherwise.

cel-go 0.17, common/types.

Upstream: github.com/google/cel-go/common/types/int.go, version 0.17.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.language.cel.errors import EvaluationError, no_key, no_overload, shown
from simkit.language.cel.values import (
    BOOL_KEYS,
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    BoolKey,
    Optional,
    UInt,
    duration,
    kind_of,
    timestamp,
)

NUMBERS: Final = frozenset({"int", "uint", "double"})
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
            return left + right
        if kind == "list":
            return joined(left, right)
        if kind == "duration":
            return duration(left.nanos + right.nanos)
    if {kind, other} == {"timestamp", "duration"}:
        return timestamp(left.nanos + right.nanos, (left if kind == "timestamp" else right).offset)
    raise no_overload()


def joined(left: Sequence[Any], right: Sequence[Any]) -> Sequence[Any]:
    """``left + right`` of lists; a set adds new elements, a keyed list overwrites in place."""
    union = getattr(left, "cel_add", None)
    if union is not None:
        found: Sequence[Any] = union(right)
        return found
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
    raise no_overload()


def multiply(left: Any, right: Any) -> Any:
    """``left * right``."""
    kind = kind_of(left)
    if kind not in NUMBERS or kind != kind_of(right):
        raise no_overload()
    return _number(kind, left * right)


def divide(left: Any, right: Any) -> Any:
    """``left / right``, truncated for integers."""
    kind = kind_of(left)
    if kind not in NUMBERS or kind != kind_of(right):
        raise no_overload()
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
    raise no_overload()


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
    if kind != other or kind not in _ORDERED:
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
        return len(left) == len(right) and all(map(equals, left, right))
    if kind == "map":
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
        return any(equals(value, element) for element in container)
    if kind == "map":
        return _key_or_none(value) in container if kind_of(value) in _KEYS else False
    raise no_overload()


_KEYS: Final = frozenset({"bool", "int", "uint", "double", "string"})


def key_of(value: Any) -> Any:
    """A value as a key of a Python dict; EvaluationError if its kind cannot be one."""
    if value is True or value is False:
        return BOOL_KEYS[value]
    kind = kind_of(value)
    if kind not in ("int", "uint", "string"):
        raise EvaluationError(f"unsupported key type: {kind}")
    return value


def _key_or_none(value: Any) -> Any:
    return BOOL_KEYS[value] if value is True or value is False else value


def plain_key(key: Any) -> Any:
    """The value that a key of a Python dict stands for."""
    return key.value if type(key) is BoolKey else key


_GO_NAMES: Final = {"optional": "*types.Optional", "type": "*types.Type"}


def _not_iterable(kind: str) -> EvaluationError:
    """The error of a comprehension over neither list nor map, which names cel-go's own type."""
    package, _, name = kind.rpartition(".")
    found = _GO_NAMES.get(kind) or f"{'cel' if package else 'types'}.{name[:1].upper()}{name[1:]}"
    return EvaluationError(f"got '{found}', expected iterable type")


def elements(container: Any) -> Iterable[Any]:
    """The elements of a comprehension: those of a list, or the keys of a map."""
    kind = kind_of(container)
    if kind == "list":
        found: Iterable[Any] = container
        return found
    if kind == "map":
        return map(plain_key, container)
    raise _not_iterable(kind)


def pairs(container: Any) -> Iterable[tuple[Any, Any]]:
    """The pairs of a comprehension with two variables: positions and elements, or keys and values."""
    kind = kind_of(container)
    if kind == "list":
        return enumerate(container)
    if kind == "map":
        return [(plain_key(key), value) for key, value in container.items()]
    raise _not_iterable(kind)


def insert(found: dict[Any, Any], entries: Any) -> None:
    """Add the entries of one map to another that has none of their keys."""
    if kind_of(entries) != "map":
        raise no_overload()
    for key, value in entries.items():
        if key in found:
            raise EvaluationError(f"insert failed: key {shown(plain_key(key))} already exists")
        found[key] = value


def index(container: Any, key: Any) -> Any:
    """``container[key]``; of an optional, an optional."""
    kind = kind_of(container)
    if kind == "optional":
        return optional_index(container, key)
    if kind == "map":
        try:
            return container[_key_or_none(key)]
        except (KeyError, TypeError):
            raise no_key(key) from None
    if kind == "list":
        return container[_position(container, key)]
    raise no_key(key)


def _position(container: Sequence[Any], key: Any) -> int:
    kind = kind_of(key)
    if kind == "double":
        if key % 1:
            raise EvaluationError(f"unsupported index value {shown(key)} in list")
        key = int(key)
    elif kind not in ("int", "uint"):
        raise EvaluationError(f"unsupported index type '{kind}' in list")
    if not 0 <= key < len(container):
        raise EvaluationError(f"index out of bounds: {shown(key)}")
    return int(key)


def select(value: Any, field: str) -> Any:
    """``value.field``; of an optional, an optional."""
    kind = kind_of(value)
    if kind == "map":
        try:
            return value[field]
        except KeyError:
            raise no_key(field) from None
    if kind == "optional":
        return optional_index(value, field)
    if kind == "list":
        raise EvaluationError("unsupported index type 'string' in list")
    raise no_key(field)


def present(value: Any, field: str) -> bool:
    """``has(value.field)``."""
    kind = kind_of(value)
    if kind == "map":
        return field in value
    if kind == "optional":
        return bool(optional_index(value, field).present)
    if kind == "list":
        raise EvaluationError("unsupported index type 'string' in list")
    return False


def optional_index(value: Any, key: Any) -> Optional:
    """``value.?key`` and ``value[?key]``: an empty optional if there is no entry."""
    if type(value) is Optional:
        if not value.present:
            return NONE
        value = value.value
    kind = kind_of(value)
    if kind == "map":
        found = _key_or_none(key)
        return Optional(True, value[found]) if kind_of(key) in _KEYS and found in value else NONE
    if kind == "list":
        at = int(key) if kind_of(key) in NUMBERS else -1
        return Optional(True, value[at]) if 0 <= at < len(value) else NONE
    return NONE


def size(value: Any) -> int:
    """The number of letters, bytes, elements or entries."""
    if kind_of(value) not in ("string", "bytes", "list", "map"):
        raise no_overload()
    return len(value)


def size_or_one(value: Any) -> int:
    """The size of a value, 1 if it has none: the unit of costs."""
    if isinstance(value, str | bytes | Sequence | Mapping):
        return len(value)
    counted = getattr(value, "cel_size", None)
    return counted() if counted is not None else 1


def mapping_of(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A map literal's value; a repeated key is an error."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        key = key_of(key)
        if key in found:
            raise EvaluationError(f"Failed with repeated key: {shown(plain_key(key))}")
        found[key] = value
    return found
