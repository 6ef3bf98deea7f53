"""JSON Patch (RFC 6902) as kube-apiserver applies it.

Where it departs from the RFC: a path may lack its leading slash (then its first part is ignored), the document itself
is a target for ``replace`` and ``test`` alone, and nothing but an object or a list replaces it, ``replace`` and
``copy`` take a missing key for null, ``-1`` is the last place of a list, and ``test`` takes null and a missing key for
the same.

github.com/evanphx/json-patch 4.12, which release 1.30 uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson

from simkit.language.merge.mergepatch import PatchError, malformed, unfitting, without_nulls
from simkit.meta.go_json import go_kind, nested, sorted_keys
from simkit.meta.integers import parse_int, saturating_int
from simkit.meta.objects import copied

MAX_OPERATIONS: Final = 10_000
MAX_COPIED: Final = 3 * 1024 * 1024
"""The most bytes, as JSON, that the ``copy`` operations of one patch may copy."""

Operation = Mapping[str, Any]
Root = dict[str, Any]
"""The holder of the document, under ``_ROOT``: an operation may replace it."""
_ROOT: Final = ""

_FIELDS: Final = frozenset({"op", "path", "from", "value"})
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
    _check_length(patch)
    return [operation or {} for operation in patch]


def loosely_checked(patch: Any) -> Sequence[Operation]:
    """The checked patch if unknown fields are ignored; its error texts differ."""
    if patch is not None and not isinstance(patch, list):
        raise malformed(f"json: cannot unmarshal {go_kind(patch)} into Go value of type jsonpatch.Patch")
    operations = [operation if operation is not None else {} for operation in patch or ()]
    for operation in operations:
        if not isinstance(operation, dict):
            raise malformed(f"json: cannot unmarshal {go_kind(operation)} into Go value of type jsonpatch.Operation")
    _check_length(operations)
    return [{name: _text(name, value) for name, value in operation.items()} for operation in operations]


def _text(name: str, value: Any) -> Any:
    """The string in a field of an operation; an error if it is no string."""
    return value if name == "value" or isinstance(value, str) else None


def unknown_fields(patch: Sequence[Operation]) -> list[str]:
    """The paths of unknown fields of operations: ``[0].values``."""
    return [f"[{index}].{name}" for index, given in enumerate(patch) for name in given if name not in _FIELDS]


def _check_length(patch: Sequence[Any]) -> None:
    if len(patch) > MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def _check_operation(operation: Any) -> None:
    if not isinstance(operation, dict):
        raise _undecodable(operation, "handlers.jsonPatchOp")
    for name in ("op", "path", "from"):
        value = operation.get(name)
        if value is not None and not isinstance(value, str):
            raise malformed(
                f"error decoding patch: json: cannot unmarshal {go_kind(value)} "
                f"into Go struct field jsonPatchOp.{name} of type string"
            )


def _undecodable(value: Any, into: str) -> PatchError:
    return malformed(f"error decoding patch: json: cannot unmarshal {go_kind(value)} into Go value of type {into}")


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
    root = {_ROOT: copied(document)}
    try:
        _perform_all(root, operations)
        orjson.dumps(nested(root[_ROOT]))
    except (RecursionError, orjson.JSONEncodeError):
        raise unfitting("exceeded max depth") from None
    return root[_ROOT]


def _perform_all(root: Root, operations: Sequence[Operation]) -> None:
    bytes_copied = 0
    for operation in operations:
        kind = operation.get("op") or ("unknown" if operation.get("op") is None else "")
        perform = _OPERATIONS.get(kind)
        if perform is None:
            raise unfitting(f"Unexpected kind: {kind}")
        bytes_copied += perform(root, operation) or 0
        if bytes_copied > MAX_COPIED:
            raise unfitting(
                f"Unable to complete the copy, the accumulated size increase of copy is {bytes_copied}, "
                f"exceeding the limit {MAX_COPIED}"
            )


def _path(operation: Operation, name: str = "path") -> str:
    path = operation.get(name)
    if path is None:
        raise unfitting(f"{operation['op']} operation failed to decode {name}: missing value")
    return str(path)


def steps(path: str) -> list[str]:
    """The keys of a path; what stands before its first slash is ignored."""
    return [_ESCAPE.sub(lambda found: "/" if found[0] == "~1" else "~", part) for part in path.split("/")[1:]]


def _place(root: Root, path: str, operation: Operation, told: str = "") -> tuple[Any, str]:
    """The container of a path, and the key in it; ``told`` words its absence."""
    parts = steps(path)
    if not parts:
        raise _missing(operation, path, told)
    container = root[_ROOT]
    for part in parts[:-1]:
        try:
            container = _get(container, part)
        except PatchError:
            container = None
        if not isinstance(container, dict | list):
            raise _missing(operation, path, told)
    return container, parts[-1]


_MISSING: Final = {
    "add": 'doc is missing path: "{}"',
    "remove": 'doc is missing path: "{}"',
    "replace": "doc is missing path: {}",
    "test": "is missing path: {}",
}


def _missing(operation: Operation, path: str, told: str = "") -> PatchError:
    text = (told or _MISSING[operation["op"]]).format(path)
    return unfitting(f"{operation['op']} operation does not apply: {text}: missing value")


@contextmanager
def _within(told: str) -> Iterator[None]:
    """A context whose errors get these words in front."""
    try:
        yield
    except PatchError as error:
        raise unfitting(f"{told}: {error.detail}") from None


def _index(text: str, length: int) -> int:
    """A position in a list of some length; negative ones count from the end."""
    index = parse_int(text)
    if index is None:
        error = "invalid syntax" if saturating_int(text) is None else "value out of range"
        raise unfitting(f'strconv.Atoi: parsing "{text}": {error}')
    if not -length <= index < length:
        raise unfitting(f"Unable to access invalid index: {index}: invalid index referenced")
    return index % length


def _get(container: Any, key: str) -> Any:
    """The value at a key; None if an object lacks it."""
    return container.get(key) if isinstance(container, dict) else container[_index(key, len(container))]


def _insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_new_index(key, len(container) + 1), value)


def _new_index(key: str, length: int) -> int:
    if parse_int(key) is not None:
        return _index(key, length)
    with _within(f"value was not a proper array index: '{key}'"):
        return _index(key, length)


def _delete(container: Any, key: str) -> None:
    if isinstance(container, dict):
        if key not in container:
            raise unfitting(f"Unable to remove nonexistent key: {key}: missing value")
        del container[key]
    else:
        del container[_index(key, len(container))]


def _add(root: Root, operation: Operation) -> None:
    path = _path(operation)
    container, key = _place(root, path, operation)
    with _within(f"error in add for path: '{path}'"):
        _insert(container, key, copied(operation.get("value")))


def _remove(root: Root, operation: Operation) -> None:
    path = _path(operation)
    container, key = _place(root, path, operation)
    with _within(f"error in remove for path: '{path}'"):
        _delete(container, key)


def _replace(root: Root, operation: Operation) -> None:
    path, value = _path(operation), copied(operation.get("value"))
    if not path:
        if isinstance(value, dict | list):
            root[_ROOT] = value
        return
    container, key = _place(root, path, operation)
    if isinstance(container, dict):
        container[key] = value
        return
    try:
        container[_index(key, len(container))] = value
    except PatchError:
        raise _missing(operation, path, "doc is missing key: {}") from None


def _move(root: Root, operation: Operation) -> None:
    container, key = _place(root, _path(operation, "from"), operation, "doc is missing from path: {}")
    with _within(f"error in move for path: '{key}'"):
        value = _get(container, key)
        _delete(container, key)
    path = _path(operation)
    container, key = _place(root, path, operation, "doc is missing destination path: {}")
    with _within(f"error in move for path: '{path}'"):
        _insert(container, key, value)


def _copy(root: Root, operation: Operation) -> int:
    origin = _path(operation, "from")
    container, key = _place(root, origin, operation, "doc is missing from path: {}")
    with _within(f"error in copy for from: '{origin}'"):
        value = copied(_get(container, key))
    path = _path(operation)
    container, key = _place(root, path, operation, "doc is missing destination path: {}")
    with _within("error while adding value during copy"):
        _insert(container, key, value)
    return len(orjson.dumps(value))


def _test(root: Root, operation: Operation) -> None:
    path = _path(operation)
    container, key = _place(root, path, operation) if path else (root, _ROOT)
    with _within(f"error in test for path: '{path}'"):
        found = _get(container, key)
    if not _equal(found, operation.get("value")):
        raise unfitting(f"testing value {path} failed: test failed")


def _equal(one: Any, other: Any) -> bool:
    """True if two values are equal as written: 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


