"""JSON Patch (RFC 6902) as the real server applies it.

Where it departs from the RFC: a path may lack its leading slash (then its first part is ignored), the document itself
is no target, ``replace`` and ``copy`` take a missing key for null, ``-1`` is the last place of a list, and ``test``
takes null and a missing key for the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.language.merge.gotext import json_type
from simkit.language.merge.refusal import PatchError, malformed, unfitting
from simkit.meta.objects import copied

MAX_OPERATIONS: Final = 10_000
MAX_COPIED: Final = 3 * 1024 * 1024
"""Bytes, as JSON, that the ``copy`` operations of one patch may copy together."""

Operation = Mapping[str, Any]

_INDEX: Final = re.compile(r"[+-]?[0-9]+")
_ESCAPE: Final = re.compile("~[01]")


def checked_json_patch(patch: Any) -> Sequence[Operation]:
    """A decoded body as a JSON patch.

    Raises
    ------
    PatchError
        400 where it is no list of operations, 413 where it is too long.
    """
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "[]handlers.jsonPatchOp")
    for operation in patch:
        if operation is not None:
            _check_operation(operation)
    if len(patch) > MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")
    return [operation or {} for operation in patch]


def _check_operation(operation: Any) -> None:
    if not isinstance(operation, dict):
        raise _undecodable(operation, "handlers.jsonPatchOp")
    for name in ("op", "path", "from"):
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            raise malformed(
                f"error decoding patch: json: cannot unmarshal {json_type(value)} "
                f"into Go struct field jsonPatchOp.{name} of type string"
            )


def _undecodable(value: Any, into: str) -> PatchError:
    return malformed(f"error decoding patch: json: cannot unmarshal {json_type(value)} into Go value of type {into}")


def json_patch(document: Any, operations: Sequence[Operation]) -> Any:
    """The document after all operations; the argument is not changed.

    Parameters
    ----------
    document
        An object or a list.
    operations
        As ``checked_json_patch`` gives them.

    Raises
    ------
    PatchError
        422 where an operation does not fit or a test fails. Then none of the patch counts.

    Examples
    --------
    >>> json_patch({"a": [1, 2]}, [{"op": "add", "path": "/a/1", "value": 9}])
    {'a': [1, 9, 2]}
    """
    if not operations:
        return document
    draft, bytes_copied = copied(document), 0
    for operation in operations:
        kind = operation.get("op") or ("unknown" if operation.get("op") is None else "")
        perform = _OPERATIONS.get(kind)
        if perform is None:
            raise unfitting(f"Unexpected kind: {kind}")
        bytes_copied += perform(draft, operation) or 0
        if bytes_copied > MAX_COPIED:
            raise unfitting(
                f"Unable to complete the copy, the accumulated size increase of copy is {bytes_copied}, "
                f"exceeding the limit {MAX_COPIED}"
            )
    return draft


def _path(operation: Operation, name: str = "path") -> str:
    path = operation.get(name)
    if path is None:
        raise unfitting(f"{operation['op']} operation failed to decode {name}: missing value")
    return str(path)


def _place(draft: Any, path: str, operation: Operation) -> tuple[Any, str]:
    """The container that a path leads into, and the key in it."""
    parts = [_ESCAPE.sub(lambda found: "/" if found[0] == "~1" else "~", part) for part in path.split("/")]
    if len(parts) < 2:
        raise _missing(operation, path)
    container = draft
    for part in parts[1:-1]:
        try:
            container = _get(container, part)
        except PatchError:
            container = None
        if not isinstance(container, dict | list):
            raise _missing(operation, path)
    return container, parts[-1]


def _missing(operation: Operation, path: str) -> PatchError:
    return unfitting(f'{operation["op"]} operation does not apply: doc is missing path: "{path}": missing value')


def _index(text: str, length: int) -> int:
    """A position in a list of some length; negative ones count from its end."""
    if not _INDEX.fullmatch(text):
        raise unfitting(f'strconv.Atoi: parsing "{text}": invalid syntax')
    index = int(text)
    if not -length <= index < length:
        raise unfitting(f"Unable to access invalid index: {index}: invalid index referenced")
    return index % length


def _get(container: Any, key: str) -> Any:
    """What stands at a key; None for nothing in an object."""
    return container.get(key) if isinstance(container, dict) else container[_index(key, len(container))]


def _insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _delete(container: Any, key: str) -> None:
    if isinstance(container, dict):
        if key not in container:
            raise unfitting(f"Unable to remove nonexistent key: {key}: missing value")
        del container[key]
    else:
        del container[_index(key, len(container))]


def _add(draft: Any, operation: Operation) -> None:
    container, key = _place(draft, _path(operation), operation)
    _insert(container, key, copied(operation.get("value")))


def _remove(draft: Any, operation: Operation) -> None:
    container, key = _place(draft, _path(operation), operation)
    _delete(container, key)


def _replace(draft: Any, operation: Operation) -> None:
    container, key = _place(draft, _path(operation), operation)
    value = copied(operation.get("value"))
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_index(key, len(container))] = value


def _move(draft: Any, operation: Operation) -> None:
    container, key = _place(draft, _path(operation, "from"), operation)
    value = _get(container, key)
    _delete(container, key)
    container, key = _place(draft, _path(operation), operation)
    _insert(container, key, value)


def _copy(draft: Any, operation: Operation) -> int:
    container, key = _place(draft, _path(operation, "from"), operation)
    value = copied(_get(container, key))
    container, key = _place(draft, _path(operation), operation)
    _insert(container, key, value)
    return len(orjson.dumps(value))


def _test(draft: Any, operation: Operation) -> None:
    path = _path(operation)
    container, key = _place(draft, path, operation)
    if not _equal(_get(container, key), operation.get("value")):
        raise unfitting(f"testing value {path} failed: test failed")


def _equal(one: Any, other: Any) -> bool:
    """Equality as written: 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


_OPERATIONS: Final[Mapping[str, Callable[[Any, Operation], int | None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
