"""Field sets: paths of an object that a manager owns, or that changed.

A set has the shape of its JSON form (FieldsV1): nested mappings whose keys are path elements. An empty mapping is a
member; a mapping with ``"."`` is a member that has members below it; any other mapping only leads to members. So
decoding and encoding cost nothing, and the algebra is recursion over mappings::

    {"f:spec": {"f:replicas": {}, "f:template": {".": {}, "f:metadata": {}}}}

Path elements are ``f:<name>`` for fields and map keys, ``k:<JSON object>`` for elements of keyed lists, ``v:<JSON>``
for elements of sets, ``i:<number>`` for positions. Sets are never changed in place.

structured-merge-diff v4.4, fieldpath/set.go, fieldpath/pathelementmap.go and fieldpath/serialize.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from simkit.meta.bounded_cache import cached_when_short
from simkit.meta.fielderror import quoted
from simkit.meta.go_fmt import format_float
from simkit.meta.go_json import compact

Fields = Mapping[str, Any]
"""A field set. The empty mapping is the empty set (and, below the top, a member without members below it)."""
Node = dict[str, Any]

SELF: Final = "."
MEMBER: Final[Node] = {}
"""The value under the path element of a member without members below it."""
EMPTY: Final[Node] = {}


class BadFields(ValueError):
    """A JSON value that is not a field set."""


def is_member(node: Fields) -> bool:
    """True if the path to this node is itself in the set."""
    return not node or SELF in node


def below(node: Fields) -> Fields:
    """The node without its own membership."""
    if SELF not in node:
        return node
    return {key: child for key, child in node.items() if key != SELF}


def has(fields: Fields, *path: str) -> bool:
    """True if a path of elements is in the set.

    Examples
    --------
    >>> has({"f:spec": {"f:replicas": {}}}, "f:spec", "f:replicas")
    True
    >>> has({"f:spec": {"f:replicas": {}}}, "f:spec")
    False
    """
    for element in path:
        if element not in fields:
            return False
        fields = fields[element]
    return bool(path) and is_member(fields)


def of_paths(*paths: tuple[str, ...]) -> Fields:
    """The field set of some paths.

    Examples
    --------
    >>> of_paths(("f:spec", "f:replicas"), ("f:status",))
    {'f:spec': {'f:replicas': {}}, 'f:status': {}}
    """
    built: Fields = EMPTY
    for path in paths:
        node: Node = MEMBER
        for element in reversed(path):
            node = {element: node}
        built = union(built, node)
    return built


def _node(member: bool, children: Node) -> Node | None:
    """A node, or None if it is empty."""
    if not children:
        return MEMBER if member else None
    return {SELF: MEMBER, **children} if member else children


def union(one: Fields, other: Fields) -> Fields:
    """The fields in either set."""
    if not one:
        return other
    if not other:
        return one
    return _united(one, other)


def union_of(sets: Iterable[Fields]) -> Fields:
    """The fields in any of the sets. O(fields times log sets): two and two are united.

    Examples
    --------
    >>> union_of([{"f:a": {}}, {"f:b": {}}, {"f:a": {}, "f:c": {}}])
    {'f:a': {}, 'f:b': {}, 'f:c': {}}
    """
    left = list(sets)
    while len(left) > 1:
        odd = left[-1:] if len(left) % 2 else []
        left = [union(one, other) for one, other in zip(left[::2], left[1::2], strict=False)] + odd
    return left[0] if left else EMPTY


def _united(one: Fields, other: Fields) -> Node:
    out = dict(one)
    for key, child in other.items():
        mine = out.get(key)
        if mine is None:
            out[key] = child
        elif mine is not child and key != SELF:
            out[key] = _united_below(mine, child)
    return out


def _united_below(one: Fields, other: Fields) -> Fields:
    if not one:
        return other if not other or SELF in other else {SELF: MEMBER, **other}
    if not other:
        return one if SELF in one else {SELF: MEMBER, **one}
    return _united(one, other)


def intersection(one: Fields, other: Fields) -> Fields:
    """The fields in both sets."""
    out: Node = {}
    for key, child in one.items():
        theirs = other.get(key)
        if theirs is None or key == SELF:
            continue
        member = is_member(child) and is_member(theirs)
        node = _node(member, dict(intersection(child, theirs))) if child and theirs else _node(member, {})
        if node is not None:
            out[key] = node
    return out


def difference(one: Fields, other: Fields) -> Fields:
    """The fields of the first set that are not in the second; fields below those of the second stay."""
    return _difference(one, other, whole=False)


def recursive_difference(one: Fields, other: Fields) -> Fields:
    """The fields of the first set that are neither in the second nor below a field of it."""
    return _difference(one, other, whole=True)


def _difference(one: Fields, other: Fields, *, whole: bool) -> Fields:
    """The first set without the second's fields; ``whole``: also without the fields below them."""
    if not other or not one:
        return one
    out: Node = {}
    for key, child in one.items():
        theirs = other.get(key)
        if key == SELF:
            continue
        if theirs is None:
            out[key] = child
            continue
        taken = is_member(theirs)
        if taken and whole:
            continue
        node = _node(is_member(child) and not taken, dict(_difference(below(child), theirs, whole=whole)))
        if node is not None:
            out[key] = node
    return out


