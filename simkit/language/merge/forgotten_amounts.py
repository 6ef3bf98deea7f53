"""Lists that count as changed by every write, since kube-apiserver compares more of their amounts than is written.

A quantity keeps the text that it was read from unless the number before a binary suffix is a multiple of eight, or too
large. Such an amount gets its text when the stored object is encoded for comparison; that of the object which is about
to be written has none yet. Lists that are owned as a whole are compared together with these texts.

Upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go and
sigs.k8s.io/structured-merge-diff/v4/value/listreflect.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.language.merge.fieldset import MEMBER, Node, union
from simkit.language.merge.type_def import LEAF, LIST, MAP, BadElement, TypeDef
from simkit.language.merge.typed import Comparison, same
from simkit.meta.quantity import QuantityError, parse


def with_forgotten(comparison: Comparison, old: Any, new: Any, type_def: TypeDef) -> Comparison:
    """A comparison in which equal lists whose amounts have no text of their own count as modified.

    Parameters
    ----------
    old, new
        What was compared: the stored object, and the one to be written.

    Notes
    -----
    O(1) for types without such lists.
    """
    node = _below(old, new, type_def) if old and new else None
    return comparison if node is None else comparison._replace(modified=union(comparison.modified, node))


def _below(old: Any, new: Any, type_def: TypeDef) -> Node | None:
    """The lists below one path; None if there are none."""
    if not old or not new or not type_def.has_amount_lists:
        return None
    if type_def.kind is LEAF:
        return MEMBER if same(old, new) and any(_forgets(item, type_def.items) for item in new) else None
    if type_def.kind is MAP:
        return _below_map(old, new, type_def)
    return _below_list(old, new, type_def) if type_def.kind is LIST else None


def _below_map(old: Mapping[str, Any], new: Mapping[str, Any], type_def: TypeDef) -> Node | None:
    found: Node = {}
    for name, (element, child, _) in type_def.amount_list_fields.items():
        node = _below(old.get(name), new.get(name), child)
        if node is not None:
            found[element] = node
    return found or None


def _below_list(old: Sequence[Any], new: Sequence[Any], type_def: TypeDef) -> Node | None:
    try:
        before = {type_def.element(item): item for item in old}
        after = {type_def.element(item): item for item in new}
    except BadElement:
        return None
    found: Node = {}
    for element, item in after.items():
        node = _below(before.get(element), item, type_def.items)
        if node is not None:
            found[element] = node
    return found or None


def _forgets(value: Any, type_def: TypeDef) -> bool:
    """True if a value has an amount without a text of its own.

    The values of maps are copied, with the amounts directly in them, and compared without a text.
    """
    if type_def.is_amount:
        return isinstance(value, str) and _has_no_text(value)
    if isinstance(value, list):
        return any(_forgets(item, type_def.items) for item in value)
    if not isinstance(value, dict):
        return False
    if type_def.kind is MAP and not type_def.fields and type_def.values is not None:
        return any(_forgets_below(each, type_def.values) for each in value.values())
    return any(name in value and _forgets(value[name], child) for name, child in type_def.amount_fields.items())


def _forgets_below(value: Any, type_def: TypeDef) -> bool:
    """True if a value of a map forgets an amount that is not directly in it."""
    if not isinstance(value, dict):
        return False
    inner = {name: child for name, child in type_def.amount_fields.items() if not child.is_amount}
    return any(name in value and _forgets(value[name], below) for name, below in inner.items())


def _has_no_text(text: str) -> bool:
    try:
        return not parse(text).written
    except QuantityError:
        return False
