"""Schemas of definitions as errors show them: in the internal version, with every field.

Upstream: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types_jsonschema.go, release 1.36. Up to 1.33 errors
show Go's syntax, in which the values behind pointers are not seen; since 1.34 JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from simkit.kinds.parts.go_printing.structures import pointer, printed
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Shown, quoted
from simkit.meta.objects import Object
from simkit.meta.wording import Worded, Written

_RULE_TEXTS: Final = ((0, "Rule", "rule"), (0, "Message", "message"), (27, "MessageExpression", "messageExpression"))
"""The texts of a rule with the releases that they came with."""


def printed_rule(rule: Mapping[str, Any]) -> Worded:
    """A rule, which is Go's syntax up to 1.33 and JSON since 1.34."""
    return _shown(_as_json(rule), lambda minor: _rule_text(minor, rule))


def _shown(json: Any, text: Callable[[int], str]) -> Worded:
    """A value as JSON since 1.34, and as a text that depends on the number of the release before."""

    def write(behaviour: ServedBehaviour) -> str:
        return text(behaviour.minor)

    return Worded("values-in-json", go_json.encode(json).decode(), Written(write))


def _rule_text(minor: int, rule: Mapping[str, Any]) -> str:
    every = [(since, f"{name}:{quoted(rule.get(key) or '')}") for since, name, key in _RULE_TEXTS]
    every.append((28, f"Reason:{pointer('apiextensions.FieldValueErrorReason', rule.get('reason'))}"))
    every.append((28, f"FieldPath:{quoted(rule.get('fieldPath') or '')}"))
    every.append((29, f"OptionalOldSelf:{pointer('bool', rule.get('optionalOldSelf'))}"))
    fields = [field for since, field in every if since <= minor]
    return f"apiextensions.ValidationRule{{{', '.join(fields)}}}"


def _as_json(rule: Mapping[str, Any]) -> dict[str, Any]:
    """The rule with the names that its fields have inside of kube-apiserver."""
    head: dict[str, Any] = {name: rule.get(key) or "" for _, name, key in _RULE_TEXTS}
    tail = {"FieldPath": rule.get("fieldPath") or "", "OptionalOldSelf": rule.get("optionalOldSelf")}
    return {**head, "Reason": rule.get("reason"), **tail}


Properties = Mapping[str, Any]
_GROUP: Final = "apiextensions"
_PROPS, _OR_ARRAY, _OR_BOOL = (f"{_GROUP}.JSONSchemaProps{suffix}" for suffix in ("", "OrArray", "OrBool"))
_JSON: Final = f"{_GROUP}.JSON"


class _Form(NamedTuple):
    """The functions that print a field of some type, and that give its JSON."""

    text: Callable[[int, Any], str]
    """... given the number of the release."""
    json: Callable[[Any], Any]


def shown_schema(schema: Properties) -> Worded:
    """A schema.

    Examples
    --------
    >>> shown_schema({"type": "object"}).told(ServedBehaviour(30))[:60]
    'apiextensions.JSONSchemaProps{ID:"", Schema:"", Ref:(*string'
    """
    return _shown(schema_json(schema), lambda minor: _schema_text(minor, schema))


def shown_items(items: Properties | Sequence[Properties]) -> Worded:
    """The items of an array: a schema or several."""
    one, many = _split(items)
    head = f"{_OR_ARRAY}{{Schema:{pointer(_PROPS, one)}, JSONSchemas:"
    return _shown(_items_json(items), lambda minor: f"{head}{_schemas_text(minor, many)}}}")


def _schema_text(minor: int, schema: Properties) -> str:
    return f"{_PROPS}{{{', '.join(f'{name}:{form.text(minor, schema.get(key))}' for name, key, form in _FIELDS)}}}"


def schema_json(schema: Properties) -> dict[str, Any]:
    """A schema as JSON of the internal version."""
    return {name: form.json(schema.get(key)) for name, key, form in _FIELDS}


def _split(items: Any) -> tuple[Properties | None, Sequence[Properties] | None]:
    return (items, None) if isinstance(items, Mapping) else (None, items)


def _items_json(items: Any) -> Any:
    one, many = _split(items)
    return {"Schema": None if one is None else schema_json(one), "JSONSchemas": _schemas_json(many)}


