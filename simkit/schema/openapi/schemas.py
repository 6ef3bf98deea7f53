"""OpenAPI schemas of type definitions, made from the rows of the tables.

Upstream: k8s.io/kube-openapi/pkg/builder3/openapi.go and
k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/builder.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.names import GroupVersionKind
from simkit.schema.definitions import Definitions
from simkit.schema.openapi import descriptions
from simkit.schema.pruning import OBJECT_META
from simkit.schema.resources import Resource
from simkit.schema.structural import Schema

Row = Mapping[str, Any]
Shape = dict[str, Any]

KIND_MARKER: Final = "x-kubernetes-group-version-kind"
_SELECTABLE: Final = "x-kubernetes-selectable-fields"


@dataclass(frozen=True, slots=True)
class Dialect:
    """A version of OpenAPI, as far as definitions differ."""

    version: int
    prefix: str
    """The prefix of a definition's name in a reference."""

    def reference(self, name: str) -> Shape:
        return {"$ref": f"{self.prefix}{name}"}


V2: Final = Dialect(2, "#/definitions/")
V3: Final = Dialect(3, "#/components/schemas/")

_MARKERS: Final = {
    "default": "default",
    "enum": "enum",
    "nullable": "nullable",
    "listType": "x-kubernetes-list-type",
    "listMapKeys": "x-kubernetes-list-map-keys",
    "mapType": "x-kubernetes-map-type",
    "patchMergeKey": "x-kubernetes-patch-merge-key",
    "patchStrategy": "x-kubernetes-patch-strategy",
    "unions": "x-kubernetes-unions",
    "rules": "x-kubernetes-validations",
}
_CUSTOM_MARKERS: Final = {
    "preserveUnknown": "x-kubernetes-preserve-unknown-fields",
    "embedded": "x-kubernetes-embedded-resource",
    "intOrString": "x-kubernetes-int-or-string",
}
_ONLY_IN_V3: Final = ("nullable", "rules")
_NO_FORMAT: Final = (
    "raw",
    "json",
    "schema-or-list",
    "schema-or-bool",
    "schema-or-strings",
    "quantity",
    "int-or-string",
)


def shape(behaviour: ServedBehaviour, row: Row, dialect: Dialect, *, custom: bool = False) -> Shape:
    """The OpenAPI form of a row and everything below; definitions become references."""
    if custom:
        row = _custom_row(row, dialect)
    beside = _markers(behaviour, row, dialect, custom=custom)
    if "ref" in row:
        reference = dialect.reference(row["ref"])
        if not beside:
            return reference
        return {"allOf": [reference], **beside} if dialect is V3 else {**reference, **beside}
    out = {**_typed(row, dialect, custom=custom), **row.get("checks", {}), **beside}
    if row.get("required"):
        out["required"] = list(row["required"])
    if "fields" in row:
        out["properties"] = {
            name: shape(behaviour, child, dialect, custom=custom) for name, child in row["fields"].items()
        }
    if "items" in row:
        out["items"] = _element(behaviour, row["items"], dialect, custom=custom)
    if "values" in row:
        out["additionalProperties"] = _element(behaviour, row["values"], dialect, custom=custom)
    return out


def _element(behaviour: ServedBehaviour, row: Row, dialect: Dialect, *, custom: bool) -> Shape:
    """The form of the elements of a list, or of the values of a map."""
    if not custom and behaviour.applies("elements-have-no-defaults"):
        row = {key: value for key, value in row.items() if key != "default"}
    return shape(behaviour, row, dialect, custom=custom)


_JUNCTORS: Final = ("allOf", "anyOf", "oneOf", "not")
_IDENTITY: Final = ("kind", "apiVersion")


