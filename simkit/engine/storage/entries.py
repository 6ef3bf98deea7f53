"""Entries of a store: packed, within a limit of size, and whom their changes concern."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from simkit.meta.domain import EVENTS_GROUP
from simkit.meta.errors import unexplained
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind, Key, Revision
from simkit.meta.objects import Object
from simkit.seams import Change, Encodings, Entry

# An entry that holds packed JSON, for objects that are many, small, alike and seldom looked at again

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


# The size of an object that a store takes: what etcd takes in one request.
# References: etcd 3.5, ``--max-request-bytes`` (1.5 MiB); go.etcd.io/etcd/client/v3, options.go (messages of up to 2
# MiB). The texts were recorded from kube-apiserver 1.30.

LARGEST: Final = 1536 * 1024
"""Bytes of a request to etcd."""
_LARGEST_MESSAGE: Final = 2 * 1024 * 1024


def check_size(obj: Object, size: int) -> None:
    """Raise the 500 of an object that etcd would not take; ``size`` is that of its JSON.

    Built-in kinds are stored as protobuf, which is shorter: those whose JSON is too long are encoded to be measured.
    """
    stored = size if size <= LARGEST else _stored(obj, size)
    if stored > _LARGEST_MESSAGE:
        told = f"trying to send message larger than max ({stored} vs. {_LARGEST_MESSAGE})"
        raise unexplained(f"rpc error: code = ResourceExhausted desc = {told}")
    if stored > LARGEST:
        raise unexplained("etcdserver: request is too large")


def _stored(obj: Object, size: int) -> int:
    from simkit.schema.binary.codec import Unfit
    from simkit.schema.binary.envelope import encode, has_binary_form

    gvk = GroupVersionKind(*GroupVersion.parse(str(obj.get("apiVersion", ""))), str(obj.get("kind", "")))
    try:
        return len(encode(obj)) if has_binary_form(gvk) else size
    except Unfit:
        return size


# Listeners of a store, and which of them a change concerns

Listener = Callable[[Sequence[Change]], None]


class _Wish(NamedTuple):
    """A listener with the resources whose changes it wants to hear of; None for those of all."""

    listener: Listener
    resources: frozenset[GroupResource] | None


class Listeners:
    """The listeners of one store. Those of each resource are found once, until somebody comes or goes.

    Notes
    -----
    Stopping takes no lock: a finalizer may do it, in any thread and at any point, also within a write.
    """

    def __init__(self) -> None:
        self._wishes: dict[object, _Wish] = {}
        self._by_resource: dict[GroupResource, tuple[Listener, ...]] = {}

    def add(self, listener: Listener, resources: Collection[GroupResource] | None) -> Callable[[], None]:
        """Add a listener behind the others; gives back how to stop it."""
        token = object()
        self._wishes[token] = _Wish(listener, None if resources is None else frozenset(resources))
        self._by_resource = {}

        def stop() -> None:
            self._wishes.pop(token, None)
            self._by_resource = {}

        return stop

    def concerned_by(self, changes: Sequence[Change]) -> Sequence[Listener]:
        """Those who want to hear of at least one of the changes, in the order in which they came."""
        if len(changes) != 1:
            return self._who_want({change.entry.key.resource for change in changes})
        resource, known = changes[0].entry.key.resource, self._by_resource
        found = known.get(resource)
        if found is None:
            found = known[resource] = tuple(self._who_want({resource}))
        return found

    def _who_want(self, changed: Collection[GroupResource]) -> Sequence[Listener]:
        wishes = list(self._wishes.values())
        return [wish.listener for wish in wishes if wish.resources is None or not wish.resources.isdisjoint(changed)]
