"""Schemas of definitions as errors show them: in the internal version, with every field.

Upstream: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types_jsonschema.go, release 1.36. Up to 1.33 errors
show Go's syntax, in which the values behind pointers are not seen; since 1.34 JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.kinds.apiextensions.internal_rule import printed_rule
from simkit.kinds.parts.go_printing.syntax import pointer, printed
from simkit.meta.fielderror import Shown, quoted

Properties = Mapping[str, Any]
_GROUP: Final = "apiextensions"
_PROPS, _OR_ARRAY, _OR_BOOL = (f"{_GROUP}.JSONSchemaProps{suffix}" for suffix in ("", "OrArray", "OrBool"))
_JSON: Final = f"{_GROUP}.JSON"


class _Form(NamedTuple):
    """The functions that print a field of some type, and that give its JSON."""

    text: Callable[[Any], str]
    json: Callable[[Any], Any]


def shown_schema(schema: Properties) -> Shown:
    """A schema.

    Examples
    --------
    >>> shown_schema({"type": "object"}).text[:60]
    'apiextensions.JSONSchemaProps{ID:"", Schema:"", Ref:(*string'
    """
    return Shown(_schema_text(schema), schema_json(schema))


def shown_items(items: Properties | Sequence[Properties]) -> Shown:
    """The items of an array: a schema or several."""
    one, many = _split(items)
    text = f"{_OR_ARRAY}{{Schema:{pointer(_PROPS, one)}, JSONSchemas:{_schemas_text(many)}}}"
    return Shown(text, _items_json(items))


def _schema_text(schema: Properties) -> str:
    return f"{_PROPS}{{{', '.join(f'{name}:{form.text(schema.get(key))}' for name, key, form in _FIELDS)}}}"


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


def _schemas_text(values: Sequence[Properties] | None) -> str:
    return f"[]{_PROPS}" + ("(nil)" if values is None else f"{{{', '.join(map(_schema_text, values))}}}")


def _schemas_json(values: Sequence[Properties] | None) -> Any:
    return None if values is None else [schema_json(each) for each in values]


def _map_text(kind: str) -> Callable[[Properties | None], str]:
    def text(values: Properties | None) -> str:
        if values is None:
            return f"{kind}(nil)"
        return f"{kind}{{{', '.join(f'{quoted(name)}:{_schema_text(values[name])}' for name in sorted(values))}}}"

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


def _dependencies_text(values: Properties | None) -> str:
    kind, inner = f"{_GROUP}.JSONSchemaDependencies", f"{_PROPS}OrStringArray"
    if values is None:
        return f"{kind}(nil)"
    parts = []
    for name, one in sorted(values.items()):
        schema = one if isinstance(one, Mapping) else None
        listed = _texts_text(None if schema is not None else one)
        parts.append(f"{quoted(name)}:{inner}{{Schema:{pointer(_PROPS, schema)}, Property:{listed}}}")
    return f"{kind}{{{', '.join(parts)}}}"


def _texts_text(values: Sequence[str] | None) -> str:
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


def _anys_text(values: Sequence[Any] | None) -> str:
    if values is None:
        return f"[]{_JSON}(nil)"
    listed = (f"{_JSON}(nil)" if each is None else _any_text(each) for each in values)
    return f"[]{_JSON}{{{', '.join(listed)}}}"


def _docs_json(value: Properties | None) -> Any:
    return None if value is None else {"Description": value.get("description") or "", "URL": value.get("url") or ""}


def _rules_text(rules: Sequence[Properties] | None) -> str:
    kind = f"{_GROUP}.ValidationRules"
    return f"{kind}(nil)" if rules is None else f"{kind}{{{', '.join(printed_rule(rule).text for rule in rules)}}}"


def _rules_json(rules: Sequence[Properties] | None) -> Any:
    return None if rules is None else [printed_rule(rule).json for rule in rules]


def _same(value: Any) -> Any:
    return value


def _pointed(kind: str, json: Callable[[Any], Any] = _same) -> _Form:
    return _Form(lambda value: pointer(kind, value), lambda value: None if value is None else json(value))


_TEXT: Final = _Form(lambda value: quoted(value or ""), lambda value: value or "")
_FLAG: Final = _Form(lambda value: printed(bool(value)), bool)
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
