"""JSON that is kept takes the room of its own bytes."""

from __future__ import annotations

import tracemalloc

import orjson

from simkit.language.merge.structure import structure
from simkit.meta.go_json import compact

COUNT = 200
EACH = 600
"""Bytes: orjson takes 4 KB for the shortest text."""


def test_kept_texts_are_small() -> None:
    """A compact text is equal, and takes little more than its bytes; so do the structures of objects."""
    text = orjson.dumps([1, 2])
    assert compact(text) == text
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    held = [compact(orjson.dumps([number])) for number in range(COUNT)]
    formed = [structure({"list": [number]}) for number in range(COUNT)]
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(held) == len(formed) == COUNT
    assert taken < COUNT * EACH