def _custom_row(row: Row, dialect: Dialect) -> Row:
    """A row of a custom kind as it is published: embedded objects have a kind; version 2 is reduced.

    kubectl reads version 2 and cannot do with alternatives, with types that a null may stand for, and with parts of
    what may have others: they are left out there.
    """
    if row.get("embedded") and (dialect is V3 or not row.get("preserveUnknown")):
        named = tuple(row.get("required") or ())
        row = {**row, "required": (*named, *(name for name in _IDENTITY if name not in named))}
    if dialect is V3:
        return row
    out = {**row, "checks": {name: check for name, check in row.get("checks", {}).items() if name not in _JUNCTORS}}
    if row.get("nullable") or row.get("preserveUnknown"):
        out = {name: value for name, value in out.items() if name not in ("items", "fields")}
    if row.get("nullable") or ("items" not in out and row.get("type") == "array"):
        out.pop("type", None)
    fields, any_null = out.get("fields", {}), row.get("values", {}).get("nullable")
    needed = [name for name in row.get("required") or () if not fields.get(name, {}).get("nullable")]
    return {**out, "required": [] if any_null else needed}


def _typed(row: Row, dialect: Dialect, *, custom: bool) -> Shape:
    """Type and format. Int-or-string has a form of its own in each version."""
    form = row.get("format", "")
    if form in ("quantity", "int-or-string") and not custom:
        other = "number" if form == "quantity" else "integer"
        named = {"format": form} if form == "int-or-string" else {}
        if dialect is V2:
            return {"type": "string", **named}
        kinds = [{"type": "string"}, {"type": other}]
        return {"oneOf": kinds if other == "number" else kinds[::-1], **named}
    out = {"type": row["type"]} if "type" in row else {}
    if form and (custom or form not in _NO_FORMAT):
        out["format"] = "date-time" if form == "micro-time" else form
    return out


def _markers(behaviour: ServedBehaviour, row: Row, dialect: Dialect, *, custom: bool) -> Shape:
    out = {}
    for key, name in (_MARKERS | _CUSTOM_MARKERS if custom else _MARKERS).items():
        if key == "enum" and not custom and not behaviour.applies("enumerations-published"):
            continue
        if key not in row or (dialect is V2 and (key in _ONLY_IN_V3 or (key == "default" and not row[key]))):
            continue
        out[name] = row[key]
    return out


def references(row: Row) -> Iterator[str]:
    """The definitions that a row names directly."""
    if "ref" in row:
        yield row["ref"]
    for child in (*row.get("fields", {}).values(), row.get("items"), row.get("values")):
        if child:
            yield from references(child)


def reachable(definitions: Definitions, names: Iterable[str]) -> list[str]:
    """The definitions with these names and all that they refer to, sorted."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += references(definitions.rows[name])
    return sorted(found)


def definition(
    behaviour: ServedBehaviour,
    definitions: Definitions,
    name: str,
    dialect: Dialect,
    versions: Iterable[tuple[str, str]],
) -> Shape:
    """A definition with its kinds. Kinds of every group version are listed for the given ones."""
    row = definitions.rows[name]
    out = described(shape(behaviour, row, dialect), _with_types(descriptions.texts(name), row), dialect)
    kinds = [gvk for kind in definitions.kinds_of(name) for gvk in _spread(kind, versions)]
    if kinds:
        out[KIND_MARKER] = [marker(gvk) for gvk in kinds]
        if not descriptions.source():
            out["description"] = descriptions.HOW_TO_INSTALL
    return out


def described(made: Shape, texts: descriptions.Texts, dialect: Dialect) -> Shape:
    """A definition's schema with the known descriptions of the type and its fields."""
    out = {"description": texts.type, **made} if texts.type else dict(made)
    properties = out.get("properties", {})
    known = {
        name: _with_description(properties[name], texts.fields[name], dialect)
        for name in texts.fields
        if name in properties
    }
    return {**out, "properties": {**properties, **known}} if known else out


