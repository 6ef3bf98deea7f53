"""Changes between two schemas of a custom resource, and whether objects and clients of the old one survive them.

The rules are those of ``Changing the API`` (``contributors/devel/sig-architecture/api_changes.md`` of
kubernetes/community) and of the deprecation policy: what was valid stays valid, what was there stays there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_UPPER: Final = ("maximum", "maxLength", "maxItems", "maxProperties")
_LOWER: Final = ("minimum", "minLength", "minItems", "minProperties")
_EXACT: Final = ("pattern", "format", "multipleOf", "not", "anyOf", "oneOf", "allOf")
_LISTS: Final = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
_RULES: Final = "x-kubernetes-validations"
_DEEPEST: Final = 100


class SchemaChange(NamedTuple):
    """One difference: the field, what changed, how bad it is, and whether it breaks what was fine."""

    field: str
    change: str
    severity: str
    breaks: bool
    why: str


def schema_changes(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "") -> Iterator[SchemaChange]:
    """The differences of two schemas, outermost first.

    Examples
    --------
    >>> old = {"type": "object", "properties": {"size": {"type": "integer"}}}
    >>> new = {"type": "object", "properties": {"size": {"type": "integer", "maximum": 3}}, "required": ["size"]}
    >>> [(each.field, each.change) for each in schema_changes(old, new)]
    [('size', 'size is required now'), ('size', 'maximum 3 is new')]
    """
    if path.count(".") > _DEEPEST:
        return
    yield from _kinds(old, new, path)
    yield from _required(old, new, path)
    yield from _limits(old, new, path)
    yield from _defaults(old, new, path)
    yield from _rules(old, new, path)
    for name in _LISTS:
        if old.get(name) != new.get(name):
            told = f"{name} changes from {old.get(name)} to {new.get(name)}"
            yield SchemaChange(path, told, "medium", True, "Server-side apply merges in another way.")
    yield from _children(old, new, path)


def _kinds(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[SchemaChange]:
    before, after = _kind(old), _kind(new)
    if before and before != after and after != "anything":
        if before == "integer" and after in ("number", "integer or string"):
            why = "Objects stay valid; clients with types of their own may not read it."
            yield SchemaChange(path, f"the type widens from {before} to {after}", "medium", True, why)
        else:
            why = "Stored objects become invalid, and clients cannot read it."
            yield SchemaChange(path, f"the type changes from {before} to {after}", "critical", True, why)
    if old.get("nullable") and not new.get("nullable"):
        yield SchemaChange(path, "null is not allowed any more", "high", True, "Objects with null become invalid.")
    if old.get(_PRESERVE) and not new.get(_PRESERVE):
        yield SchemaChange(
            path, "unknown fields are not kept any more", "high", True, "They are dropped with the next write."
        )


def _kind(schema: Mapping[str, Any]) -> str:
    if schema.get(_INT_OR_STRING):
        return "integer or string"
    kind = schema.get("type")
    return str(kind) if kind else ("anything" if schema.get(_PRESERVE) else "")


def _required(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[SchemaChange]:
    before = set(old.get("required") or ())
    fields = new.get("properties") or {}
    for name in new.get("required") or ():
        if name in before:
            continue
        filled = "default" in (fields.get(name) or {})
        why = "It has a default, which fills it in." if filled else "Objects without it become invalid."
        told = f"{name} is required now"
        yield SchemaChange(_joined(path, name), told, "low" if filled else "high", not filled, why)


def _limits(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[SchemaChange]:
    why = "Objects beyond it become invalid."
    for name in (*_UPPER, *_LOWER):
        before, after = old.get(name), new.get(name)
        if after is None:
            continue
        if before is None:
            yield SchemaChange(path, f"{name} {after} is new", "high", True, why)
        elif after < before if name in _UPPER else after > before:
            yield SchemaChange(path, f"{name} tightens from {before} to {after}", "high", True, why)
    for name in ("exclusiveMaximum", "exclusiveMinimum", "uniqueItems"):
        if new.get(name) and not old.get(name):
            yield SchemaChange(path, f"{name} is new", "high", True, why)
    for name in _EXACT:
        if name in new and old.get(name) != new[name]:
            told = f"{name} changes" if name in old else f"{name} is new"
            yield SchemaChange(path, told, "high", True, "Objects that do not match become invalid.")
    yield from _enumerations(old.get("enum"), new.get("enum"), path)


def _enumerations(old: Any, new: Any, path: str) -> Iterator[SchemaChange]:
    if not isinstance(new, list):
        return
    if not isinstance(old, list):
        yield SchemaChange(path, "only listed values are allowed now", "high", True, "Others become invalid.")
        return
    gone = [str(each) for each in old if each not in new]
    if gone:
        told = f"{', '.join(gone)} is not allowed any more"
        yield SchemaChange(path, told, "high", True, "Objects with such a value become invalid.")
    more = [str(each) for each in new if each not in old]
    if more:
        why = "Clients that know the old values alone may not expect it."
        yield SchemaChange(path, f"{', '.join(more)} is allowed too", "low", False, why)


def _defaults(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[SchemaChange]:
    before, after = old.get("default"), new.get("default")
    if before == after:
        return
    if before is None:
        why = "Stored objects without the field are read with it from then on."
        yield SchemaChange(path, f"the default {after} is new", "medium", False, why)
    else:
        why = "Manifests that leave the field out mean something else."
        told = f"the default changes from {before} to {after}" if after is not None else f"the default {before} goes"
        yield SchemaChange(path, told, "high", True, why)


def _rules(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[SchemaChange]:
    known = {each.get("rule") for each in old.get(_RULES) or () if isinstance(each, Mapping)}
    for each in new.get(_RULES) or ():
        if isinstance(each, Mapping) and each.get("rule") not in known:
            why = "Objects that do not meet it become invalid; whether any valid object does so is not decided."
            yield SchemaChange(path, f"the rule {each.get('rule')} is new", "high", True, why)


def _children(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[SchemaChange]:
    before, after = old.get("properties") or {}, new.get("properties") or {}
    open_now = new.get(_PRESERVE) or isinstance(new.get("additionalProperties"), Mapping)
    for name, inner in before.items():
        place = _joined(path, name)
        if name in after:
            yield from schema_changes(inner or {}, after[name] or {}, place)
        elif not open_now:
            why = "It is dropped from stored objects with the next write, and refused by strict validation."
            yield SchemaChange(place, "the field is gone", "critical", True, why)
    for name in after:
        if name not in before and not old.get(_PRESERVE):
            why = "Clients that write whole objects by the old schema drop it."
            yield SchemaChange(_joined(path, name), "the field is new", "info", False, why)
    for name, mark in (("items", "[*]"), ("additionalProperties", ".*")):
        first, second = old.get(name), new.get(name)
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            yield from schema_changes(first, second, f"{path}{mark}")


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
