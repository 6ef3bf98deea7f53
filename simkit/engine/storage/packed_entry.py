"""An entry that holds the JSON of its object alone, for objects that are many, small and seldom looked at again."""

from __future__ import annotations

from typing import Final

import orjson

from simkit.engine.seams import Entry
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object

PACKED: Final = frozenset({GroupResource("", "events"), GroupResource("events.k8s.io", "events")})
"""Resources whose objects are kept so: Events are written, read once by watches, and then stay for an hour."""


class PackedEntry(Entry):
    """An entry whose object is decoded each time it is asked for.

    Notes
    -----
    An Event takes 4 KB as mappings and 0.6 KB as JSON. Its bytes for clients are made once, as those of every entry.
    """

    __slots__ = ("_json",)

    def __init__(self, key: Key, revision: Revision, json: bytes) -> None:
        self.key, self.revision, self.size, self.encodings = key, revision, len(json), {}
        self._json = json

    @property
    def object(self) -> Object:  # type: ignore[override]
        decoded: Object = orjson.loads(self._json)
        return decoded
