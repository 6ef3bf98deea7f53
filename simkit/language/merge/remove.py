"""Removal and extraction of fields: a value without the fields of a set, or with those alone.

structured-merge-diff v4.4, typed/remove.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.language.merge.fieldset import EMPTY, SELF, Fields, Node, is_member
from simkit.language.merge.type_def import ANY, LEAF, LIST, MAP, SET, BadElement, TypeDef
from simkit.meta.behaviour import ServedBehaviour


def remove_items(behaviour: ServedBehaviour, value: Any, fields: Fields, type_def: TypeDef) -> Any:
    """The value without the fields of a set and everything below them.

    Notes
    -----
    A part that loses its last field becomes null, as in kube-apiserver; since release 1.35 the parts around it are kept
    empty.
    """
    if not fields:
        return value
    kind = type_def.kind
    if isinstance(value, dict) and (kind is MAP or kind is ANY):
        return _map_without(behaviour, value, fields, type_def) or None
    if isinstance(value, list) and (kind is LIST or kind is SET):
        return _list_without(behaviour, value, fields, type_def) or None
    return None if isinstance(value, dict | list) else value


def _map_without(
    behaviour: ServedBehaviour, value: Mapping[str, Any], fields: Fields, type_def: TypeDef
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, item in value.items():
        node = fields.get(f"f:{name}")
        child = type_def.child(name)
        if node is None or child is None:
            out[name] = item
        elif not is_member(node):
            out[name] = _kept(behaviour, item, remove_items(behaviour, item, node, child))
    return out


def _kept(behaviour: ServedBehaviour, before: Any, after: Any) -> Any:
    """The rest of a part; since release 1.35, an empty one if nothing is left."""
    if after is None and isinstance(before, dict | list) and behaviour.applies("emptied-parts-kept"):
        return type(before)()
    return after


def _list_without(behaviour: ServedBehaviour, value: Sequence[Any], fields: Fields, type_def: TypeDef) -> list[Any]:
    out: list[Any] = []
    for item in value:
        node = fields.get(_element(type_def, item))
        if node is None:
            out.append(item)
        elif not is_member(node):
            out.append(_kept(behaviour, item, remove_items(behaviour, item, node, type_def.items)))
    return out


def _element(type_def: TypeDef, item: Any) -> str:
    try:
        return type_def.element(item)
    except BadElement:
        return ""


def extract_items(value: Any, fields: Fields, type_def: TypeDef) -> Any:
    """The value with the fields of a set only: the configuration that would own them."""
    kind = type_def.kind
    if isinstance(value, dict) and (kind is MAP or kind is ANY):
        return _map_of(value, fields, type_def)
    if isinstance(value, list) and (kind is LIST or kind is SET):
        found = ((item, fields.get(_element(type_def, item))) for item in value)
        return [
            _with_keys(extract_items(item, node, type_def.items), item, type_def)
            for item, node in found
            if node is not None
        ]
    return value


def _map_of(value: Mapping[str, Any], fields: Fields, type_def: TypeDef) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, item in value.items():
        node, child = fields.get(f"f:{name}"), type_def.child(name)
        if node is not None and child is not None:
            out[name] = item if child.kind is LEAF else extract_items(item, node, child)
    return out


def _with_keys(part: Any, item: Any, type_def: TypeDef) -> Any:
    """The part of a keyed element with its keys, which identify it."""
    if type_def.kind is not LIST:
        return part
    return {**{key: item[key] for key in type_def.keys if key in item}, **part}


def ensure_named_fields_are_members(fields: Fields, type_def: TypeDef) -> Fields:
    """The set with every declared field added that contains other members."""
    out: Node = {}
    for element, node in fields.items():
        if not node or element == SELF:
            out[element] = node
            continue
        child = _below(type_def, element)
        inner = ensure_named_fields_are_members(node, child) if child else node
        named = element[0] == "f" and element[2:] in type_def.fields
        out[element] = {SELF: EMPTY, **inner} if named and SELF not in inner else inner
    return out


def _below(type_def: TypeDef, element: str) -> TypeDef | None:
    if element[0] == "f":
        return type_def.child(element[2:])
    return type_def.items if element[0] == "k" and type_def.kind is LIST else None
