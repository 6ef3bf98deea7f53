"""Compacts etcd every five minutes, one server of those that share it at a time.

They agree on a key: who finds it unchanged since its own last look compacts to the revision of that time.

Upstream: k8s.io/apiserver/pkg/storage/etcd3/compact.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.periodic import Periodic
from simkit.snapshot.etcd import rpc
from simkit.snapshot.etcd.client import EtcdClient

KEY: Final = b"compact_rev_key"
INTERVAL: Final = 300.0


class Compactor:
    """A thread that compacts; ``compact`` does it once."""

    def __init__(self, client: EtcdClient, interval: float = INTERVAL) -> None:
        self._client = client
        self._periodic = Periodic("etcd-compactor", self.compact, interval)
        self._times, self._revision = 0, 0

    def start(self) -> None:
        """Compact from now on, until ``stop``."""
        self._periodic.start()

    def stop(self) -> None:
        """Compact no more."""
        self._periodic.stop()

    def compact(self) -> bool:
        """Forget what was superseded before the last call, unless another server did; whether this one did."""
        put = rpc.message("PutRequest", key=KEY, value=str(self._revision).encode())
        read = rpc.message("RangeRequest", key=KEY)
        answer = self._client.transact(
            [rpc.written_times(KEY, self._times)],
            [rpc.message("RequestOp", request_put=put)],
            [rpc.message("RequestOp", request_range=read)],
        )
        revision, self._revision = self._revision, answer.header.revision
        if not answer.succeeded:
            self._times = answer.responses[0].response_range.kvs[0].version
            return False
        self._times += 1
        if revision:
            self._client.compact(revision)
        return bool(revision)
