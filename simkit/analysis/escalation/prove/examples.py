"""Example objects of custom resources: valid for their schema, with required fields filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from simkit.analysis.catalogue import DEFINITIONS
from simkit.meta.objects import at
from simkit.schema.catalogue import Resource
from simkit.seams.snapshot import Snapshot

WORDS: Final = ("proof", "Proof", "proof.example", "v1", "proof.example/v1", "1m", "https://proof.example", "1", "1Gi")
"""Texts to try for a pattern."""
FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2024-01-01T00:00:00Z",
    "date": "2024-01-01",
    "duration": "1m",
    "uri": "https://proof.example",
    "email": "proof@proof.example",
    "ipv4": "192.0.2.9",
    "ipv6": "2001:db8::9",
    "byte": "cHJvb2Y=",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def fitting(schema: Mapping[str, Any], given: Any = None) -> Any:
    """A value that is valid for a structural schema: the given one, with all required fields added.

    Rules in expressions and combinations of schemas are not looked at.

    Examples
    --------
    >>> wanted = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 3}}}
    >>> fitting(wanted, {"name": "a"})
    {'name': 'a', 'size': 3}
    """
    kind = schema.get("type") or ("object" if schema.get("properties") else "")
    if isinstance(given, Mapping) or (given is None and kind == "object"):
        properties = schema.get("properties") or {}
        made = {key: fitting(properties.get(key) or {}, value) for key, value in (given or {}).items()}
        missing = [key for key in schema.get("required") or () if key not in made]
        lacking = (schema.get("minProperties") or 0) - len(made) - len(missing)
        missing += [key for key in properties if key not in made and key not in missing][: max(lacking, 0)]
        return {**made, **{key: fitting(properties.get(key) or {}) for key in missing}}
    if isinstance(given, list):
        return [fitting(schema.get("items") or {}, one) for one in given]
    return _made(schema, kind) if given is None else given


def _made(schema: Mapping[str, Any], kind: str) -> Any:
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "array":
        return [fitting(schema.get("items") or {}) for _ in range(schema.get("minItems") or 0)]
    if kind == "boolean":
        return False
    if kind in ("integer", "number") or schema.get("x-kubernetes-int-or-string"):
        return schema.get("minimum", 1)
    return _text(schema) if kind == "string" else {}


def _text(schema: Mapping[str, Any]) -> str:
    values = (FORMATS.get(schema.get("format") or "", WORDS[0]), *WORDS)
    pattern = schema.get("pattern") or ""
    found = next((word for word in values if re.search(pattern, word)), WORDS[0])
    return found.ljust(schema.get("minLength") or 0, "x")


def schema_of(snapshot: Snapshot, resource: Resource) -> Mapping[str, Any]:
    """The schema of a custom resource in its served version; empty if none is known."""
    if DEFINITIONS in snapshot.captured():
        definition = snapshot.get(DEFINITIONS, f"{resource.resource}.{resource.group}")
        for version in at(definition or {}, "spec", "versions") or ():
            if version.get("name") == resource.version:
                schema: Mapping[str, Any] = at(version, "schema", "openAPIV3Schema") or {}
                return schema
    return {}
