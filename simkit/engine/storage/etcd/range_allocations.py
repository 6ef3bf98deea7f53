"""Numbers that several servers give out of one range: bitmaps in etcd, in the form of kube-apiserver.

Upstream: pkg/registry/core/service/allocator/storage/storage.go and
pkg/registry/core/service/ipallocator/controller/repair.go, release 1.30.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.meta.errors import unexplained
from simkit.meta.names import GroupResource
from simkit.meta.periodic import Periodic
from simkit.schema.binary import decode, encode
from simkit.snapshot.etcd import rpc
from simkit.snapshot.etcd.client import EtcdClient
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.etcd.values import Values

REPAIR_SECONDS: Final = 180.0
"""Seconds between two comparisons of the bitmaps with the objects."""
_KEPT_REPAIRS: Final = 2
"""Repairs after which a number that no object has is free: somebody may be about to store its object."""


@dataclass(slots=True)
class _Bitmap:
    """The state of one range: a bit for each number, and the revision of the key."""

    key: bytes
    resource: GroupResource
    bits: int = 0
    revision: int = 0
    leaks: dict[int, int] = field(default_factory=dict)
    """By number that no object has: how many more repairs it outlasts."""


class RangeAllocations:
    """The ranges of one server. Its methods may be called from any thread.

    A range is named as in etcd (``serviceips``, ``secondaryserviceips``, ``servicenodeports``); its numbers are counted
    from 0.
    """

    def __init__(self, client: EtcdClient, layout: Layout, values: Values) -> None:
        self._client, self._root, self._values = client, layout.root, values
        self._lock = threading.RLock()
        self._bitmaps: dict[str, _Bitmap] = {}
        self._repairs: Periodic | None = None

    def known(self, name: str) -> int:
        """The bits of a range as this server last saw them."""
        return self._bitmap(name).bits

    def claim(self, name: str, text: str, number: int) -> bool:
        """Take a number of a range, written as ``text``. False if another server has it."""
        bit = 1 << number
        with self._lock:
            bitmap = self._bitmap(name)
            while not bitmap.bits & bit:
                if self._write(bitmap, text, bitmap.bits | bit):
                    return True
            if self._read(bitmap, text) & bit:
                return False
            return self.claim(name, text, number)

    def release(self, name: str, text: str, number: int) -> None:
        """Give a number back, whoever took it."""
        bit = 1 << number
        with self._lock:
            bitmap = self._bitmap(name)
            while not self._write(bitmap, text, bitmap.bits & ~bit):
                pass

    def repair(self, name: str, text: str, used: Callable[[], int]) -> None:
        """Set the bits of a range by what objects have; a number that none has is kept for two more repairs.

        ``used`` is called after the range was read, and gives the bits of all objects.
        """
        bitmap = self._bitmap(name)
        while True:
            with self._lock:
                self._read(bitmap, None)
                stored, revision = bitmap.bits, bitmap.revision
            bits = used()  # may wait for others that claim meanwhile, so without the lock
            leaked = {number: bitmap.leaks.get(number, _KEPT_REPAIRS + 1) - 1 for number in _ones(stored & ~bits)}
            kept = {number: count for number, count in leaked.items() if count > 0}
            with self._lock:
                if bitmap.revision == revision and self._write(bitmap, text, bits | sum(1 << each for each in kept)):
                    bitmap.leaks = kept
                    return

    def repair_regularly(self, repair: Callable[[], None]) -> None:
        """Call a function now, and every three minutes until ``stop``."""
        repair()
        self._repairs = Periodic("etcd-range-repair", repair, REPAIR_SECONDS)
        self._repairs.start()

    def stop(self) -> None:
        """Repair no more."""
        if self._repairs is not None:
            self._repairs.stop()

    def _bitmap(self, name: str) -> _Bitmap:
        with self._lock:
            if name not in self._bitmaps:
                kind = "servicenodeportallocations" if name == "servicenodeports" else "serviceipallocations"
                self._bitmaps[name] = _Bitmap(self._root + f"ranges/{name}".encode(), GroupResource("", kind))
            return self._bitmaps[name]

    def _write(self, bitmap: _Bitmap, text: str, bits: int) -> bool:
        """True if the bits were written; if another server wrote meanwhile, its bits are taken over instead."""
        put = rpc.message("PutRequest", key=bitmap.key, value=self._encoded(bitmap, text, bits))
        read = rpc.message("RangeRequest", key=bitmap.key)
        answer = self._client.transact(
            [rpc.unchanged(bitmap.key, bitmap.revision)],
            [rpc.message("RequestOp", request_put=put)],
            [rpc.message("RequestOp", request_range=read)],
        )
        if answer.succeeded:
            bitmap.bits, bitmap.revision = bits, answer.header.revision
            return True
        self._take_over(bitmap, text, answer.responses[0].response_range)
        return False

    def _read(self, bitmap: _Bitmap, text: str | None) -> int:
        self._take_over(bitmap, text, self._client.read(bitmap.key))
        return bitmap.bits

    def _take_over(self, bitmap: _Bitmap, text: str | None, answer: Any) -> None:
        """Take over a range as it is in etcd. Raises a 500 StatusError if its numbers are those of another range."""
        if not answer.kvs:
            bitmap.bits = bitmap.revision = 0
            return
        pair = answer.kvs[0]
        stored = decode(self._values.decrypt(bitmap.resource, bitmap.key, pair.value))
        bitmap.revision = pair.mod_revision
        if text is not None and stored["range"] != text:
            raise unexplained("the provided range does not match the current range")
        bitmap.bits = int.from_bytes(base64.b64decode(stored["data"] or ""), "big")

    def _encoded(self, bitmap: _Bitmap, text: str, bits: int) -> bytes:
        data = base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "big")).decode()
        made = {"apiVersion": "v1", "kind": "RangeAllocation", "metadata": {}, "range": text, "data": data}
        return self._values.encrypt(bitmap.resource, bitmap.key, encode(made))


def _ones(bits: int) -> list[int]:
    """The numbers of the bits that are set."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found
