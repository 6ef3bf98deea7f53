"""Validation of the OpenAPI schema of a definition, level by level, in the order of kube-apiserver.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from simkit.kinds.apiextensions.fieldpath import (
    BadPath,
    CompiledRule,
    Rule,
    cardinality,
    compiled,
    declared_node,
    normalized,
)
from simkit.kinds.parts.go_printing.structures import structure, texts
from simkit.language.cel.errors import RULE_ESTIMATE, SCHEMA_ESTIMATE, excess
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import (
    Errors,
    FieldError,
    field_detail,
    forbidden_field,
    internal_error,
    invalid_value,
    required,
    unsupported,
)
from simkit.schema.structural import Schema

_GREATEST: Final = 2**64 - 1
_TOLD: Final = 4


@dataclass(slots=True)
class Costs:
    """The estimated costs of all rules of one schema."""

    known: frozenset[str] = frozenset()
    """Stored expressions, which are compiled as such."""
    each: bool = True
    """True if single rules have a limit too."""
    total: int = 0
    most: list[tuple[int, str]] = field(default_factory=list)

    def observe(self, path: str, cost: int) -> None:
        """Add the cost of one expression; the four most expensive are kept for the error."""
        self.total = min(_GREATEST, self.total + cost)
        if cost >= SCHEMA_ESTIMATE // 100:
            self.most.append((cost, path))
            self.most.sort(key=lambda each: -each[0])
            del self.most[_TOLD:]

    def errors(self, path: str) -> Errors:
        """The errors of a total cost above the limit."""
        if self.total <= SCHEMA_ESTIMATE:
            return
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        for _, place in self.most:
            yield forbidden_field(place, detail)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden_field(path, excess(what, self.total, SCHEMA_ESTIMATE))


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The position of a rule: path, schema node, number of possible values, and why ``oldSelf`` may be unavailable."""

    path: str
    node: Schema
    root: bool
    cardinality: int | None
    uncorrelated: str


def validate_rule(behaviour: ServedBehaviour, rules: Sequence[Rule], place: RuleScope, costs: Costs) -> Errors:
    """The errors of the rules of one node."""
    path = f"{place.path}.x-kubernetes-validations"
    node = declared_node(place.node, root=place.root)
    if node is None:
        yield internal_error(
            path,
            "internal error: failed to construct type information for x-kubernetes-validations rules: "
            "unable to convert structural schema to CEL declarations",
        )
        return
    times = cardinality(node) if place.cardinality is None else place.cardinality
    for index, rule in enumerate(rules):
        made = compiled(behaviour, rule, place.node, node, stored=_is_known(rule, costs))
        yield from _one(made, f"{path}[{index}]", times, costs)
        yield from _old_value(made, f"{path}[{index}]", place.uncorrelated)


def _is_known(rule: Rule, costs: Costs) -> bool:
    return bool(costs.known) and (rule.get("rule") or "") in costs.known


def _one(made: CompiledRule, path: str, times: int, costs: Costs) -> Errors:
    shown = structure("apiextensions.ValidationRule", made.rule)
    cost = min(_GREATEST, made.program.estimate()[1] * times) if made.program is not None else 0
    if costs.each and cost > RULE_ESTIMATE:
        yield forbidden_field(f"{path}.rule", excess("estimated rule cost", cost, RULE_ESTIMATE))
    costs.observe(f"{path}.rule", cost)
    if made.error:
        yield invalid_value(f"{path}.rule", shown, made.error)
    if made.message_error:
        yield invalid_value(f"{path}.messageExpression", shown, made.message_error)
    elif made.message is not None:
        worth = made.message.estimate()[1]
        if costs.each and worth > RULE_ESTIMATE:
            text = excess("estimated messageExpression cost", worth, RULE_ESTIMATE)
            yield forbidden_field(f"{path}.messageExpression", text)
        costs.observe(f"{path}.messageExpression", worth)


