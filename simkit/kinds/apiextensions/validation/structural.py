"""Validation that a schema is structural: every value has a type outside of alternatives, which only restrict it.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go`` and
``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/convert.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, forbidden_field, invalid_value, required

Properties = Mapping[str, Any]
_INT_OR_STRING: Final = ({"type": "integer"}, {"type": "string"})
_ROOT, _ITEM, _FIELD = "root", "item", "field"
_UNTYPED: Final = {
    _ROOT: "must not be empty at the root",
    _ITEM: "must not be empty for specified array items",
    _FIELD: "must not be empty for specified object fields",
}
_UNDEFINED: Final = "must be undefined to be structural"
_NESTED: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", _UNDEFINED),
    ("default", _UNDEFINED),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", _UNDEFINED),
    ("x-kubernetes-map-type", _UNDEFINED),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
"""Properties that alternatives may not have, in the order of the errors."""


_UNREADABLE: Final = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)
"""Properties that no structural schema can have, with kube-apiserver's names, in the order of its checks."""


def unreadable(schema: Properties) -> str:
    """The reason why a schema cannot be converted to a structural one; empty if it can.

    Examples
    --------
    >>> unreadable({"type": "object", "properties": {"a": {"$schema": "x"}}})
    "OpenAPIV3Schema 'schema' is not supported"
    """
    for name, shown in _UNREADABLE:
        if schema.get(name) or (name == "additionalItems" and schema.get(name) is not None):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    for inner in (schema.get("not"), *_alternatives(schema), schema.get("additionalProperties")):
        if isinstance(inner, Mapping) and (why := unreadable(inner)):
            return why
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    items = schema.get("items")
    if isinstance(items, list) and items:
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    below = (items, *(schema.get("properties") or {}).values())
    return next((why for inner in below if isinstance(inner, Mapping) and (why := unreadable(inner))), "")


def _alternatives(schema: Properties) -> Iterator[Properties]:
    for junctor in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(junctor) or ()


_SINGLE: Final = ("items", "not", "additionalProperties", "additionalItems")
_MAPS: Final = ("properties", "patternProperties", "definitions", "dependencies")


