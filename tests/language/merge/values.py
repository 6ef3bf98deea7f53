"""A custom type with every kind of list and map, and random values of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from simkit.schema.structural import Schema

NAMED = {"type": "object", "fields": {"name": {"type": "string"}, "value": {"type": "string"}}}
WIDGET: Mapping[str, Any] = {
    "type": "object",
    "fields": {
        "s": {"type": "string"},
        "n": {"type": "integer"},
        "atom": {"type": "array", "items": {"type": "string"}},
        "set": {"type": "array", "listType": "set", "items": {"type": "string"}},
        "map": {"type": "array", "listType": "map", "listMapKeys": ["name"], "items": NAMED},
        "whole": {"type": "object", "mapType": "atomic", "values": {"type": "string"}},
        "free": {"type": "object", "values": {"type": "string"}},
        "any": {"type": "object", "preserveUnknown": True},
        "inner": {"type": "object", "fields": {"a": {"type": "string"}, "b": {"type": "string"}}},
    },
}


def unresolved(name: str) -> Schema:
    """A resolver of schemas without references."""
    raise AssertionError(f"no reference to {name} is expected")


WORDS = st.sampled_from(["a", "b", "c", "d"])
ELEMENTS = st.builds(
    lambda name, rest: {"name": name, **rest}, WORDS, st.fixed_dictionaries({}, optional={"value": WORDS})
)
ANYTHING = st.recursive(
    WORDS | st.booleans() | st.integers(0, 2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
WIDGETS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "s": WORDS,
        "n": st.integers(0, 3),
        "atom": st.lists(WORDS, max_size=3),
        "set": st.lists(WORDS, max_size=4, unique=True),
        "map": st.lists(ELEMENTS, max_size=4, unique_by=lambda element: element["name"]),
        "whole": st.dictionaries(WORDS, WORDS, max_size=3),
        "free": st.dictionaries(WORDS, WORDS, max_size=3),
        "any": st.dictionaries(WORDS, ANYTHING, max_size=3),
        "inner": st.fixed_dictionaries({}, optional={"a": WORDS, "b": WORDS}),
    },
)
