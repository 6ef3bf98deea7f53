"""Removal of fields that an applied configuration no longer has, unless another manager owns them.

structured-merge-diff v4.4, Updater.prune in merge/update.go, and typed/remove.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simkit.language.merge.fieldset import EMPTY, SELF, Fields, Node, difference, intersection, is_member, union
from simkit.language.merge.managedfields import Owner, VersionedSet
from simkit.language.merge.type_def import ANY, LIST, MAP, SET, BadElement, TypeDef, type_def_of
from simkit.language.merge.typed import field_set
from simkit.language.merge.versions import Converter
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object


@dataclass(frozen=True, slots=True)
class _Versioned:
    """An object in one of its versions."""

    behaviour: ServedBehaviour
    object: Object
    type_def: TypeDef
    api_version: str

    @property
    def fields(self) -> Fields:
        return ensure_named_fields_are_members(field_set(self.object, self.type_def), self.type_def)

    def without(self, fields: Fields) -> _Versioned:
        left: Any = remove_items(self.behaviour, self.object, fields, self.type_def)
        return _Versioned(self.behaviour, left or {}, self.type_def, self.api_version)


@dataclass(frozen=True, slots=True)
class Pruner:
    """Removes fields whose only manager has given them up."""

    behaviour: ServedBehaviour
    type_def: TypeDef
    api_version: str
    convert: Converter | None

    def prune(
        self, wanted: Object, managed: Mapping[Owner, VersionedSet], last: VersionedSet | None, mine: Fields
    ) -> Object:
        """The wanted object without the fields that only the applier owned before and no longer owns.

        Parameters
        ----------
        wanted
            The live object with the intent merged in, in the version of the request.
        managed
            All managed, that of the new intent included.
        last, mine
            What the applier owned before, and what it owns now.
        """
        if last is None or not last.fields:
            return wanted
        if last.api_version == self.api_version and not difference(last.fields, mine):
            return wanted
        whole = self._in_version(_Versioned(self.behaviour, wanted, self.type_def, self.api_version), last.api_version)
        if whole is None:
            return wanted
        gone = ensure_named_fields_are_members(last.fields, whole.type_def)
        left = self._with_owned(whole, whole.without(gone), managed)
        at_last = self._in_version(left, last.api_version)
        if at_last is not None:
            dangling = intersection(difference(whole.fields, at_last.fields), gone)
            whole = whole.without(dangling)
        back = self._in_version(whole, self.api_version)
        return back.object if back is not None else wanted

    def _with_owned(self, whole: _Versioned, left: _Versioned, managed: Mapping[Owner, VersionedSet]) -> _Versioned:
        """The remaining object with all owned fields put back, beginning with those in its own version."""
        owned: dict[str, Fields] = {whole.api_version: EMPTY}
        for claim in managed.values():
            owned[claim.api_version] = union(owned.get(claim.api_version, EMPTY), claim.fields)
        for version, fields in owned.items():
            all_of_it, rest = self._in_version(whole, version), self._in_version(left, version)
            if all_of_it is None or rest is None:
                continue
            keep = union(rest.fields, ensure_named_fields_are_members(fields, all_of_it.type_def))
            whole, left = all_of_it, all_of_it.without(difference(all_of_it.fields, keep))
        return left

    def _in_version(self, versioned: _Versioned, api_version: str) -> _Versioned | None:
        """The object in another version; None if it is not served."""
        if versioned.api_version == api_version:
            return versioned
        if self.convert is None:
            return _Versioned(self.behaviour, versioned.object, versioned.type_def, api_version)
        found = self.convert(versioned.object, api_version)
        return (
            None
            if found is None
            else _Versioned(self.behaviour, found[0], type_def_of(self.behaviour, found[1]), api_version)
        )


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
