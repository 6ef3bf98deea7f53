"""An entry whose object is decoded when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simkit.engine.seams import Entry
from simkit.engine.storage.memory import stamped
from simkit.meta.names import Key, Revision
from simkit.meta.objects import Object
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.etcd.values import Values

Decode = Callable[[Key, bytes, Revision], Object]
ReadEntry = Callable[[Any], Entry | None]
"""Makes an entry of a key and its value in etcd; None where it is no object."""


class EtcdEntry(Entry):
    """An entry out of etcd. Its object is made of the value at the first access, and raises where that is none."""

    __slots__ = ("_decode", "_held")

    def __init__(self, key: Key, revision: Revision, raw: bytes, decode: Decode) -> None:
        self.key, self.revision, self.encodings, self.size = key, revision, {}, len(raw)
        self._held: bytes | Object = raw
        self._decode = decode

    @property
    def object(self) -> Object:  # type: ignore[override]
        held = self._held  # one slot, read and written once: threads may decode twice, but never see half of it
        if isinstance(held, bytes):
            held = self._decode(self.key, held, self.revision)
            self._held = held
        return held

    def moved(self, revision: Revision) -> Entry:
        """The same object under another revision."""
        held = self._held
        if isinstance(held, bytes):
            return EtcdEntry(self.key, revision, held, self._decode)
        return Entry(self.key, revision, stamped(held, revision), self.size)


def reader(layout: Layout, values: Values) -> ReadEntry:
    """Makes entries of keys and values in etcd, in a layout."""

    def decode(key: Key, raw: bytes, revision: Revision) -> Object:
        return values.decode(key, layout.path(key), raw, revision)

    def read(pair: Any) -> Entry | None:
        key = layout.key(pair.key)
        return None if key is None else EtcdEntry(key, Revision(pair.mod_revision), pair.value, decode)

    return read


def removed(entry: Entry, revision: Revision) -> Entry:
    """The last state of an object under the revision of its removal."""
    if isinstance(entry, EtcdEntry):
        return entry.moved(revision)
    return Entry(entry.key, revision, stamped(entry.object, revision), entry.size)