def _or_bool_json(value: Any) -> Any:
    schema = value if isinstance(value, Mapping) else None
    return {"Allows": value is not False, "Schema": None if schema is None else schema_json(schema)}


def _schemas_text(minor: int, values: Sequence[Properties] | None) -> str:
    if values is None:
        return f"[]{_PROPS}(nil)"
    return f"[]{_PROPS}{{{', '.join(_schema_text(minor, each) for each in values)}}}"


def _schemas_json(values: Sequence[Properties] | None) -> Any:
    return None if values is None else [schema_json(each) for each in values]


def _map_text(kind: str) -> Callable[[int, Properties | None], str]:
    def text(minor: int, values: Properties | None) -> str:
        if values is None:
            return f"{kind}(nil)"
        listed = (f"{quoted(name)}:{_schema_text(minor, values[name])}" for name in sorted(values))
        return f"{kind}{{{', '.join(listed)}}}"

    return text


def _map_json(values: Properties | None) -> Any:
    return None if values is None else {name: schema_json(values[name]) for name in sorted(values)}


def _dependencies_json(values: Properties | None) -> Any:
    if values is None:
        return None
    return {
        name: {"Schema": schema_json(one), "Property": None}
        if isinstance(one, Mapping)
        else {"Schema": None, "Property": one}
        for name, one in sorted(values.items())
    }


def _dependencies_text(_minor: int, values: Properties | None) -> str:
    kind, inner = f"{_GROUP}.JSONSchemaDependencies", f"{_PROPS}OrStringArray"
    if values is None:
        return f"{kind}(nil)"
    parts = []
    for name, one in sorted(values.items()):
        schema = one if isinstance(one, Mapping) else None
        listed = _texts_text(0, None if schema is not None else one)
        parts.append(f"{quoted(name)}:{inner}{{Schema:{pointer(_PROPS, schema)}, Property:{listed}}}")
    return f"{kind}{{{', '.join(parts)}}}"


def _texts_text(_minor: int, values: Sequence[str] | None) -> str:
    return "[]string" + ("(nil)" if values is None else f"{{{', '.join(map(quoted, values))}}}")