def _with_types(texts: descriptions.Texts, row: Row) -> descriptions.Texts:
    """The descriptions, with that of its type for a field that is a definition and has none of its own."""
    fields = row.get("fields", {}).items()
    known = {name: descriptions.texts(child["ref"]).type for name, child in fields if "ref" in child}
    return texts._replace(fields={**{name: text for name, text in known.items() if text}, **texts.fields})


def _with_description(made: Shape, text: str, dialect: Dialect) -> Shape:
    """A field's schema with its description, which version 3 does not allow beside a reference."""
    beside_reference = "$ref" in made and dialect is V3
    text += _possible_values(made.get("enum") or (), text)
    return {"description": text, **({"allOf": [made]} if beside_reference else made)}


_VALUES: Final = "Possible enum values:"


def _possible_values(values: Iterable[str], text: str) -> str:
    """The list of values that ends a description, without their meanings; empty if the description has it.

    Follows ``k8s.io/kube-openapi/pkg/generators/enum.go`` (``EnumDescription``).
    """
    listed = "\n".join(f' - `"{value}"`' for value in values)
    return f"\n\n{_VALUES}\n{listed}" if listed and _VALUES not in text else ""


def _spread(kind: GroupVersionKind, versions: Iterable[tuple[str, str]]) -> list[GroupVersionKind]:
    if kind.group != "*":
        return [kind]
    return [GroupVersionKind(group, version, kind.kind) for group, version in versions]


def marker(gvk: GroupVersionKind) -> dict[str, str]:
    """A kind in the form of ``x-kubernetes-group-version-kind``."""
    return {"group": gvk.group, "kind": gvk.kind, "version": gvk.version}


def custom_name(gvk: GroupVersionKind) -> str:
    """The name of a custom kind's definition: its group reversed, version, kind.

    Examples
    --------
    >>> custom_name(GroupVersionKind("stable.example.com", "v1", "CronTab"))
    'com.example.stable.v1.CronTab'
    """
    return ".".join([*reversed(gvk.group.split(".")), gvk.version, gvk.kind])


LIST_META: Final = f"{OBJECT_META.rpartition('.')[0]}.ListMeta"


def _typed_fields() -> Shape:
    """The fields kind and apiVersion of any object, as every built-in kind describes them."""
    texts = descriptions.texts(LIST_META.replace("ListMeta", "Status"))
    return {
        name: described({"properties": {name: {"type": "string"}}}, texts, V3)["properties"][name]
        for name in _IDENTITY[::-1]
    }


def _metadata(definition: str, dialect: Dialect) -> Shape:
    """The metadata of a custom kind, with the description of their type."""
    text, reference = descriptions.texts(definition).type, dialect.reference(definition)
    return _with_description(reference, text, dialect) if text else reference


def _described(behaviour: ServedBehaviour, row: Row, dialect: Dialect) -> Shape:
    out = shape(behaviour, row, dialect, custom=True)
    out["properties"] = {**out.get("properties", {}), **_typed_fields(), "metadata": _metadata(OBJECT_META, dialect)}
    out.setdefault("type", "object")
    return out


def custom_definitions(
    behaviour: ServedBehaviour, resource: Resource, schema: Schema, dialect: Dialect
) -> dict[str, Shape]:
    """The definitions of a custom kind and of its list."""
    out: Shape = (
        {"type": "object"}
        if dialect is V2 and schema.row.get("preserveUnknown")
        else _described(behaviour, schema.row, dialect)
    )
    out[KIND_MARKER] = [marker(resource.gvk)]
    if resource.selectable:
        out[_SELECTABLE] = [{"fieldPath": path} for path in resource.selectable]
    items = {"type": "array", "items": dialect.reference(custom_name(resource.gvk))}
    listed = {
        "type": "object",
        "required": ["items"],
        "properties": {**_typed_fields(), "items": items, "metadata": _metadata(LIST_META, dialect)},
        KIND_MARKER: [marker(resource.list_gvk)],
    }
    return {custom_name(resource.gvk): out, custom_name(resource.list_gvk): listed}
