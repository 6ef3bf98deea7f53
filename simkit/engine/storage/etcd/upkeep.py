"""What servers that share one etcd ask and do together: its revision, leases of entries, and compaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final

from simkit.meta.names import GroupResource
from simkit.meta.pausing import pausable_step
from simkit.meta.periodic import Periodic
from simkit.snapshot.etcd import rpc
from simkit.snapshot.etcd.client import EtcdClient

# The revision that etcd is at, asked once for all who want to know it at the same time


class LatestRevision:
    """Asks for the latest revision.

    A call that has begun already may miss a write that was made since. So whoever comes while one is under way takes
    the answer of the next one, together with all who came meanwhile.

    Parameters
    ----------
    ask
        Gives the revision that etcd is at, by agreement of its members.

    Notes
    -----
    kube-apiserver does the same for consistent lists of its watch cache (KEP 2340). The members of etcd do so among
    themselves with the reads of one moment.
    """

    def __init__(self, ask: Callable[[], int]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self.waiting = 0
        """The number of callers that wait for the next call."""
        self._present: Future[int] | None = None
        self._next: Future[int] | None = None

    def get(self) -> int:
        """A revision that includes all that was written before this call. Raises what the call to etcd raises."""
        if pausable_step() is not None:  # others of its thread could not lead
            return self._ask()
        with self._lock:
            before, leads = self._present, True
            if before is None:
                wanted = self._present = Future[int]()
            elif self._next is None:
                wanted, self.waiting = Future[int](), 1
                self._next = wanted
            else:
                wanted, leads = self._next, False
                self.waiting += 1
        if leads:
            self._lead(wanted, before)
        return wanted.result()

    def _lead(self, mine: Future[int], before: Future[int] | None) -> None:
        """Make a call for all who wait for it, once the one before has ended."""
        if before is not None:
            before.exception()  # only its end is waited for
        try:
            with self._lock:
                if before is not None:
                    self._present, self._next, self.waiting = mine, None, 0
            mine.set_result(self._ask())
        except BaseException as error:
            mine.set_exception(error)
        finally:
            with self._lock:
                if self._present is mine and self._next is None:
                    self._present = None


# Leases of etcd: what is written under one goes when it ends, as kube-apiserver keeps events.
# Upstream: k8s.io/apiserver/pkg/storage/etcd3/lease_manager.go, release 1.30.

REUSED_SECONDS: Final = 60.0
"""For how long a lease is given to further objects: etcd bears few leases better than many."""
REUSED_OBJECTS: Final = 1000


class Leases:
    """The current lease of each resource whose objects are kept for some time only."""

    def __init__(self, client: EtcdClient, seconds: Mapping[GroupResource, float]) -> None:
        self._client, self._seconds = client, seconds
        self._current: dict[GroupResource, tuple[int, float, int]] = {}
        self._lock = threading.Lock()

    def lease(self, resource: GroupResource) -> int:
        """The lease under which an object of a resource is to be written; 0 for none."""
        seconds = self._seconds.get(resource, 0.0)
        if seconds <= 0:
            return 0
        with self._lock:
            lease, made, used = self._current.get(resource, (0, 0.0, 0))
            reused = min(REUSED_SECONDS, seconds * 0.05)
            if not lease or time.monotonic() - made > reused or used >= REUSED_OBJECTS:
                lease, made, used = self._client.grant(max(int(seconds + reused), 1)), time.monotonic(), 0
            self._current[resource] = lease, made, used + 1
            return lease


# Compacts etcd every five minutes, one server of those that share it at a time.
# They agree on a key: who finds it unchanged since its own last look compacts to the revision of that time.
# Upstream: k8s.io/apiserver/pkg/storage/etcd3/compact.go, release 1.30.

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
