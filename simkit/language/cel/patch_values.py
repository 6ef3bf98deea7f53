"""The values of objects and patches that expressions of mutating policies make, and their JSON.

k8s.io/apiserver/pkg/cel/mutation/jsonpatch.go and cel/mutation/dynamic/objects.go, release 1.36.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.values import Duration, Timestamp, kind_of
from simkit.meta.deadline import check_deadline

MOST_PARTS: Final = 200_000
"""Lists, maps and scalars of a value that a policy sets: as many as a body of JSON may hold lists and maps."""
OBJECT_NAME: Final = "Object"
JSON_PATCH_NAME: Final = "JSONPatch"
TEXTS: Final = ("op", "path", "from")
"""The fields of a patch that are texts."""


def is_patch_name(name: str) -> bool:
    """True for the names of types that only mutations have."""
    return name in (OBJECT_NAME, JSON_PATCH_NAME) or name.startswith(f"{OBJECT_NAME}.")


class MadeObject:
    """A value of the type ``Object`` or of one below it."""

    __slots__ = ("cel_kind", "fields")

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.cel_kind, self.fields = name, fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MadeObject) and (self.cel_kind, self.fields) == (other.cel_kind, other.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.cel_kind}{{{', '.join(self.fields)}}}"


class JSONPatchOperation(dict[str, Any]):
    """A value of the type ``JSONPatch``: texts that are not given are empty, a value that is not given is missing."""

    cel_kind: Final = JSON_PATCH_NAME


def made_message(name: str, entries: Iterator[tuple[str, Any]] | list[tuple[str, Any]]) -> Any:
    """The value of ``NAME{field: value}``. Raises EvaluationError for a patch whose texts are no texts."""
    fields = dict(entries)
    if name != JSON_PATCH_NAME:
        return MadeObject(name, fields)
    for field in TEXTS:
        if kind_of(fields.setdefault(field, "")) != "string":
            kind = _GO_TYPES.get(kind_of(fields[field]), kind_of(fields[field]))
            raise EvaluationError(f"unexpected type {kind} for JSONPatchType '{field}' field")
    return JSONPatchOperation(fields)


_GO_TYPES: Final = {
    "int": "int64",
    "uint": "uint64",
    "double": "float64",
    "bytes": "[]uint8",
    "null": "structpb.NullValue",
    "duration": "time.Duration",
    "timestamp": "time.Time",
}


class UnfitNames(Exception):
    """Type names of an object that are not the names of the fields which hold the values."""


def checked_names(made: MadeObject) -> MadeObject:
    """The object, whose values have the types that their fields are named by. Raises UnfitNames."""
    wrong = list(_wrong_names(made, made.cel_kind))
    if wrong:
        raise UnfitNames("\n".join(wrong))
    return made


def _wrong_names(value: Any, path: str) -> Iterator[str]:
    check_deadline()
    if isinstance(value, MadeObject):
        if value.cel_kind != path:
            yield (
                f'unexpected type name "{value.cel_kind}", expected "{path}", which matches field name path from root '
                "Object type"
            )
        for name, field in value.fields.items():
            yield from _wrong_names(field, f"{path}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from _wrong_names(each, path)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _wrong_names(each, path)


class Literal:
    """A map or list literal inside of a field's map or list, which kube-apiserver does not turn into JSON."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        return _shown(self._value, count(1))


def _shown(value: Any, parts: Iterator[int]) -> str:
    """The value as Go prints it; an ellipsis in place of what it holds beyond a limit."""
    if next(parts) > MOST_PARTS:
        return "..."
    if isinstance(value, dict):
        return f"map[{' '.join(sorted(f'{name}:{_shown(item, parts)}' for name, item in value.items()))}]"
    if not isinstance(value, list):
        return str(value)
    shown: list[str] = []
    for each in value:
        shown.append(_shown(each, parts))
        if shown[-1] == "...":
            break
    return f"[{' '.join(shown)}]"


class LiteralMap(dict[Any, Any]):
    """The value of a map literal in a mutation, as opposed to a map out of an object."""

    cel_kind: Final = "map"


class LiteralList(list[Any]):
    """The value of a list literal in a mutation."""

    cel_kind: Final = "list"


def configuration(made: MadeObject) -> dict[str, Any]:
    """The JSON of an object that an expression made. Raises EvaluationError for a key that is no string."""
    return {name: _field(value) for name, value in made.fields.items()}


def _field(value: Any) -> Any:
    if isinstance(value, list):
        return [_inner(each) for each in value]
    if isinstance(value, dict):
        for name in value:
            if not isinstance(name, str):
                raise EvaluationError(f"map key {name!r} is not a string")
        return {name: _inner(each) for name, each in value.items()}
    return _inner(value)


def _inner(value: Any) -> Any:
    if isinstance(value, MadeObject):
        return configuration(value)
    return Literal(value) if isinstance(value, LiteralMap | LiteralList) else value


def patch_value(value: Any) -> Any:
    """A value of the language as the JSON of a patch's value.

    Raises EvaluationError for a key that is no string, and for a value that holds itself too many times.
    """
    return _plain(value, count(1))


def _plain(value: Any, parts: Iterator[int]) -> Any:
    if next(parts) > MOST_PARTS:
        raise EvaluationError(f"a value of more than {MOST_PARTS} parts")
    if isinstance(value, MadeObject):
        return {name: _plain(field, parts) for name, field in value.fields.items()}
    if isinstance(value, Mapping):
        return {_key(name): _plain(field, parts) for name, field in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, parts) for each in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE:
        return str(int(value))
    return str(value) if isinstance(value, Duration | Timestamp) else value


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise EvaluationError(f"bad key type: {name!r}")
    return name


_SAFE: Final = 2**53 - 1
"""The greatest number that is a number in JSON for every reader."""
