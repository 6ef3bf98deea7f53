"""Field ownership after a schema made a part atomic: the whole part belongs to the managers of its fields.

The other way round nothing can be told: who owned a part that has become granular owns its path, and nothing in it.

structured-merge-diff v4.4, typed/reconcile_schema.go.

Upstream: sigs.k8s.io/structured-merge-diff/v4/typed/reconcile_schema.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping

from simkit.language.merge.fieldset import MEMBER, SELF, Fields, Node
from simkit.language.merge.managedfields import ManagedFields, Owner, VersionedSet
from simkit.language.merge.type_def import LEAF, LIST, SET, TypeDef, type_def_of
from simkit.language.merge.versions import Converter
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object


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
