"""The order of a list after a strategic merge.

Elements of the patch keep the order of the patch, those that only the server has keep theirs. The two are woven
together so that an element of the server stands before the first one of the patch that stood behind it.

normalizeElementOrder in k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.language.merge.refusal import failed
from simkit.language.merge.typed import same
from simkit.meta.gotext import format_value


def arranged(merged: Sequence[Any], wanted: Sequence[Any], live: Sequence[Any], key: str) -> list[Any]:
    """The merged elements in their final order.

    Parameters
    ----------
    merged
        All elements.
    wanted
        Elements in the order of the patch; those of a keyed list need only their key.
    live
        Elements in the order in which the server had them.
    key
        The merge key, empty for scalars.

    Examples
    --------
    >>> arranged(["a", "b", "c"], ["c", "a"], ["a", "b"], "")
    ['c', 'a', 'b']
    """
    first, before = _keys(wanted, key), _keys(live, key)
    ours: list[tuple[int, Any]] = []
    theirs: list[tuple[int, Any]] = []
    for item in merged:
        place = _place(first, _key(item, key))
        (theirs if place < 0 else ours).append((place, item))
    patched = [item for _, item in sorted(ours, key=lambda found: found[0])]
    kept = [item for _, item in theirs]
    return _woven(sorted(kept, key=lambda item: _place(before, _key(item, key))), patched, before, key)


def _woven(kept: list[Any], patched: list[Any], before: Sequence[Any], key: str) -> list[Any]:
    out: list[Any] = []
    kept, patched = list(kept), list(patched)
    while kept and patched:
        left, right = _place(before, _key(kept[0], key)), _place(before, _key(patched[0], key))
        out.append(kept.pop(0) if 0 <= left < right else patched.pop(0))
    return [*out, *kept, *patched]


def _keys(items: Sequence[Any], key: str) -> list[Any]:
    for place, item in enumerate(items):
        if key and not isinstance(item, dict):
            raise failed(f"value for key {place} is not a map")
    return [_key(item, key) for item in items]


def _key(item: Any, key: str) -> Any:
    if not key:
        return item
    if key not in item:
        raise failed(f"map: {format_value(item)} does not contain declared merge key: {key}")
    return item[key]


def _place(keys: Sequence[Any], value: Any) -> int:
    """Where a key stands first; -1 for nowhere."""
    return next((place for place, known in enumerate(keys) if same(known, value)), -1)
