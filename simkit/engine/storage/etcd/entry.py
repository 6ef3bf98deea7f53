"""Entries out of etcd: what a key and its value hold, and the last state of a removed object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simkit.engine.seams import Entry
from simkit.engine.storage.lazy_entry import LazyEntry
from simkit.engine.storage.memory import stamped
from simkit.meta.names import Key, Revision
from simkit.meta.objects import Object
from simkit.meta.unreadable import Unreadable, UnreadableObject
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.etcd.values import Values

ReadEntry = Callable[[Any], Entry | None]
"""Makes an entry of a key and its value in etcd; None where it is no object."""


Written = tuple[bytes, Object]
"""A value as it is written to etcd, and its object."""


def reader(layout: Layout, values: Values, writing: Mapping[bytes, Written]) -> ReadEntry:
    """Makes entries of keys and values in etcd, in a layout.

    Parameters
    ----------
    writing
        What is being written by this server, by path: it need not be decoded when it comes back.
    """

    def decode(key: Key, raw: bytes, revision: Revision) -> Object:
        return values.decode(key, layout.path(key), raw, revision)

    def read(pair: Any) -> Entry | None:
        key = layout.key(pair.key)
        if key is None:
            return None
        revision, raw = Revision(pair.mod_revision), pair.value
        own = writing.get(pair.key)
        if own is not None and own[0] == raw:
            return Entry(key, revision, stamped(own[1], revision), len(raw))
        return LazyEntry(key, revision, raw, decode)

    return read


def removed(entry: Entry, revision: Revision) -> Entry:
    """The last state of an object under the revision of its removal."""
    if isinstance(entry, LazyEntry):
        return entry.moved(revision)
    return Entry(entry.key, revision, stamped(entry.object, revision), entry.size)


def readable(entry: Entry) -> Entry:
    """The entry itself, or in the place of one that cannot be read one with its name alone."""
    if why_unreadable(entry) is None:
        return entry
    meta = {"name": entry.key.name, "namespace": entry.key.namespace, "resourceVersion": str(entry.revision)}
    return Entry(entry.key, entry.revision, {"metadata": {name: value for name, value in meta.items() if value}})


def why_unreadable(entry: Entry) -> Unreadable | None:
    """The object of an entry that cannot be read, with the reason; None for all other entries."""
    try:
        entry.object  # noqa: B018 - it is decoded here
    except UnreadableObject as error:
        return error.unreadable
    return None
