"""The calls of etcd's version 3 API that a store needs, with their messages made from ``datasets/etcd``.

References
----------
api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto of etcd, release 3.5: names and field numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from simkit.meta import datasets
from simkit.schema.binary.messages import MessagePool

_PACKAGE: Final = "etcdserverpb"

EQUAL: Final = 0
"""``Compare.result``."""
VERSION: Final = 0
MOD: Final = 2
"""``Compare.target``: how often a key was written since it was made, and the revision of its last change."""
DELETED: Final = 1
"""``Event.type`` of a removal."""

RANGE: Final = "KV/Range", "RangeResponse"
TXN: Final = "KV/Txn", "TxnResponse"
COMPACT: Final = "KV/Compact", "CompactionResponse"
GRANT: Final = "Lease/LeaseGrant", "LeaseGrantResponse"
STATUS: Final = "Maintenance/Status", "StatusResponse"
AUTHENTICATE: Final = "Auth/Authenticate", "AuthenticateResponse"
WATCH: Final = "Watch/Watch", "WatchResponse"


@cache
def _pool() -> MessagePool:
    return MessagePool(datasets.load("etcd/messages.json"))


@cache
def message_class(name: str) -> Any:
    """The class of a message, such as ``RangeRequest``."""
    return _pool().message_class(f"{_PACKAGE}.{name}")


def message(name: str, **fields: Any) -> Any:
    """A message with some fields filled."""
    return message_class(name)(**fields)


def path(method: str) -> str:
    """The path of a method, as gRPC sends it."""
    return f"/{_PACKAGE}.{method}"


def unchanged(key: bytes, revision: int) -> Any:
    """The condition that a key was last changed at a revision; 0: that it does not exist."""
    return message("Compare", result=EQUAL, target=MOD, key=key, mod_revision=revision)


def written_times(key: bytes, times: int) -> Any:
    """The condition that a key was written so many times since it was made."""
    return message("Compare", result=EQUAL, target=VERSION, key=key, version=times)


def end_of(prefix: bytes) -> bytes:
    """The end of the range of all keys that begin with a prefix.

    Examples
    --------
    >>> end_of(b"/registry/")
    b'/registry0'
    """
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else b"\0"