def leaves(fields: Fields) -> Fields:
    """The fields with no fields of the set below them."""
    return {key: leaves(child) for key, child in fields.items() if key != SELF}


def paths(fields: Fields) -> Iterator[tuple[str, ...]]:
    """Every path in the set: at each level its own members first, in order, then those below them.

    This is the order in which conflicts are told.
    """
    for key in _in_order(fields):
        if is_member(fields[key]):
            yield (key,)
    for key in _in_order(fields):
        for path in paths(fields[key]):
            yield (key, *path)


def path_text(path: tuple[str, ...]) -> str:
    """A path in the form of messages.

    Examples
    --------
    >>> path_text(("f:spec", "f:containers", 'k:{"name":"a"}', "f:image"))
    '.spec.containers[name="a"].image'
    """
    return "".join(map(element_text, path))


def element_text(element: str) -> str:
    """One path element in the form of messages: ``.name``, ``[key="value"]``, ``[="value"]`` or ``[0]``."""
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "k":
        parts = (f"{name}={_shown(value)}" for name, value in orjson.loads(text).items())
        return f"[{','.join(parts)}]"
    return f"[={_shown(orjson.loads(text))}]" if kind == "v" else f"[{text}]"


def _shown(value: Any) -> str:
    """A value as Go's structured-merge-diff prints it, whose maps have neither braces nor commas."""
    if isinstance(value, dict):
        return "".join(f"{name}={_shown(item)}" for name, item in value.items())
    if isinstance(value, list):
        return f"[{','.join(map(_shown, value))}]"
    if isinstance(value, str):
        return quoted(value)
    return format_float(value) if isinstance(value, float) else orjson.dumps(value).decode()


_HTML: Final = re.compile("[<>&\u2028\u2029]")


def escaped_json(text: str) -> str:
    """JSON text with the escapes of Go's encoding/json."""
    return _HTML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def key_element(keys: Mapping[str, Any]) -> str:
    """The path element of a list element that these keys, given in order, identify."""
    return escaped_json(f"k:{orjson.dumps(keys).decode()}")


def value_element(value: Any) -> str:
    """The path element of a set's element."""
    return escaped_json(f"v:{orjson.dumps(value).decode()}")


def _in_order(fields: Fields) -> list[str]:
    """The keys of a node in canonical order, without its own membership."""
    keys = [key for key in fields if key != SELF]
    if len(keys) > 1:
        keys.sort(key=None if keys[0][0] == "f" and all(key[0] == "f" for key in keys) else _rank)
    return keys


@cached_when_short(4096)
def _rank(element: str) -> tuple[Any, ...]:
    """The sort key of a path element: fields, keyed elements, set elements, positions; numbers by size."""
    kind, text = element[0], element[2:]
    if kind == "f":
        return (0, text)
    if kind == "i":
        return (3, int(text))
    if kind == "v":
        return (2, _value_rank(orjson.loads(text)))
    return (1, tuple((name, _value_rank(value)) for name, value in sorted(orjson.loads(text).items())))


def _value_rank(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, compact(orjson.dumps(value)))


def encoded(fields: Fields) -> Node:
    """The JSON form with all keys in canonical order: membership, fields, keyed elements, set elements.

    Examples
    --------
    >>> encoded({"f:b": {}, "f:a": {"f:c": {}, ".": {}}})
    {'f:a': {'.': {}, 'f:c': {}}, 'f:b': {}}
    """
    out: Node = {SELF: {}} if SELF in fields else {}
    for key in _in_order(fields):
        child = fields[key]
        out[key] = encoded(child) if child else {}
    return out


def shared(fields: Fields) -> Node:
    """The JSON form of ``encoded``; equal sets share one, since many objects have equal owners.

    It must not be changed.
    """
    return _of_text(compact(orjson.dumps(encoded(fields))))


@cached_when_short(512, longest=16 * 1024)
def _of_text(text: bytes) -> Node:
    made: Node = orjson.loads(text)
    return made


def decoded(value: Any) -> Fields:
    """The set of a JSON form, with path elements in canonical spelling.

    Raises
    ------
    BadFields
        Where it is no mapping, or a key is no path element.
    """
    if value is None:
        return EMPTY
    return {key: child for key, child in _decoded(value).items() if key != SELF}


def _decoded(value: Any) -> Node:
    if not isinstance(value, Mapping):
        raise BadFields(f"expected an object, got {value!r}")
    out: Node = {}
    for key, child in value.items():
        out[_canonical(key)] = _decoded(child)
    return out


@cached_when_short(4096)
def _canonical(element: str) -> str:
    if element == SELF:
        return element
    kind, colon, text = element[:1], element[1:2], element[2:]
    if colon != ":" or kind not in "fkvi":
        raise BadFields(f"unknown path element {element!r}")
    try:
        if kind == "i":
            return f"i:{int(text)}"
        if kind == "v":
            return value_element(orjson.loads(text))
        if kind == "k":
            return key_element(dict(sorted(orjson.loads(text).items())))
    except (ValueError, AttributeError) as wrong:
        raise BadFields(f"malformed path element {element!r}") from wrong
    return element
