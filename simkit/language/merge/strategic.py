"""Strategic merge patch: lists merge by their merge key, and directives change the merge.

Directives: ``$patch`` (replace, delete) in an object or list element, ``$retainKeys`` in an object,
``$deleteFromPrimitiveList/<field>`` and ``$setElementOrder/<field>`` beside a list.

k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, release 1.30.

Upstream: k8s.io/apimachinery/pkg/util/mergepatch/errors.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, Final

from simkit.language.merge.mergepatch import PatchError, failed, malformed, unfitting, without_nulls
from simkit.language.merge.typed import identity, same
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.go_fmt import format_string, format_value, type_name
from simkit.meta.go_json import go_kind
from simkit.schema.structural import Schema

DIRECTIVE: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_FROM: Final = "$deleteFromPrimitiveList"
SET_ORDER: Final = "$setElementOrder"

Item = dict[str, Any]


def checked_strategic_patch(patch: Any) -> Mapping[str, Any]:
    """A decoded body as a strategic merge patch. Raises a 400 PatchError for anything but an object."""
    if patch is None:
        return {}
    if not isinstance(patch, dict):
        into = "map[string]interface {}"
        raise malformed(f"json: cannot unmarshal {go_kind(patch)} into Go value of type {into}")
    return patch


def strategic_merge(
    behaviour: ServedBehaviour, document: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema
) -> dict[str, Any]:
    """The document with a strategic merge patch applied; neither argument is changed.

    Parameters
    ----------
    document
        The live object in the request's version.
    patch
        What ``checked_strategic_patch`` gives.
    schema
        The schema of the request's version, which carries patch strategies and merge keys.

    Raises
    ------
    PatchError
        400 for malformed directives, 422 for lists of lists, 500 for an element without its merge key, an unknown
        ``$patch``, or a field that the schema does not know.

    Notes
    -----
    Elements that are new to a list stand in front of those that were there. Fields below a field that the document
    lacks are taken as they are; from 1.24 on without nulls, and without elements that carry ``$patch``.

    References
    ----------
    Specification, "Updating objects".
    """
    return _merge_maps(behaviour, document, patch, schema)


def _merge_maps(
    behaviour: ServedBehaviour, original: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema | None
) -> Item:
    if DIRECTIVE in patch:
        return _replaced_or_deleted(patch)
    rest = dict(patch)
    draft = _retained(dict(original), rest)
    _merge_ordered_lists(behaviour, draft, rest, schema)
    for name, value in rest.items():
        deletes = name.startswith(DELETE_FROM)
        if deletes:
            name = _field_beside(name, DELETE_FROM, "invalid patch format of primitive list")
        _merge_field(behaviour, draft, name, value, schema, deletes=deletes)
    return draft


def _replaced_or_deleted(patch: Mapping[str, Any]) -> Item:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: Any, patch: Mapping[str, Any]) -> PatchError:
    return failed(f"unknown patch type: {format_string(directive)} in map: {format_value(patch)}")


def _retained(draft: Item, patch: Item) -> Item:
    """The draft with only the fields that ``$retainKeys`` names; the directive is removed from the patch."""
    if RETAIN_KEYS not in patch:
        return draft
    names = patch.pop(RETAIN_KEYS)
    if not isinstance(names, list):
        raise malformed("invalid patch format of retainKeys")
    for name, value in patch.items():
        if value is not None and not name.startswith((DELETE_FROM, SET_ORDER)) and name not in names:
            raise malformed("invalid patch format of retainKeys")
    return {name: value for name, value in draft.items() if name in names}


def _field_beside(name: str, prefix: str, wrong: str) -> str:
    """The field of a directive such as ``$setElementOrder/finalizers``."""
    head, slash, field = name.partition("/")
    if head != prefix or not slash:
        raise malformed(wrong)
    return field


def _merge_field(
    behaviour: ServedBehaviour, draft: Item, name: str, value: Any, schema: Schema | None, *, deletes: bool
) -> None:
    if value is None:
        draft.pop(name, None)
        return
    before = draft.get(name)
    if name not in draft or type(before) is not type(value):
        if not behaviour.applies("nulls-below-new-fields-dropped"):
            draft[name] = value
        elif not deletes:
            _take(draft, name, without_nulls(value))
    elif isinstance(value, dict):
        node = _field(schema, name)
        replaces = "replace" in node.patch_strategy
        draft[name] = value if replaces else _merge_maps(behaviour, draft[name], value, node)
    elif isinstance(value, list):
        draft[name] = _merge_lists(behaviour, draft[name], value, _field(schema, name), deletes=deletes)
    else:
        draft[name] = value


def _take(draft: Item, name: str, value: Any) -> None:
    if _is_directive(value):
        draft.pop(name, None)
    else:
        draft[name] = _without_directives(value)


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def _without_directives(value: Any) -> Any:
    """The value without elements and fields that only contain a directive."""
    if isinstance(value, dict):
        return {name: _without_directives(item) for name, item in value.items() if not _is_directive(item)}
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_directive(item)]
    return value


def _field(schema: Schema | None, name: str) -> Schema:
    """The schema of a field, found as the decoder finds it: by exact name, or by its name in other case."""
    if schema is None or not schema.fields:
        kind = "map" if schema is not None and schema.values is not None else "struct"
        if kind == "map":
            raise failed("merging an object in json but data type is not struct, instead is: map")
        raise failed(
            f'unable to find api field in struct {schema.go_type if schema else ""} for the json field "{name}"'
        )
    node = schema.fields.get(name)
    if node is None:
        folded = name.casefold()
        node = next((each for known, each in schema.fields.items() if known.casefold() == folded), None)
    if node is None:
        raise failed(f'unable to find api field in struct {schema.go_type} for the json field "{name}"')
    return node


# Lists


def _merge_lists(
    behaviour: ServedBehaviour, original: list[Any], patch: list[Any], node: Schema, *, deletes: bool
) -> list[Any]:
    if "merge" not in node.patch_strategy and not deletes:
        return patch
    if not original and not patch:
        return original
    if not _hold_objects(original, patch):
        return _merge_scalars(original, patch, deletes=deletes)
    key = node.patch_merge_key
    if not key:
        raise failed("cannot merge lists without merge key for type struct")
    kept, additions = _special_elements(original, patch, key)
    merged = _merge_elements(behaviour, kept, additions, key, node.items)
    return arranged(merged, additions, kept, key)


def _hold_objects(*lists: Sequence[Any]) -> bool:
    """True if the elements are objects. All must be of one type, and none a list."""
    kinds = list(dict.fromkeys(type(item) for items in lists for item in items))
    if kinds[0] is list:
        raise unfitting("lists of lists are not supported")
    if len(kinds) > 1:
        raise failed(f"list element types are not identical: {format_value(list(lists))}")
    return kinds == [dict]


def _merge_scalars(original: list[Any], patch: list[Any], *, deletes: bool) -> list[Any]:
    if deletes:
        gone = set(map(identity, patch))
        return [item for item in original if identity(item) not in gone]
    return arranged(_distinct([*original, *patch]), patch, original, "")


def _distinct(items: list[Any]) -> list[Any]:
    """The distinct scalars; the last duplicate counts, which affects the order."""
    out, marks = list(items), list(map(identity, items))
    places: dict[Hashable, list[int]] = {}
    for place, mark in enumerate(marks):
        places.setdefault(mark, []).append(place)
    index = 0
    while index < len(out) - 1:
        alike = places[marks[index]]
        while alike:
            place = heappop(alike)
            if not index < place < len(out) or marks[place] != marks[index]:
                continue  # itself, or another element stands there now
            last, mark = out.pop(), marks.pop()
            if place < len(out):
                out[place], marks[place] = last, mark
                heappush(places[mark], place)
        index += 1
    return out


def _special_elements(original: list[Item], patch: list[Item], key: str) -> tuple[list[Item], list[Item]]:
    """The list after elements with ``$patch`` have had their effect, and the other elements."""
    additions: list[Item] = []
    replaces, gone = False, set[Hashable]()
    for element in patch:
        directive = element.get(DIRECTIVE)
        if DIRECTIVE not in element:
            additions.append(element)
        elif directive == "delete":
            gone.add(identity(key_of(element, key)))
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise failed("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, element)
    if replaces:
        return additions, []
    return [item for item in original if key not in item or identity(item[key]) not in gone], additions


def _merge_elements(
    behaviour: ServedBehaviour, original: list[Item], patch: list[Item], key: str, node: Schema | None
) -> list[Item]:
    merged, places = list(original), dict[Hashable, int]()
    for place, item in enumerate(merged):
        if key in item:
            places.setdefault(identity(item[key]), place)
    for element in patch:
        place = places.setdefault(identity(key_of(element, key)), len(merged))
        if place == len(merged):
            merged.append(element)
        else:
            merged[place] = _merge_maps(behaviour, merged[place], element, node)
    return merged


def key_of(element: Mapping[str, Any], key: str) -> Any:
    """The merge key's value. Raises a 500 PatchError for an element without it, and for one that is no map."""
    if not isinstance(element, Mapping) or key not in element:
        raise failed(f"map: {format_value(element)} does not contain declared merge key: {key}")
    return element[key]


