"""Objects made from a schema: any subset of fields, short lists, small values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from simkit.schema.structural import Schema

WORDS = st.sampled_from(["a", "b", "web", "zone-1"])
NUMBERS = st.integers(1, 9)
DEPTH = 7


def objects(schema: Schema, api_version: str, kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of a kind with plain metadata."""
    metadata = st.fixed_dictionaries({"name": WORDS}, optional={"labels": st.dictionaries(WORDS, WORDS, max_size=2)})
    own = {"apiVersion": st.just(api_version), "kind": st.just(kind), "metadata": metadata}
    parts = {name: node for name, node in schema.fields.items() if name not in ("apiVersion", "kind", "metadata")}
    return st.builds(lambda head, body: {**head, **body}, st.fixed_dictionaries(own), _fields(parts, 0))


def _fields(fields: dict[str, Schema], depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with up to three of the fields."""

    @st.composite
    def build(draw: st.DrawFn) -> dict[str, Any]:
        names = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True)) if fields else []
        return {name: draw(value(fields[name], depth + 1)) for name in names}

    return build()


def value(schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that a schema node takes."""
    if schema.int_or_string:
        return st.one_of(NUMBERS, st.just("25%"))
    if schema.preserve_unknown or (depth > DEPTH and schema.type in ("object", "array")):
        return st.just([] if schema.type == "array" else {})
    if schema.type == "array":
        inner = schema.items
        return st.lists(value(inner, depth + 1), min_size=1, max_size=2) if inner else st.just([])
    if schema.values is not None:
        return st.dictionaries(WORDS, value(schema.values, depth + 1), min_size=1, max_size=2)
    if schema.fields:
        return _fields(dict(schema.fields), depth)
    return _scalar(schema)


def _scalar(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.enum:
        return st.sampled_from(schema.enum)
    if schema.format in ("date-time", "micro-time"):
        return st.just("2024-01-01T00:00:00Z" if schema.format == "date-time" else "2024-01-01T00:00:00.000000Z")
    if schema.format == "quantity":
        return st.sampled_from(["1", "500m", "2Gi"])
    if schema.format == "byte":
        return st.just("YQ==")
    if schema.type in ("integer", "number"):
        return NUMBERS
    if schema.type == "boolean":
        return st.booleans()
    return WORDS
