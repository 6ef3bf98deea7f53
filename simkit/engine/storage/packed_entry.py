"""An entry that holds packed JSON, for objects that are many, small, alike and seldom looked at again."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Final

import orjson

from simkit.engine.seams import Encodings, Entry
from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object

PACKED: Final = frozenset({GroupResource("", "events"), GroupResource(EVENTS_GROUP, "events")})
"""Resources whose objects are kept so: Events are written, read once by watches, and then stay for an hour."""
RECENT: Final = 512
"""Entries whose bytes for clients are kept, those that were asked for last: watches send each soon after its making."""

_FIELDS: Final = "count firstTimestamp involvedObject lastTimestamp message reason reportingComponent"
_ALIKE: Final = orjson.dumps(
    {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {
            "name": "",
            "namespace": "default",
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        **{f"f:{name}": {} for name in _FIELDS.split()},
                        "f:source": {"f:component": {}},
                        "f:type": {},
                    },
                }
            ],
            "creationTimestamp": "",
            "uid": "",
            "resourceVersion": "",
        },
        "involvedObject": {"kind": "Pod", "namespace": "", "name": "", "uid": "", "apiVersion": "v1"},
        "reason": "",
        "message": "",
        "source": {"component": ""},
        "reportingComponent": "",
        "firstTimestamp": "",
        "lastTimestamp": "",
        "count": 1,
        "type": "Normal",
        "eventTime": None,
        "reportingInstance": "",
    }
)
"""The text that Events have in common, which need not be kept for each."""
_WINDOW, _MEMORY, _QUICKLY = -11, 4, 1
"""Two kilobytes are looked back on: an Event and what it has in common. More takes ten times as long to prepare."""


class PackedEntry(Entry):
    """An entry whose object is decoded each time it is asked for.

    Notes
    -----
    An Event takes 4 KB as mappings, 1 KB as JSON, and 0.2 KB packed. Packing takes 10 microseconds, unpacking 5. Its
    bytes for clients are made once while it is among the latest, and anew for each later list.
    """

    __slots__ = ("_packed",)

    def __init__(self, key: Key, revision: Revision, json: bytes) -> None:
        self.key, self.revision, self.size = key, revision, len(json)
        packer = zlib.compressobj(_QUICKLY, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=_ALIKE)
        self._packed = packer.compress(json) + packer.flush()

    @property
    def object(self) -> Object:  # type: ignore[override]
        decoded: Object = orjson.loads(self.json)
        return decoded

    @property
    def json(self) -> bytes:
        """The JSON of the object."""
        return zlib.decompressobj(_WINDOW, zdict=_ALIKE).decompress(self._packed)

    @property
    def encodings(self) -> Encodings:  # type: ignore[override]
        return _encodings(self)


@lru_cache(maxsize=RECENT)
def _encodings(entry: PackedEntry) -> Encodings:
    """A place for the bytes of an entry, which is told from others by its identity."""
    return {}
