"""The merge of an applied configuration into a live value, by the rules of the schema.

structured-merge-diff v4.4, typed/merge.go.

Upstream: sigs.k8s.io/structured-merge-diff/v4/typed/merge.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.language.merge.type_def import ABSENT, ANY, LEAF, MAP, TypeDef


def merged(live: Any, applied: Any, type_def: TypeDef) -> Any:
    """The live value with the applied one merged into it; neither argument is changed.

    What the intent leaves out stays. Elements of keyed lists and sets take the order of the intent as far as it has
    them; the others stand where they stood. Doubled elements of a live list stay while the intent does not name them.

    Notes
    -----
    Shares what it does not change with both arguments. The intent must be valid: see ``checked``.
    """
    if live is ABSENT:
        return applied
    if applied is ABSENT:
        return live
    kind = type_def.kind
    if kind is MAP or kind is ANY:
        return _merged_maps(live, applied, type_def)
    if kind is LEAF or not (live or applied):
        return applied
    return _merged_lists(live or [], applied or [], type_def) if _both(list, live, applied) else applied


def _both(kind: type, *values: Any) -> bool:
    return all(value is None or isinstance(value, kind) for value in values)


def _merged_maps(live: Any, applied: Any, type_def: TypeDef) -> Any:
    if not (live or applied) or not _both(dict, live, applied):
        return applied
    out = dict(live or {})
    for name, value in (applied or {}).items():
        child = type_def.child(name)
        out[name] = value if name not in out or child is None else merged(out[name], value, child)
    return out


def _merged_lists(live: Sequence[Any], applied: Sequence[Any], type_def: TypeDef) -> list[Any]:
    ours = {type_def.element(item): item for item in applied}
    theirs = [type_def.element(item) for item in live]
    known = _unless_doubled(theirs, live)
    return [
        merged(known.get(element, ABSENT), ours[element], type_def.items) if element in ours else live[place]
        for element, place in _order(theirs, list(ours))
    ]


def _unless_doubled(elements: Sequence[str], items: Sequence[Any]) -> Mapping[str, Any]:
    """The items by path element; elements with duplicate keys are left out, since they cannot be merged."""
    out: dict[str, Any] = {}
    for element, item in zip(elements, items, strict=True):
        out[element] = ABSENT if element in out else item
    return out


def _order(live: Sequence[str], applied: Sequence[str]) -> Sequence[tuple[str, int]]:
    """The elements of a merged list, each with its position in the live one (-1 for new ones).

    The applied elements come in their order. An element that only the live list has comes before the first shared one
    that it stood before, as far as that one has not come yet::

        live a b c, applied c x a  ->  b c x a      (b stays in front of c; a waits for its turn)
    """
    out: list[tuple[str, int]] = []
    present = set(live)
    shared = [element for element in applied if element in present]
    wanted, done = set(shared), set[str]()
    left = right = 0
    while left < len(live) or right < len(applied):
        if left < len(live) and right < len(applied):
            if live[left] == applied[right]:
                done.add(live[left])
                out.append((live[left], left))
                left, right = left + 1, right + 1
                shared = shared[1:]
                continue
            if live[left] in wanted and shared and shared[0] != live[left]:
                left += 1
                continue
        if left < len(live):
            if live[left] not in wanted:
                out.append((live[left], left))
                left += 1
                continue
            if live[left] in done:
                left += 1
        if right < len(applied):
            done.add(applied[right])
            out.append((applied[right], -1))
            if shared and shared[0] == applied[right]:
                shared = shared[1:]
            right += 1
    return out
