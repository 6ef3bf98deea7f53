"""Two values of one type compared and merged, and the fields of one value, all by the rules of the schema.

structured-merge-diff v4.4, typed/compare.go, typed/tofieldset.go and typed/merge.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from simkit.language.merge.fieldset import EMPTY, MEMBER, SELF, Fields, Node, recursive_difference, union
from simkit.language.merge.type_def import ABSENT, ANY, LEAF, LIST, MAP, SET, BadElement, TypeDef


class Comparison(NamedTuple):
    """The fields that were added, modified and removed between two values."""

    added: Fields
    modified: Fields
    removed: Fields

    @property
    def changed(self) -> Fields:
        """The added and modified fields."""
        return union(self.added, self.modified)

    def without(self, ignored: Fields) -> Comparison:
        """The comparison without some fields and everything below them."""
        return Comparison(*(recursive_difference(fields, ignored) for fields in self)) if ignored else self


NO_DIFFERENCE: Final = Comparison(EMPTY, EMPTY, EMPTY)


def field_set(value: Any, type_def: TypeDef) -> Fields:
    """The fields of a value that its applier owns."""
    node = _fields(value, type_def)
    return {key: child for key, child in node.items() if key != SELF}


def owned_node(value: Any, type_def: TypeDef) -> Node:
    """The node of a path whose manager owns the path itself and the fields of its value."""
    node = _fields(value, type_def)
    return {SELF: MEMBER, **node} if node else MEMBER


def _fields(value: Any, type_def: TypeDef) -> Node:
    """The node below a value; the caller decides about the membership of its own path."""
    kind = type_def.kind
    if isinstance(value, dict) and kind in (MAP, ANY):
        return _fields_of_map(value, type_def)
    if isinstance(value, list) and kind in (LIST, SET):
        return _fields_of_list(value, type_def)
    return {}


def _owned_whole(value: Any, type_def: TypeDef) -> bool:
    """True if a path with this value is a member by itself: leaves, null and empty maps."""
    if value is None or value == {} or type_def.kind is LEAF:
        return True
    return type_def.kind is ANY and not isinstance(value, dict)


def _fields_of_map(value: Mapping[str, Any], type_def: TypeDef) -> Node:
    out: Node = {}
    declared = type_def.fields
    for name, item in value.items():
        entry = declared.get(name)
        child = entry.type_def if entry else type_def.values
        if child is None:
            continue
        if entry is None or _owned_whole(item, child):
            out[f"f:{name}"] = owned_node(item, child)
        elif node := _fields(item, child):
            out[entry.element] = node
    return out


def _fields_of_list(value: Sequence[Any], type_def: TypeDef) -> Node:
    out: Node = {}
    for element, found in grouped(value, type_def).items():
        out[element] = owned_node(found[0], type_def.items) if len(found) == 1 else MEMBER
    return out


def grouped(items: Sequence[Any] | None, type_def: TypeDef) -> dict[str, list[Any]]:
    """The elements of a LIST or SET by path element; several if a key is duplicated."""
    out: dict[str, list[Any]] = {}
    for item in items or ():
        try:
            out.setdefault(type_def.element(item), []).append(item)
        except BadElement:
            continue
    return out


def _told_apart(items: Sequence[Any], type_def: TypeDef) -> dict[str, list[Any]]:
    """The elements of a LIST or SET by path element. Raises BadElement for one that cannot be told from others."""
    out: dict[str, list[Any]] = {}
    for item in items:
        out.setdefault(type_def.element(item), []).append(item)
    return out


def identity(value: Any) -> Hashable:
    """A hashable form of a JSON value, equal for two values exactly if they are the ``same``.

    Examples
    --------
    >>> identity({"a": [1, 2]}) == identity({"a": [1.0, 2]}), identity(True) == identity(1)
    (True, False)
    """
    if isinstance(value, dict):
        return dict, frozenset((key, identity(item)) for key, item in value.items())
    if isinstance(value, list):
        return list, tuple(map(identity, value))
    return isinstance(value, bool), value


def same(one: Any, other: Any) -> bool:
    """True if two JSON values are equal: numbers by size, and true is not 1."""
    if one is other:
        return True
    if isinstance(one, dict):
        if not isinstance(other, dict) or one.keys() != other.keys():
            return False
        return all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        if not isinstance(other, list) or len(one) != len(other):
            return False
        return all(map(same, one, other))
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def _surely_same(one: Any, other: Any, type_def: TypeDef) -> bool:
    """True if two values are surely the same, by a quick comparison; objects of built-in kinds hold no number for a
    bool."""
    if one is other:
        return True
    return bool(one == other) and (type_def.structured or orjson.dumps(one) == orjson.dumps(other))


def compare(old: Any, new: Any, type_def: TypeDef) -> Comparison:
    """The changes from one object to another.

    ``old`` may be None for an object that is about to be created: then everything is added, except that the empty
    parts that every object of a built-in kind has are there before.

    Raises
    ------
    BadElement
        Where a list that differs has an element without its keys.

    Notes
    -----
    O(size of what differs), after one look at both whole objects.
    """
    old = {} if old is None else old
    if _surely_same(old, new, type_def):
        return NO_DIFFERENCE
    return Comparison(*(fields or EMPTY for fields in _compare_maps(old, new, type_def)))


_Triple = tuple[Node | None, Node | None, Node | None]
_SAME: Final[_Triple] = (None, None, None)
_MODIFIED: Final[_Triple] = (None, MEMBER, None)


def _compare(old: Any, new: Any, type_def: TypeDef) -> _Triple:
    """The nodes of the fields added, modified and removed at one path and below; None if none."""
    if old is ABSENT:
        return (every(new, type_def), None, None)
    if new is ABSENT:
        return (None, None, every(old, type_def))
    kind = type_def.kind
    if kind is MAP or kind is ANY:
        if (old or new) and _both(dict, old, new):
            return _compare_maps(old or {}, new or {}, type_def, fieldless=old is None)
        if kind is ANY:
            return _compare_mixed(old, new, type_def)
    elif kind is not LEAF and (old or new) and _both(list, old, new):
        return _compare_lists(old or (), new or (), type_def)
    return _SAME if same(old, new) else _MODIFIED


def _compare_mixed(old: Any, new: Any, type_def: TypeDef) -> _Triple:
    """The changes between a map and another value: entries are added or removed, the path is modified."""
    if same(old, new):
        return _SAME
    added = _fields_of_map(new, type_def) if isinstance(new, dict) else None
    removed = _fields_of_map(old, type_def) if isinstance(old, dict) else None
    return (added or None, MEMBER, removed or None)


class _Gathered:
    """The three nodes of a comparison under construction."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: Node = {}
        self.modified: Node = {}
        self.removed: Node = {}

    def take(self, element: str, found: _Triple) -> None:
        added, modified, removed = found
        if added is not None:
            self.added[element] = added
        if modified is not None:
            self.modified[element] = modified
        if removed is not None:
            self.removed[element] = removed

    def triple(self) -> _Triple:
        return (self.added or None, self.modified or None, self.removed or None)


