"""Access to lists, maps and optionals: keys, elements, fields, indexes and sizes, with the errors of cel-go.

cel-go 0.17, common/types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from simkit.language.cel.errors import EvaluationError, no_key, no_overload, shown
from simkit.language.cel.patch_values import MadeObject
from simkit.language.cel.values import BOOL_KEYS, NONE, NUMBERS, BoolKey, Optional, kind_of
from simkit.meta.deadline import check_deadline

T = TypeVar("T")
_BETWEEN: Final = 16
"""Elements between two looks at the deadline."""
KEYS: Final = frozenset({"bool", "int", "uint", "double", "string"})


def key_of(value: Any) -> Any:
    """A value as a key of a Python dict; EvaluationError if its kind cannot be one."""
    if value is True or value is False:
        return BOOL_KEYS[value]
    kind = kind_of(value)
    if kind not in ("int", "uint", "string"):
        raise EvaluationError(f"unsupported key type: {kind}")
    return value


def key_or_none(value: Any) -> Any:
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


def watched(container: Collection[T]) -> Iterable[T]:
    """The elements, with a look at the deadline of the request before the first, and now and then among many."""
    check_deadline()
    return container if len(container) <= _BETWEEN else _looked_at(container)


def _looked_at(container: Iterable[T]) -> Iterator[T]:
    for position, element in enumerate(container):
        if position % _BETWEEN == 0:
            check_deadline()
        yield element


def elements(container: Any) -> Iterable[Any]:
    """The elements of a comprehension: those of a list, or the keys of a map."""
    kind = kind_of(container)
    if kind == "list":
        return watched(container)
    if kind == "map":
        return map(plain_key, watched(container))
    raise _not_iterable(kind)


def pairs(container: Any) -> Iterable[tuple[Any, Any]]:
    """The pairs of a comprehension with two variables: positions and elements, or keys and values."""
    kind = kind_of(container)
    if kind == "list":
        return enumerate(watched(container))
    if kind == "map":
        return watched([(plain_key(key), value) for key, value in container.items()])
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
            return container[key_or_none(key)]
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
    if isinstance(value, MadeObject):
        return value.fields.get(field)
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
    return isinstance(value, MadeObject) and field in value.fields


def optional_index(value: Any, key: Any) -> Optional:
    """``value.?key`` and ``value[?key]``: an empty optional if there is no entry."""
    if type(value) is Optional:
        if not value.present:
            return NONE
        value = value.value
    kind = kind_of(value)
    if kind == "map":
        found = key_or_none(key)
        return Optional(True, value[found]) if kind_of(key) in KEYS and found in value else NONE
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
    """A map literal's value; of a repeated key the last entry counts."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        found[key_of(key)] = value
    return found
