"""The order of a list after a strategic merge.

Elements of the patch keep the order of the patch, those that only the server has keep theirs. The two are woven
together so that an element of the server stands before the first one of the patch that stood behind it.

normalizeElementOrder in k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from simkit.language.merge.refusal import failed
from simkit.language.merge.typed import identity
from simkit.meta.go_fmt import format_value


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
    first, before = _places(wanted, key), _places(live, key)
    ours: list[tuple[int, Any]] = []
    theirs: list[tuple[int, Any]] = []
    for item in merged:
        place = first.get(_key(item, key), -1)
        (theirs if place < 0 else ours).append((place, item))
    patched = [item for _, item in sorted(ours, key=lambda found: found[0])]
    kept = [item for _, item in theirs]
    return _woven(sorted(kept, key=lambda item: before.get(_key(item, key), -1)), patched, before, key)


def _woven(kept: Sequence[Any], patched: Sequence[Any], before: Mapping[Hashable, int], key: str) -> list[Any]:
    out: list[Any] = []
    mine, theirs = 0, 0
    while theirs < len(kept) and mine < len(patched):
        left, right = before.get(_key(kept[theirs], key), -1), before.get(_key(patched[mine], key), -1)
        if 0 <= left < right:
            out.append(kept[theirs])
            theirs += 1
        else:
            out.append(patched[mine])
            mine += 1
    return [*out, *kept[theirs:], *patched[mine:]]


def _places(items: Sequence[Any], key: str) -> dict[Hashable, int]:
    """The first position of each key."""
    for place, item in enumerate(items):
        if key and not isinstance(item, dict):
            raise failed(f"value for key {place} is not a map")
    places: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        places.setdefault(_key(item, key), place)
    return places


def _key(item: Any, key: str) -> Hashable:
    if not key:
        return identity(item)
    if key not in item:
        raise failed(f"map: {format_value(item)} does not contain declared merge key: {key}")
    return identity(item[key])
