"""Patched objects in the order of github.com/evanphx/json-patch, for messages that show them.

What a patch does not touch keeps its order. An object that it looks into is a Go map from then on, so its keys are
sorted. What a merge patch adds is sorted too, unless it takes the place of an object and is none.

References
----------
github.com/evanphx/json-patch 4.12, ``mergeDocs`` in merge.go and ``lazyNode.MarshalJSON`` in patch.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simkit.language.merge.jsonpatch import Operation, json_patch, steps
from simkit.language.merge.mergepatch import without_nulls
from simkit.meta.go_json import sorted_keys


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