def _compare_maps(
    old: Mapping[str, Any], new: Mapping[str, Any], type_def: TypeDef, *, fieldless: bool = False
) -> _Triple:
    """The changes of a map; one that was null had no fields, not even those that Go writes with their zero values."""
    out = _Gathered()
    declared = type_def.fields
    for name in new if not old else {**old, **new}:
        entry = declared.get(name)
        if entry:
            element, child, absent = entry
            absent = ABSENT if fieldless else absent
        elif type_def.values is not None:
            element, child, absent = f"f:{name}", type_def.values, ABSENT
        else:
            continue
        before, after = old.get(name, absent), new.get(name, absent)
        if before is after:
            continue
        if before is ABSENT or after is ABSENT or not _surely_same(before, after, child):
            found = _compare(before, after, child)
            if found is not _SAME:
                out.take(element, found)
    return out.triple()


def _compare_lists(old: Sequence[Any], new: Sequence[Any], type_def: TypeDef) -> _Triple:
    out = _Gathered()
    before, after = _told_apart(old, type_def), _told_apart(new, type_def)
    for element in {**before, **after}:
        _compare_elements(before.get(element, []), after.get(element, []), element, type_def.items, out)
    return out.triple()


def _compare_elements(old: list[Any], new: list[Any], element: str, type_def: TypeDef, out: _Gathered) -> None:
    """Compare one path element of a list. Duplicates are one leaf: fields below them have no manager of their own."""
    if len(old) < 2 and len(new) < 2:
        out.take(element, _compare(old[0] if old else ABSENT, new[0] if new else ABSENT, type_def))
    elif len(old) > 1 and len(new) > 1:
        if not same(old, new):
            out.modified[element] = MEMBER
    elif len(old) > 1:
        out.removed[element] = MEMBER
        if new:
            out.added[element] = every(new[0], type_def)
    else:
        out.added[element] = MEMBER
        if old:
            out.removed[element] = every(old[0], type_def)


def every(value: Any, type_def: TypeDef) -> Node:
    """The node of a value that was added or removed as a whole: its path and everything below."""
    kind = type_def.kind
    if not value or kind is LEAF:
        return MEMBER
    if isinstance(value, dict):
        if kind is MAP or kind is ANY:
            return _every_entry(value, type_def)
    elif isinstance(value, list) and (kind is LIST or kind is SET):
        return _every_element(value, type_def)
    return MEMBER


def _every_entry(value: Mapping[str, Any], type_def: TypeDef) -> Node:
    node: Node = {SELF: MEMBER}
    declared, others = type_def.fields, type_def.values
    for name, item in value.items():
        entry = declared.get(name)
        if entry is not None:
            child = entry.type_def
            node[entry.element] = MEMBER if child.kind is LEAF else every(item, child)
        elif others is not None:
            node[f"f:{name}"] = MEMBER if others.kind is LEAF else every(item, others)
    return node


def _every_element(value: Sequence[Any], type_def: TypeDef) -> Node:
    node: Node = {SELF: MEMBER}
    child = type_def.items
    for element, found in _told_apart(value, type_def).items():
        node[element] = every(found[0], child) if len(found) == 1 else MEMBER
    return node


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
