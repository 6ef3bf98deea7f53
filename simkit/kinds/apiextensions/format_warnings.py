"""Warnings about the formats of a definition that no check of custom resources knows.

Follows ``k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.meta.behaviour import applies
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object
from simkit.schema.custom.formats import checked_format

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_MAPS: Final = ("properties", "patternProperties", "definitions", "dependencies")
_SINGLE: Final = ("items", "not", "additionalProperties", "additionalItems")


def format_warnings(obj: Object, old: Object | None) -> Sequence[str]:
    """The warnings about formats that an update brings, or a new definition has."""
    if not applies("unrecognized-formats-warned"):
        return ()
    known = frozenset(_unrecognized(old)) if old is not None else frozenset()
    return [f"unrecognized format {quoted(name)}" for name in _unrecognized(obj) if name not in known]


def _unrecognized(obj: Object) -> Iterator[str]:
    for version in obj["spec"].get("versions") or ():
        for schema in _levels((version.get("schema") or {}).get("openAPIV3Schema")):
            name, kind = schema.get("format") or "", schema.get("type") or ""
            if (
                name
                and not checked_format([kind or "string"], name)
                and (kind == "string" or applies("formats-by-type"))
            ):
                yield name


def _levels(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and all schemas inside of it."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for name in _SINGLE:
        yield from _levels(schema.get(name))
    for name in _LISTS:
        for inner in schema.get(name) or ():
            yield from _levels(inner)
    for name in _MAPS:
        for inner in (schema.get(name) or {}).values():
            yield from _levels(inner)
