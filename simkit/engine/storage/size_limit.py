"""The size of an object that a store takes: what etcd takes in one request.

References
----------
etcd 3.5, ``--max-request-bytes`` (1.5 MiB); go.etcd.io/etcd/client/v3, options.go (messages of up to 2 MiB). The texts
were recorded from kube-apiserver 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.errors import unexplained
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object

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
