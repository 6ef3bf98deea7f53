"""Two states of an object, compared in every version in which its managers named their fields.

Who owned a part that has become granular owns its path; the other way round nothing can be told. A quantity keeps the
text that it was read from unless the number before a binary suffix is a multiple of eight, or too large: such an amount
gets its text when the stored object is encoded for comparison, and lists that are owned as a whole are compared
together with these texts.

structured-merge-diff v4.4, Converter of merge/update.go, typed/reconcile_schema.go and value/listreflect.go;
k8s.io/apimachinery/pkg/api/resource/quantity.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simkit.language.merge.fieldset import EMPTY, MEMBER, SELF, Fields, Node, union
from simkit.language.merge.managedfields import ManagedFields, Owner, VersionedSet
from simkit.language.merge.type_def import LEAF, LIST, MAP, SET, BadElement, TypeDef, type_def_of
from simkit.language.merge.typed import Comparison, compare, same
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object
from simkit.meta.quantity import QuantityError, parse
from simkit.schema.structural import Schema

Converter = Callable[[Object, str], tuple[Object, Schema | None] | None]
"""The object in another apiVersion, with the schema of that version; None if the version is not served."""


class Versions:
    """Two states of an object, compared in the versions that its managers used.

    ``written`` says that the new state was written as a whole, and not merged from what was applied: then lists whose
    amounts have no text of their own count as modified.
    """

    def __init__(
        self,
        behaviour: ServedBehaviour,
        old: Object,
        new: Object,
        type_def: TypeDef,
        api_version: str,
        convert: Converter | None,
        ignored: Fields,
        *,
        written: bool,
    ) -> None:
        self._behaviour, self._old, self._new = behaviour, old, new
        self._convert, self._ignored, self._written = convert, ignored, written
        self._known: dict[str, Comparison | None] = {api_version: self._difference(old, new, type_def)}
        self.own = self._known[api_version] or Comparison(EMPTY, EMPTY, EMPTY)

    def comparison(self, api_version: str) -> Comparison | None:
        """The changes in the field names of a version; None if it is not served."""
        if api_version not in self._known:
            self._known[api_version] = self._compared(api_version)
        return self._known[api_version]

    def _compared(self, api_version: str) -> Comparison | None:
        if self._convert is None:
            return self.own
        old, new = self._convert(self._old, api_version), self._convert(self._new, api_version)
        if old is None or new is None:
            return None
        return self._difference(old[0], new[0], type_def_of(self._behaviour, new[1]))

    def _difference(self, old: Object, new: Object, type_def: TypeDef) -> Comparison:
        found = compare(old, new, type_def)
        if self._written and self._behaviour.applies("amounts-lose-their-text"):
            found = with_forgotten(found, old, new, type_def)
        return found.without(self._ignored)


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
    node = _forgotten_amounts_below(old, new, type_def) if old and new else None
    return comparison if node is None else comparison._replace(modified=union(comparison.modified, node))


def _forgotten_amounts_below(old: Any, new: Any, type_def: TypeDef) -> Node | None:
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
        node = _forgotten_amounts_below(old.get(name), new.get(name), child)
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
        node = _forgotten_amounts_below(before.get(element), item, type_def.items)
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


def reconciled(
    behaviour: ServedBehaviour,
    managed: ManagedFields,
    live: Object,
    type_def: TypeDef,
    api_version: str,
    convert: Converter | None,
) -> Mapping[Owner, VersionedSet]:
    """The managed fields under the present schemas; untouched ones are the same objects."""
    out: dict[Owner, VersionedSet] = {}
    for owner, claim in managed.items():
        known: TypeDef | None = type_def
        if claim.api_version != api_version and convert is not None:
            converted = convert(live, claim.api_version)
            known = type_def_of(behaviour, converted[1]) if converted is not None else None
        fields = under_schema(claim.fields, known) if known is not None else claim.fields
        out[owner] = claim if fields is claim.fields else claim.having(fields)
    return out


def under_schema(fields: Fields, type_def: TypeDef) -> Fields:
    """A field set under a schema; the same object if nothing differs."""
    changed: Node = {}
    for element, node in fields.items():
        if not node or element == SELF:
            continue
        child = type_def.items if type_def.kind in (LIST, SET) else type_def.child(element[2:])
        if child is None:
            continue
        seen = _seen(node, child)
        if seen is not node:
            changed[element] = seen
    return {**fields, **changed} if changed else fields


def _seen(node: Fields, type_def: TypeDef) -> Fields:
    if type_def.kind is LEAF:
        # Owned in parts, though it is one whole now. A scalar has no parts that could be owned.
        return MEMBER if type_def.type in ("map", "list") else node
    return under_schema(node, type_def)