def _old_value(made: CompiledRule, path: str, uncorrelated: str) -> Errors:
    if made.uses_old:
        if uncorrelated:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
            yield invalid_value(f"{path}.rule", made.rule["rule"], detail)
    elif made.rule.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid_value(f"{path}.optionalOldSelf", made.rule["optionalOldSelf"], detail)


Properties = Mapping[str, Any]
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_META: Final = frozenset({"metadata", "kind", "apiVersion"})
_BREAKS: Final = re.compile(r"[\n\r]")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_EVEN_EMPTY: Final = ("additionalItems", "dependencies", "$ref")


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Requirements on a schema. On an update, requirements that the old schema violates are dropped."""

    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    map_keys: bool = True
    types: bool = True
    schemas: bool = True
    defaults: bool = True
    """True if a schema may have defaults."""
    review_versions: bool = True
    known: frozenset[str] = frozenset()
    """Stored expressions."""
    unchanged: frozenset[str] = frozenset()
    """Versions with an unchanged schema, whose rules have no single limits of cost."""
    costs_each: bool = True


@dataclass(slots=True)
class Found:
    """Errors of the schema, and of its expressions, which follow them."""

    schema: list[FieldError] = field(default_factory=list)
    rules: list[FieldError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Visit:
    """The position of a validation pass in the schema, with its surroundings."""

    options: ValidationOptions
    costs: Costs | None
    root: bool = False
    no_default: str | None = None
    """The reason why a default is forbidden here."""
    in_metadata: bool = False
    uncorrelated: str = ""
    """The path of the nearest list or map whose parts have no old values."""
    cardinality: int | None = 1
    node: Schema | None = None
    """The node of the level; None inside alternatives."""

    def without_old(self, path: str) -> Visit:
        return self if self.uncorrelated else replace(self, uncorrelated=path)


def validate_level(behaviour: ServedBehaviour, schema: Properties, path: str, visit: Visit) -> Found:
    """The errors of a level and everything below."""
    found = Found(list(_standard(schema, path, visit)))
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.schema.append(forbidden_field(f"{path}.uniqueItems", detail))
    for inner, where, below in _children(schema, path, visit, found):
        lower = validate_level(behaviour, inner, where, below)
        found.schema += lower.schema
        found.rules += lower.rules
    found.schema += _markers(schema, path, visit)
    rules = schema.get("x-kubernetes-validations") or ()
    for index, rule in enumerate(rules):
        found.schema += _rule_texts(rule, f"{path}.x-kubernetes-validations[{index}]", visit.node)
    if rules and not found.schema and visit.costs is not None and visit.node is not None:
        place = RuleScope(path, visit.node, visit.root, visit.cardinality, visit.uncorrelated)
        found.rules += validate_rule(behaviour, rules, place, visit.costs)
    return found


def _standard(schema: Properties, path: str, visit: Visit) -> Errors:
    kind = schema.get("type") or ""
    if visit.options.types and kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and visit.no_default is not None:
        yield forbidden_field(f"{path}.default", f"must not be set {visit.no_default}".rstrip())
    for name in _UNSUPPORTED:
        if schema.get(name) or (name in _EVEN_EMPTY and schema.get(name) is not None):
            yield forbidden_field(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        yield forbidden_field(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden_field(f"{path}.items", "items must be a schema object and not an array")
    if visit.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden_field(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")


Child = tuple[Properties, str, Visit]


def _children(schema: Properties, path: str, visit: Visit, found: Found) -> Iterator[Child]:
    plain = replace(visit, root=False)
    yield from _value_children(schema, path, plain, found)
    yield from _field_children(schema, path, visit)
    alternative = replace(plain, node=None)
    if schema.get("not") is not None:
        yield schema["not"], f"{path}.not", alternative
    for name in ("allOf", "oneOf", "anyOf"):
        for index, inner in enumerate(schema.get(name) or ()):
            yield inner, f"{path}.{name}[{index}]", alternative
    for name, inner in (schema.get("definitions") or {}).items():
        yield inner, f"{path}.definitions[{name}]", alternative
    yield from _item_children(schema, path, plain)
    for name, inner in (schema.get("dependencies") or {}).items():
        if isinstance(inner, Mapping):
            yield inner, f"{path}.dependencies[{name}]", alternative


def _value_children(schema: Properties, path: str, visit: Visit, found: Found) -> Iterator[Child]:
    values = schema.get("additionalProperties")
    if values is None:
        return
    if schema.get("properties") and values is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        found.schema.append(forbidden_field(f"{path}.additionalProperties", detail))
    if isinstance(values, Mapping):
        why = "inside additionalProperties applying to object metadata" if visit.in_metadata else visit.no_default
        node = visit.node.values if visit.node is not None else None
        times = _times(visit.cardinality, schema, "maxProperties")
        yield values, f"{path}.additionalProperties", replace(visit, no_default=why, node=node, cardinality=times)


def _field_children(schema: Properties, path: str, visit: Visit) -> Iterator[Child]:
    fields = schema.get("properties") or {}
    embedded = visit.root or bool(schema.get("x-kubernetes-embedded-resource"))
    known = schema.get("x-kubernetes-map-type") in (None, "", "granular", "atomic")
    around = replace(visit if known else visit.without_old(path), root=False)
    if schema.get("additionalProperties") is not None:
        around = replace(around, cardinality=_times(visit.cardinality, schema, "maxProperties"))
    nodes = visit.node.fields if visit.node is not None else {}
    for name in sorted(fields):
        below = replace(around, node=nodes.get(name))
        if embedded and name in _META:
            why = f"in top-level {name}" if visit.root else below.no_default
            below = replace(below, in_metadata=True, no_default=why, node=_own_node(fields[name], below.node))
        yield fields[name], f"{path}.properties[{name}]", below


def _own_node(properties: Properties, node: Schema | None) -> Schema | None:
    """The node of an implied field: what the definition itself says about it."""
    from simkit.schema.custom.structural import row_of

    return Schema(row_of(properties), node.definition) if node is not None else None


def _item_children(schema: Properties, path: str, visit: Visit) -> Iterator[Child]:
    items = schema.get("items")
    if items is None:
        return
    around = visit if schema.get("x-kubernetes-list-type") == "map" else visit.without_old(path)
    node = visit.node.items if visit.node is not None else None
    below = replace(around, node=node, cardinality=_times(visit.cardinality, schema, "maxItems"))
    if isinstance(items, list):
        for index, inner in enumerate(items):
            yield inner, f"{path}.items[{index}]", replace(below, node=None)
    else:
        yield items, f"{path}.items", below


def _times(cardinality: int | None, schema: Properties, limit: str) -> int | None:
    """The largest number of values below a list or map; None if it is unbounded."""
    if cardinality is None or schema.get(limit) is None:
        return None
    return cardinality * max(0, int(schema[limit]))


# Markers of lists and maps


def _markers(schema: Properties, path: str, visit: Visit) -> Errors:
    name = "x-kubernetes-preserve-unknown-fields"
    if schema.get(name) is False:
        yield invalid_value(f"{path}.{name}", False, "must be true or undefined")
    kind = schema.get("type") or ""
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    if map_type is not None:
        yield from _needs_type(kind, "object", "x-kubernetes-map-type", path)
        if map_type not in ("atomic", "granular"):
            yield unsupported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
    if list_type is not None:
        if kind != "array":
            yield from _needs_type(kind, "array", "x-kubernetes-list-type", path)
        elif visit.options.atomic_sets and list_type == "set":
            yield from validate_set(schema, path)
        if list_type not in ("atomic", "set", "map"):
            yield unsupported(f"{path}.x-kubernetes-list-type", list_type, ("atomic", "set", "map"))
    yield from _validate_key(schema, path, list_type)
    if visit.options.map_keys:
        yield from validate_map_key(schema, path)


def _needs_type(kind: str, wanted: str, marker: str, path: str) -> Errors:
    detail = f"must be {wanted} if {marker} is specified"
    if not kind:
        yield required(f"{path}.type", detail)
    elif kind != wanted:
        yield invalid_value(f"{path}.type", kind, detail)


def validate_set(schema: Properties, path: str) -> Errors:
    """The errors of elements of a set that are not compared as a whole."""
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") != "set" or not isinstance(items, Mapping):
        return
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    kind, own = items.get("type"), items.get("x-kubernetes-list-type")
    if kind == "array" and own is not None and own != "atomic":
        yield invalid_value(f"{path}.items.x-kubernetes-list-type", own, detail)
    if kind == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid_value(f"{path}.items.x-kubernetes-map-type", own, detail)


def _validate_key(schema: Properties, path: str, list_type: str | None) -> Errors:
    keys: Sequence[str] = schema.get("x-kubernetes-list-map-keys") or ()
    if keys and list_type != "map":
        detail, where = "must be map if x-kubernetes-list-map-keys is non-empty", f"{path}.x-kubernetes-list-type"
        yield required(where, detail) if list_type is None else invalid_value(where, list_type, detail)
    if list_type != "map":
        return
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        yield required(f"{path}.x-kubernetes-list-map-keys", detail)
    items = schema.get("items")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    elif not isinstance(items, Mapping):
        detail = "must only have a single schema if x-kubernetes-list-type is map"
        yield invalid_value(f"{path}.items", structure("apiextensions.JSONSchemaPropsOrArray", items), detail)
    elif items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid_value(f"{path}.items.type", items.get("type") or "", detail)
    else:
        yield from _named_keys(items, keys, path)


def _named_keys(items: Properties, keys: Sequence[str], path: str) -> Errors:
    fields, where, seen = items.get("properties") or {}, f"{path}.x-kubernetes-list-map-keys", set()
    shown = texts(keys)
    for key in keys:
        if key not in fields:
            yield invalid_value(where, shown, "entries must all be names of item properties")
        elif fields[key].get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid_value(f"{path}.items.properties[{key}].type", items["type"], detail)
        if key in seen:
            yield invalid_value(where, shown, "must not contain duplicate entries")
        seen.add(key)


def validate_map_key(schema: Properties, path: str) -> Errors:
    """The errors of nullable elements of sets and keyed lists, and of keys that may be missing."""
    items, kind = schema.get("items"), schema.get("x-kubernetes-list-type")
    if not isinstance(items, Mapping) or kind not in ("set", "map"):
        return
    if items.get("nullable"):
        yield forbidden_field(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {kind}")
    if kind == "set":
        return
    fields = items.get("properties") or {}
    for key in schema.get("x-kubernetes-list-map-keys") or ():
        if key not in fields:
            continue
        where = f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and fields[key].get("default") is None:
            detail = "so it must have a default or be a required property"
            yield required(f"{where}.default", f"this property is in x-kubernetes-list-map-keys, {detail}")
        if fields[key].get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden_field(f"{where}.nullable", detail)


# Rules, without their expressions


def _rule_texts(rule: Properties, path: str, node: Schema | None) -> Errors:
    text, message, expression = (rule.get(name) or "" for name in ("rule", "message", "messageExpression"))
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_value(f"{path}.message", message, field_detail("message must be non-empty if specified"))
    elif _BREAKS.search(message.strip()):
        yield invalid_value(f"{path}.message", message, field_detail("message must not contain line breaks"))
    elif _BREAKS.search(text.strip()) and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    reason, where = rule.get("reason"), rule.get("fieldPath") or ""
    if reason is not None and reason not in _REASONS:
        yield unsupported(f"{path}.reason", reason, _REASONS)
    if where and not where.strip():
        yield invalid_value(f"{path}.fieldPath", where, field_detail("fieldPath must be non-empty if specified"))
    if _BREAKS.search(where):
        yield invalid_value(f"{path}.fieldPath", where, field_detail("fieldPath must not contain line breaks"))
    if where and node is not None and not _leads_somewhere(where, node):
        yield invalid_value(f"{path}.fieldPath", where, field_detail("fieldPath must be a valid path"))


def _leads_somewhere(path: str, node: Schema) -> bool:
    try:
        normalized(path, node)
    except BadPath:
        return False
    return True