def _any_text(value: Any) -> str:
    """A value of any type, as Go prints it."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{quoted(name)}:{_any_text(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inside}}}"
    if isinstance(value, list | tuple):
        return f"[]interface {{}}{{{', '.join(map(_any_text, value))}}}"
    return repr(value) if isinstance(value, float) else printed(value)


def _anys_text(_minor: int, values: Sequence[Any] | None) -> str:
    if values is None:
        return f"[]{_JSON}(nil)"
    listed = (f"{_JSON}(nil)" if each is None else _any_text(each) for each in values)
    return f"[]{_JSON}{{{', '.join(listed)}}}"


def _docs_json(value: Properties | None) -> Any:
    return None if value is None else {"Description": value.get("description") or "", "URL": value.get("url") or ""}


def _rules_text(minor: int, rules: Sequence[Properties] | None) -> str:
    kind = f"{_GROUP}.ValidationRules"
    return f"{kind}(nil)" if rules is None else f"{kind}{{{', '.join(_rule_text(minor, rule) for rule in rules)}}}"


def _rules_json(rules: Sequence[Properties] | None) -> Any:
    return None if rules is None else [_as_json(rule) for rule in rules]


def _same(value: Any) -> Any:
    return value


def _pointed(kind: str, json: Callable[[Any], Any] = _same) -> _Form:
    return _Form(lambda _, value: pointer(kind, value), lambda value: None if value is None else json(value))


_TEXT: Final = _Form(lambda _, value: quoted(value or ""), lambda value: value or "")
_FLAG: Final = _Form(lambda _, value: printed(bool(value)), bool)
_TEXTS: Final = _Form(_texts_text, _same)
_SCHEMAS: Final = _Form(_schemas_text, _schemas_json)
_NUMBER, _COUNT = _pointed("float64"), _pointed("int64")
_MAP: Final = _Form(_map_text(f"map[string]{_PROPS}"), _map_json)
_FIELDS: Final[Sequence[tuple[str, str, _Form]]] = (
    ("ID", "id", _TEXT),
    ("Schema", "$schema", _TEXT),
    ("Ref", "$ref", _pointed("string")),
    ("Description", "description", _TEXT),
    ("Type", "type", _TEXT),
    ("Nullable", "nullable", _FLAG),
    ("Format", "format", _TEXT),
    ("Title", "title", _TEXT),
    ("Default", "default", _pointed(_JSON)),
    ("Maximum", "maximum", _NUMBER),
    ("ExclusiveMaximum", "exclusiveMaximum", _FLAG),
    ("Minimum", "minimum", _NUMBER),
    ("ExclusiveMinimum", "exclusiveMinimum", _FLAG),
    ("MaxLength", "maxLength", _COUNT),
    ("MinLength", "minLength", _COUNT),
    ("Pattern", "pattern", _TEXT),
    ("MaxItems", "maxItems", _COUNT),
    ("MinItems", "minItems", _COUNT),
    ("UniqueItems", "uniqueItems", _FLAG),
    ("MultipleOf", "multipleOf", _NUMBER),
    ("Enum", "enum", _Form(_anys_text, _same)),
    ("MaxProperties", "maxProperties", _COUNT),
    ("MinProperties", "minProperties", _COUNT),
    ("Required", "required", _TEXTS),
    ("Items", "items", _pointed(_OR_ARRAY, _items_json)),
    ("AllOf", "allOf", _SCHEMAS),
    ("OneOf", "oneOf", _SCHEMAS),
    ("AnyOf", "anyOf", _SCHEMAS),
    ("Not", "not", _pointed(_PROPS, schema_json)),
    ("Properties", "properties", _MAP),
    ("AdditionalProperties", "additionalProperties", _pointed(_OR_BOOL, _or_bool_json)),
    ("PatternProperties", "patternProperties", _MAP),
    ("Dependencies", "dependencies", _Form(_dependencies_text, _dependencies_json)),
    ("AdditionalItems", "additionalItems", _pointed(_OR_BOOL, _or_bool_json)),
    ("Definitions", "definitions", _Form(_map_text(f"{_GROUP}.JSONSchemaDefinitions"), _map_json)),
    ("ExternalDocs", "externalDocs", _pointed(f"{_GROUP}.ExternalDocumentation", _docs_json)),
    ("Example", "example", _pointed(_JSON)),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _pointed("bool")),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", _FLAG),
    ("XIntOrString", "x-kubernetes-int-or-string", _FLAG),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _TEXTS),
    ("XListType", "x-kubernetes-list-type", _pointed("string")),
    ("XMapType", "x-kubernetes-map-type", _pointed("string")),
    ("XValidations", "x-kubernetes-validations", _Form(_rules_text, _rules_json)),
)
"""The fields of a schema in the order of their declaration: inside, outside, and how they are shown."""


_PARTS: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_COUNTED: Final = ("SpecReplicas", "StatusReplicas")
_POINTED: Final = "0xc000000000"


_COLUMN: Final = (
    ("Name", "name", ""),
    ("Type", "type", ""),
    ("Format", "format", ""),
    ("Description", "description", ""),
    ("Priority", "priority", 0),
    ("JSONPath", "jsonPath", ""),
)
"""The fields of a column inside and outside, with what stands for an absent one."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version with the parts that differ from other versions."""

    name: str
    served: bool
    storage: bool
    deprecated: bool
    warning: str | None
    parts: Mapping[str, Any]

    @property
    def schema(self) -> Properties | None:
        return self.parts.get("schema")

    @property
    def subresources(self) -> Properties | None:
        return self.parts.get("subresources")

    @property
    def columns(self) -> Sequence[Properties]:
        return self.parts.get("additionalPrinterColumns") or ()

    @property
    def selectable(self) -> Sequence[Properties]:
        return self.parts.get("selectableFields") or ()

    def internal_json(self) -> dict[str, Any]:
        """The version as JSON of the internal version."""
        columns = [{name: row.get(key) or empty for name, key, empty in _COLUMN} for row in self.columns]
        return {
            "Name": self.name,
            "Served": self.served,
            "Storage": self.storage,
            "Deprecated": self.deprecated,
            "DeprecationWarning": self.warning,
            "Schema": None if self.schema is None else _schema_json(self.schema),
            "Subresources": None if self.subresources is None else _subresources_json(self.subresources),
            "AdditionalPrinterColumns": columns or None,
            "SelectableFields": [{"JSONPath": row.get("jsonPath") or ""} for row in self.selectable] or None,
        }

    def printed(self) -> str:
        """The version as Go prints it."""

        def pointer(kind: str, value: Any) -> str:
            return f"(*{kind})({'nil' if value is None else _POINTED})"

        group = "apiextensions"
        columns = f"[]{group}.CustomResourceColumnDefinition"
        listed = "(nil)" if not self.columns else "{" + ", ".join(map(_column, self.columns)) + "}"
        fields = f"[]{group}.SelectableField"
        named = (f"{group}.SelectableField{{JSONPath:{quoted(row.get('jsonPath') or '')}}}" for row in self.selectable)
        selected = f"{{{', '.join(named)}}}" if self.selectable else "(nil)"
        flags = f"Served:{_flag(self.served)}, Storage:{_flag(self.storage)}, Deprecated:{_flag(self.deprecated)}"
        return (
            f"{group}.CustomResourceDefinitionVersion{{Name:{quoted(self.name)}, {flags}, "
            f"DeprecationWarning:{pointer('string', self.warning)}, "
            f"Schema:{pointer(group + '.CustomResourceValidation', self.schema)}, "
            f"Subresources:{pointer(group + '.CustomResourceSubresources', self.subresources)}, "
            f"AdditionalPrinterColumns:{columns}{listed}, SelectableFields:{fields}{selected}}}"
        )


