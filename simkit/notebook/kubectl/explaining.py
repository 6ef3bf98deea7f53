"""kubectl explain, out of the OpenAPI documents of the server.

Upstream: k8s.io/kubectl/pkg/explain/v2/templates/plaintext.tmpl, release 1.32.
"""

from __future__ import annotations

import textwrap
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.schema.resources import Resource

_WIDTH: Final = 80


def explain(client: Client, args: Namespace) -> str:
    """The description and the fields of a kind, or of a field in it: ``pods.spec.containers``."""
    word, *path = args.words[0].split(".")
    resource = client.resource(word)
    where = f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
    document = client.ask("GET", f"/openapi/v3/{where}").object
    schemas = document["components"]["schemas"]
    schema, field, name = _kind(schemas, resource), None, ""
    head = [f"GROUP:      {resource.group}"] if resource.group else []
    head += [f"KIND:       {resource.kind}", f"VERSION:    {resource.version}", ""]
    for name in path:
        properties = _resolved(schemas, schema).get("properties") or {}
        if name not in properties:
            begun = "\n".join([*head, ""])
            raise KubectlError(f'{begun}error: field "{name}" does not exist')
        field = properties[name]
        schema = _element(schemas, field)
    if field is not None:
        head += [f"FIELD: {name} <{_type(schemas, field)}>", "", ""]
    told = [str(each.get("description") or "") for each in (field, schema) if each is not None]
    text = [line for each in told if each for line in _wrapped(each, 4)] or ["    <empty>"]
    lines = [*head, "DESCRIPTION:", *text, "    "]
    fields = list(_names(schemas, schema, 1) if args.recursive else _fields(schemas, schema))
    if fields:
        lines += ["FIELDS:", *fields]
    return "\n".join([*lines, "", ""])


def _kind(schemas: Mapping[str, Any], resource: Resource) -> Mapping[str, Any]:
    wanted = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    for schema in schemas.values():
        if wanted in (schema.get("x-kubernetes-group-version-kind") or ()):
            found: Mapping[str, Any] = schema
            return found
    raise KubectlError(f'error: couldn\'t find resource for "{resource.api_version}, Kind={resource.kind}"')


def _resolved(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with the type that it refers to."""
    reference = schema.get("$ref") or next((each["$ref"] for each in schema.get("allOf") or () if "$ref" in each), "")
    found: Mapping[str, Any] = schemas.get(reference.rpartition("/")[2], {}) if reference else schema
    return found


def _element(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the objects in a field: those of a list or map too."""
    found = _resolved(schemas, schema)
    inner = found.get("items") or found.get("additionalProperties")
    return _element(schemas, inner) if isinstance(inner, Mapping) else found


def _type(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "items" in schema:
        return f"[]{_type(schemas, schema['items'])}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"map[string]{_type(schemas, schema['additionalProperties'])}"
    reference = schema.get("$ref") or next((each["$ref"] for each in schema.get("allOf") or () if "$ref" in each), "")
    if reference:
        inner = schemas.get(reference.rpartition("/")[2])
        if inner is not None and inner.get("type", "object") != "object":
            return str(inner["type"])
        return reference.rpartition("/")[2].rpartition(".")[2] if inner is not None else "Object"
    return str(schema.get("type") or "Object")


def _description(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    return str(schema.get("description") or _resolved(schemas, schema).get("description") or "")


def _fields(schemas: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required") or ()
    for name, each in sorted((schema.get("properties") or {}).items()):
        mark = " -required-" if name in required else ""
        yield f"  {name}\t<{_type(schemas, each)}>{mark}"
        if each.get("enum"):
            yield f"  {_choices(each['enum'])}"
        yield from _wrapped(_description(schemas, each) or "<no description>", 4)
        yield ""


def _names(
    schemas: Mapping[str, Any], schema: Mapping[str, Any], depth: int, seen: tuple[int, ...] = ()
) -> Iterator[str]:
    """Fields with their types, those of objects below them; a type inside itself is not gone through again."""
    required, blanks = schema.get("required") or (), "  " * depth
    for name, each in sorted((schema.get("properties") or {}).items()):
        mark = " -required-" if name in required else ""
        yield f"{blanks}{name}\t<{_type(schemas, each)}>{mark}"
        if each.get("enum"):
            yield f"{blanks}{_choices(each['enum'])}"
        inner = _element(schemas, each)
        if id(inner) not in seen:
            yield from _names(schemas, inner, depth + 1, (*seen, id(inner)))


def _choices(values: Sequence[str]) -> str:
    """The first four values of an enumeration."""
    return f"enum: {', '.join(value or chr(34) * 2 for value in values[:4])}{', ....' if len(values) > 4 else ''}"


def _wrapped(text: str, indent: int) -> list[str]:
    """Paragraphs broken at 80 letters, each line after blanks."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += textwrap.wrap(paragraph, _WIDTH - indent, break_long_words=False, break_on_hyphens=False) or [""]
    return [" " * indent + line for line in lines]
