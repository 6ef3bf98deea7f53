"""Removal and extraction of fields: a value without the fields of a set, or with those alone.

structured-merge-diff v4.4, typed/remove.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.language.merge.fieldset import EMPTY, SELF, Fields, Node, is_member
from simkit.language.merge.shape import ANY, LEAF, LIST, MAP, SET, BadElement, Shape


def remove_items(value: Any, fields: Fields, shape: Shape) -> Any:
    """The value without the fields of a set and everything below them.

    Notes
    -----
    A part that loses its last field becomes null, as in kube-apiserver.
    """
    if not fields:
        return value
    form = shape.form
    if isinstance(value, dict) and (form is MAP or form is ANY):
        return _map_without(value, fields, shape) or None
    if isinstance(value, list) and (form is LIST or form is SET):
        return _list_without(value, fields, shape) or None
    return None if isinstance(value, dict | list) else value


def _map_without(value: Mapping[str, Any], fields: Fields, shape: Shape) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, item in value.items():
        node = fields.get(f"f:{name}")
        child = shape.child(name)
        if node is None or child is None:
            out[name] = item
        elif not is_member(node):
            out[name] = remove_items(item, node, child)
    return out


def _list_without(value: Sequence[Any], fields: Fields, shape: Shape) -> list[Any]:
    out: list[Any] = []
    for item in value:
        node = fields.get(_element(shape, item))
        if node is None:
            out.append(item)
        elif not is_member(node):
            out.append(remove_items(item, node, shape.items))
    return out


def _element(shape: Shape, item: Any) -> str:
    try:
        return shape.element(item)
    except BadElement:
        return ""


def extract_items(value: Any, fields: Fields, shape: Shape) -> Any:
    """The value with the fields of a set only: the configuration that would own them."""
    form = shape.form
    if isinstance(value, dict) and (form is MAP or form is ANY):
        return _map_of(value, fields, shape)
    if isinstance(value, list) and (form is LIST or form is SET):
        found = ((item, fields.get(_element(shape, item))) for item in value)
        return [
            _with_keys(extract_items(item, node, shape.items), item, shape) for item, node in found if node is not None
        ]
    return value


def _map_of(value: Mapping[str, Any], fields: Fields, shape: Shape) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, item in value.items():
        node, child = fields.get(f"f:{name}"), shape.child(name)
        if node is not None and child is not None:
            out[name] = item if child.form is LEAF else extract_items(item, node, child)
    return out


def _with_keys(part: Any, item: Any, shape: Shape) -> Any:
    """The part of a keyed element with its keys, which identify it."""
    if shape.form is not LIST:
        return part
    return {**{key: item[key] for key in shape.keys if key in item}, **part}


def ensure_named_fields_are_members(fields: Fields, shape: Shape) -> Fields:
    """The set with every declared field added that contains other members."""
    out: Node = {}
    for element, node in fields.items():
        if not node or element == SELF:
            out[element] = node
            continue
        child = _below(shape, element)
        inner = ensure_named_fields_are_members(node, child) if child else node
        named = element[0] == "f" and element[2:] in shape.fields
        out[element] = {SELF: EMPTY, **inner} if named and SELF not in inner else inner
    return out


def _below(shape: Shape, element: str) -> Shape | None:
    if element[0] == "f":
        return shape.child(element[2:])
    return shape.items if element[0] == "k" and shape.form is LIST else None