def _schema_json(holder: Properties) -> Any:
    schema = holder.get("openAPIV3Schema")
    return {"OpenAPIV3Schema": None if schema is None else schema_json(schema)}


def _subresources_json(parts: Properties) -> Any:
    scale = parts.get("scale")
    paths = None
    if scale is not None:
        texts = {f"{name}Path": scale.get(f"{name[0].lower()}{name[1:]}Path") or "" for name in _COUNTED}
        paths = {**texts, "LabelSelectorPath": scale.get("labelSelectorPath")}
    return {"Status": None if parts.get("status") is None else {}, "Scale": paths}


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _column(column: Properties) -> str:
    texts = (("Name", "name"), ("Type", "type"), ("Format", "format"), ("Description", "description"))
    fields = [f"{name}:{quoted(column.get(key) or '')}" for name, key in texts]
    fields += [f"Priority:{column.get('priority') or 0}", f"JSONPath:{quoted(column.get('jsonPath') or '')}"]
    return f"apiextensions.CustomResourceColumnDefinition{{{', '.join(fields)}}}"


@dataclass(frozen=True, slots=True)
class Internal:
    """A definition's spec in the internal version."""

    spec: Object
    versions: Sequence[Version]
    shared: Mapping[str, Any]
    """The parts common to all versions, by their names in a version."""

    @property
    def version(self) -> str:
        return self.versions[0].name if self.versions else ""

    def subresources_of(self, version: Version) -> Properties:
        """The subresources of a version, shared or its own."""
        found: Properties = version.subresources or self.shared.get("subresources") or {}
        return found

    def printed_versions(self) -> Shown:
        """All versions as Go prints them."""
        kind = "[]apiextensions.CustomResourceDefinitionVersion"
        if self.spec.get("versions") is None:
            return Shown(f"{kind}(nil)", None)
        text = f"{kind}{{{', '.join(each.printed() for each in self.versions)}}}"
        return Shown(text, [each.internal_json() for each in self.versions])


def internal_of(spec: Object) -> Internal:
    """The internal form of a spec."""
    rows: Sequence[Object] = spec.get("versions") or ()
    shared = {part: rows[0].get(part) for part in _PARTS if rows and _identical([row.get(part) for row in rows])}
    versions = [
        Version(
            row.get("name") or "",
            bool(row.get("served")),
            bool(row.get("storage")),
            bool(row.get("deprecated")),
            row.get("deprecationWarning"),
            {part: row.get(part) for part in _PARTS if part not in shared},
        )
        for row in rows
    ]
    return Internal(spec, versions, shared)


def _identical(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values[1:])
