"""Two states of an object, compared in every version in which its managers named their fields.

Who owned a part that has become granular owns its path; the other way round nothing can be told.

structured-merge-diff v4.4, Converter of merge/update.go and typed/reconcile_schema.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simkit.language.merge.fieldset import EMPTY, MEMBER, SELF, Fields, Node
from simkit.language.merge.managedfields import ManagedFields, Owner, VersionedSet
from simkit.language.merge.type_def import LEAF, LIST, SET, TypeDef, type_def_of
from simkit.language.merge.typed import Comparison, compare
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object
from simkit.schema.structural import Schema

Converter = Callable[[Object, str], tuple[Object, Schema | None] | None]
"""The object in another apiVersion, with the schema of that version; None if the version is not served."""


class Versions:
    """Two states of an object, compared in the versions that its managers used."""

    def __init__(
        self,
        behaviour: ServedBehaviour,
        old: Object,
        new: Object,
        type_def: TypeDef,
        api_version: str,
        convert: Converter | None,
        ignored: Fields,
    ) -> None:
        self._behaviour, self._old, self._new = behaviour, old, new
        self._convert, self._ignored = convert, ignored
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
        return compare(old, new, type_def).without(self._ignored)


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
        child = _below(type_def, element)
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


def _below(type_def: TypeDef, element: str) -> TypeDef | None:
    return type_def.items if type_def.kind in (LIST, SET) else type_def.child(element[2:])
