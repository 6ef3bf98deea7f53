"""An entry whose object is decoded when first asked for."""

from __future__ import annotations

from collections.abc import Callable

from simkit.engine.seams import Entry
from simkit.engine.storage.memory import stamped
from simkit.meta.names import Key, Revision
from simkit.meta.objects import Object

Decode = Callable[[Key, bytes, Revision], Object]
"""Makes the object of stored bytes, given its key and revision. Raises where the bytes are none."""


class LazyEntry(Entry):
    """An entry with the bytes of its object, which ``decode`` reads at the first access."""

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
            return LazyEntry(self.key, revision, held, self._decode)
        return Entry(self.key, revision, stamped(held, revision), self.size)