def levels(schema: Any) -> Iterator[Properties]:
    """A schema and all schemas inside of it."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for inner in (*map(schema.get, _SINGLE), *_alternatives(schema)):
        yield from levels(inner)
    for name in _MAPS:
        for inner in (schema.get(name) or {}).values():
            yield from levels(inner)


def validate_structure(behaviour: ServedBehaviour, schema: Properties, path: str) -> list[FieldError]:
    """The errors of a schema that is not structural, sorted by text as in kube-apiserver."""
    errors = [*_invariants(schema, _ROOT, path), *_completeness(schema, schema, path, path)]
    return sorted(errors, key=lambda error: error.told(behaviour))


def _invariants(schema: Properties, level: str, path: str) -> Errors:
    kind, items, values = schema.get("type") or "", schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, Mapping):
        yield from _invariants(items, _ITEM, f"{path}.items")
    for name, inner in (schema.get("properties") or {}).items():
        yield from _invariants(inner, _FIELD, f"{path}.properties[{name}]")
    if values is not None:
        if level == _ROOT:
            yield forbidden_field(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(values, Mapping):
            yield from _invariants(values, _FIELD, f"{path}.additionalProperties")
    yield from _extensions(schema, path)
    yield from _validate_junctor(schema, path, skips=True)
    yield from _typing(schema, level, path, kind)
    yield from _implied(schema, level, path)


def _extensions(schema: Properties, path: str) -> Errors:
    if not schema.get("x-kubernetes-int-or-string"):
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(name):
            yield invalid_value(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")


def _typing(schema: Properties, level: str, path: str, kind: str) -> Errors:
    embedded = schema.get("x-kubernetes-embedded-resource")
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid_value(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)
    elif (
        not kind
        and not schema.get("x-kubernetes-int-or-string")
        and not schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        yield required(f"{path}.type", _UNTYPED[level])
    if embedded and schema.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden_field(f"{path}.additionalProperties", detail)
    if level == _ROOT and kind and kind != "object":
        yield invalid_value(f"{path}.type", kind, "must be object at the root")


def _implied(schema: Properties, level: str, path: str) -> Errors:
    """The errors of fields that every object has."""
    embedded = schema.get("x-kubernetes-embedded-resource")
    checked = level == _ROOT or bool(embedded)
    fields = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if checked and name in fields and fields[name].get("type") != "string":
            yield invalid_value(f"{path}.properties[{name}].type", fields[name].get("type") or "", "must be string")
    if "metadata" in fields:
        metadata, where = fields["metadata"], f"{path}.properties[metadata]"
        if checked and metadata.get("type") != "object":
            yield invalid_value(f"{where}.type", metadata.get("type") or "", "must be object")
        if level == _ROOT and not _restricts_names_only(metadata):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden_field(where, detail)
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not fields:
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", detail)


def _restricts_names_only(metadata: Properties) -> bool:
    rest = {name for name, value in metadata.items() if value} - {"type", "default", "properties"}
    return not rest and set(metadata.get("properties") or ()) <= {"name", "generateName"}


def _validate_junctor(schema: Properties, path: str, *, skips: bool) -> Errors:
    """The errors of fields forbidden in alternatives. ``skips`` allows two patterns of int-or-string."""
    if not (skips and _is_int_or_string(schema.get("anyOf"))):
        for index, inner in enumerate(schema.get("anyOf") or ()):
            yield from _nested(inner, f"{path}.anyOf[{index}]")
    alls: Sequence[Properties] = schema.get("allOf") or ()
    first = skips and bool(alls) and _is_int_or_string(alls[0].get("anyOf"))
    for index, inner in enumerate(alls):
        yield from _nested(inner, f"{path}.allOf[{index}]", skips=first and index == 0)
    for index, inner in enumerate(schema.get("oneOf") or ()):
        yield from _nested(inner, f"{path}.oneOf[{index}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not")
    pattern = schema.get("pattern")
    if pattern:
        yield from _pattern_error(pattern, path)


def _pattern_error(pattern: str, path: str) -> Errors:
    from simkit.language.cel.lib_strings import PatternError
    from simkit.language.cel.lib_strings import pattern as compiled

    try:
        compiled(pattern)
    except PatternError as error:
        detail = f"must be a valid regular expression, but isn't: {error}"
        yield invalid_value(f"{path}.pattern", pattern, detail)


def _is_int_or_string(alternatives: Any) -> bool:
    return isinstance(alternatives, list) and tuple(alternatives) == _INT_OR_STRING


def _nested(schema: Properties, path: str, *, skips: bool = False) -> Errors:
    yield from _validate_junctor({**schema, "anyOf": None} if skips else schema, path, skips=False)
    if isinstance(schema.get("items"), Mapping):
        yield from _nested(schema["items"], f"{path}.items")
    fields = schema.get("properties") or {}
    for name, inner in fields.items():
        yield from _nested(inner, f"{path}.properties[{name}]")
    for name, detail in _NESTED:
        value = schema.get(name)
        if value or (value is not None and detail == _UNDEFINED):
            yield forbidden_field(f"{path}.{name}", detail)
    if "metadata" in fields:
        yield forbidden_field(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(restriction: Properties, schema: Properties | None, place: str, path: str) -> Errors:
    """The errors of fields and items that occur only in alternatives. kube-apiserver checks them only from the root."""
    if restriction.get("not") is not None:
        yield from _nested_completeness(restriction["not"], schema, place, f"{path}.not")
    for junctor in ("allOf", "anyOf", "oneOf"):
        for index, inner in enumerate(restriction.get(junctor) or ()):
            yield from _nested_completeness(inner, schema, place, f"{path}.{junctor}[{index}]")


def _nested_completeness(restriction: Properties, schema: Properties | None, place: str, path: str) -> Errors:
    if schema is None:
        yield required(place, f"because it is defined in {path}")
        return
    yield from _completeness(restriction, schema, place, path)
    if isinstance(restriction.get("items"), Mapping):
        items = schema.get("items")
        known = items if isinstance(items, Mapping) else None
        yield from _nested_completeness(restriction["items"], known, f"{place}.items", f"{path}.items")
    fields = schema.get("properties") or {}
    for name, inner in (restriction.get("properties") or {}).items():
        here, there = f"{place}.properties[{name}]", f"{path}.properties[{name}]"
        if name in fields:
            yield from _nested_completeness(inner, fields[name], here, there)
        else:
            yield required(here, f"because it is defined in {there}")
