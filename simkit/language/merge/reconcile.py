"""Ownership after a schema has changed its mind about what is atomic.

A part that became atomic belongs as a whole to whoever owned something in it. A part that became granular belongs,
with everything that is in it now, to whoever owned it as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simkit.language.merge.claims import Claim, Claims
from simkit.language.merge.fieldset import MEMBER, SELF, Fields, Node
from simkit.language.merge.shape import ABSENT, DEDUCED, LEAF, LIST, SET, Shape, shape_of
from simkit.language.merge.typed import grouped, owned_node
from simkit.language.merge.versions import Converter
from simkit.meta.objects import Object


def reconciled(
    claims: Claims, live: Object, shape: Shape, api_version: str, convert: Converter | None
) -> Mapping[Any, Claim]:
    """The claims as they read under the present schema; untouched ones are the same objects."""
    out: Claims = {}
    for owner, claim in claims.items():
        if claim.api_version == api_version or convert is None:
            out[owner] = claim.having(under_schema(claim.fields, live, shape))
            continue
        converted = convert(live, claim.api_version)
        if converted is not None:
            claim = claim.having(under_schema(claim.fields, converted[0], shape_of(converted[1])))
        out[owner] = claim
    return out


def under_schema(fields: Fields, live: Any, shape: Shape) -> Fields:
    """A set of fields as it reads under a schema; the same object where nothing differs."""
    if shape is DEDUCED:
        return fields
    return _children(fields, lambda: live, shape)


_Lookup = Callable[[], Any]


def _children(fields: Fields, live: _Lookup, shape: Shape) -> Fields:
    changed: Node = {}
    for element, node in fields.items():
        if element == SELF:
            continue
        child = _shape_below(shape, element)
        if child is None:
            continue
        if child.form is LEAF and not node:
            continue
        seen = _node(node, lambda element=element: _value_below(live(), shape, element), child)  # type: ignore[misc]
        if seen is not node:
            changed[element] = seen
    return {**fields, **changed} if changed else fields


def _node(node: Fields, live: _Lookup, shape: Shape) -> Fields:
    if shape.form is LEAF:
        # Owned in parts, though it is one whole now. A scalar has no parts that could be owned.
        return MEMBER if shape.type in ("map", "list") else node
    if not node:
        return _owned_in_parts(live(), shape)
    return _children(node, live, shape)


def _owned_in_parts(value: Any, shape: Shape) -> Node:
    """A part that was owned as a whole, though its entries have owners of their own now."""
    return MEMBER if value is ABSENT else owned_node(value, shape)


def _shape_below(shape: Shape, element: str) -> Shape | None:
    if shape.form in (LIST, SET):
        return shape.items
    return shape.child(element[2:])


def _value_below(value: Any, shape: Shape, element: str) -> Any:
    if isinstance(value, dict):
        return value.get(element[2:], ABSENT)
    if isinstance(value, list):
        found = grouped(value, shape).get(element, ())
        return found[0] if len(found) == 1 else ABSENT
    return ABSENT