_OPERATIONS: Final[Mapping[str, Callable[[Root, Operation], int | None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def merged_in_order(document: Any, patch: Any) -> Any:
    """The document with a merge patch applied, in order.

    Examples
    --------
    >>> merged_in_order({"name": "a", "data": {"z": 1, "a": 2}, "b": {"y": 1, "x": 2}}, {"data": {"c": 3}})
    {'b': {'y': 1, 'x': 2}, 'data': {'a': 2, 'c': 3, 'z': 1}, 'name': 'a'}
    """
    if not isinstance(document, dict):
        return sorted_keys(without_nulls(patch))
    if not isinstance(patch, dict):
        return patch
    merged = {name: value for name, value in document.items() if name not in patch}
    for name, value in patch.items():
        if value is not None:
            known = document.get(name)
            merged[name] = sorted_keys(without_nulls(value)) if known is None else merged_in_order(known, value)
    return {name: merged[name] for name in sorted(merged)}


def patched_in_order(document: Any, operations: Sequence[Operation]) -> Any:
    """The document after the operations of a JSON patch, in order.

    Examples
    --------
    >>> patched_in_order({"z": {"y": 1, "x": 2}, "b": {"d": 1, "c": 2}}, [{"op": "add", "path": "/b/e", "value": 1}])
    {'b': {'c': 2, 'd': 1, 'e': 1}, 'z': {'y': 1, 'x': 2}}
    """
    patched = json_patch(document, operations)
    for place in sorted({place for operation in operations for place in _touched(operation)}, key=len):
        patched = _sorted_at(patched, place)
    return patched


def _touched(operation: Operation) -> Iterator[tuple[str, ...]]:
    """The places of the containers that an operation looks into."""
    for name in ("path", "from") if operation.get("op") in ("move", "copy") else ("path",):
        path = steps(operation.get(name) or "")
        ends = len(path) if operation.get("op") != "test" else len(path) + 1
        yield from (tuple(path[:end]) for end in range(ends))


def _sorted_at(value: Any, place: Sequence[str]) -> Any:
    if not place:
        return {name: value[name] for name in sorted(value)} if isinstance(value, dict) else value
    step, rest = place[0], place[1:]
    if isinstance(value, dict) and step in value:
        return {name: _sorted_at(item, rest) if name == step else item for name, item in value.items()}
    if isinstance(value, list) and step.isdigit() and int(step) < len(value):
        return [_sorted_at(item, rest) if index == int(step) else item for index, item in enumerate(value)]
    return value