# $setElementOrder


def _merge_ordered_lists(behaviour: ServedBehaviour, draft: Item, patch: Item, schema: Schema | None) -> None:
    """Merge the lists that ``$setElementOrder`` orders, and remove them and the directives from the patch."""
    for directive in [name for name in patch if name.startswith(SET_ORDER)]:
        order = _list(patch.pop(directive))
        name = _field_beside(directive, SET_ORDER, "invalid patch format of setElementOrder list")
        live = _list(draft[name]) if name in draft else None
        change = _list(patch[name]) if name in patch else None
        node = _field(schema, name)
        _check_order(change or [], order, node.patch_merge_key)
        if live is None and change is None:
            continue
        merged = _merged(behaviour, live, change, node)
        draft[name] = arranged(merged, order, live or [], node.patch_merge_key)
        patch.pop(name, None)


def _merged(behaviour: ServedBehaviour, live: list[Any] | None, change: list[Any] | None, node: Schema) -> list[Any]:
    if live is None or change is None:
        return (change if live is None else live) or []
    return _merge_lists(behaviour, live, change, node, deletes=False)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise failed(f"expected a []interface {{}}, but received a {type_name(value) if value is not None else _NIL}")
    return value


_NIL: Final = "%!s(<nil>)"


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Check that the wanted order contains all elements of the patch in their sequence."""
    wanted = [item for item in patch if not _is_directive(item)]
    if not order or not wanted:
        return
    left = iter(order)
    for item in wanted:
        value = key_of(item, key) if key else item
        if not any(same(value, key_of(each, key) if key else each) for each in left):
            listed, ordered = format_value(patch), format_value(order)
            raise failed(f"The order in patch list:\n{listed}\n doesn't match {SET_ORDER} list:\n{ordered}\n")


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
