"""A store in etcd: writes are its transactions, reads are of a copy in memory that follows its watch.

Several servers may use one etcd, kube-apiserver among them. Revisions are those of etcd: they grow with every write
of whoever uses it, and so have gaps here.

Upstream: k8s.io/apiserver/pkg/storage/etcd3/store.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.engine.storage.etcd.follower import Follower, Written, is_readable, readable, reader, removed
from simkit.engine.storage.etcd.range_allocations import RangeAllocations
from simkit.engine.storage.etcd.upkeep import Compactor, LatestRevision, Leases
from simkit.engine.storage.memory import FIRST, MemoryStore, encodable_size, stamped
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.names import GroupResource, Key, Revision
from simkit.meta.objects import Object
from simkit.seams import ABSENT, Change, Entry, Stale
from simkit.snapshot.etcd import rpc
from simkit.snapshot.etcd.client import EtcdClient
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.etcd.values import Values

WAIT_SECONDS: Final = 3.0
"""Seconds that a consistent read waits for the watch to catch up, as in kube-apiserver."""
_OPERATIONS: Final = 100
_BYTES: Final = 500_000
"""Writes, and bytes, in one transaction while a store is filled; etcd takes 128, and 1.5 MiB."""


class EtcdStore(MemoryStore):
    """A store in etcd, with a copy in memory from which it is read. Make one with ``open_store``.

    Parameters
    ----------
    leases
        How long objects of a resource are kept, in seconds; others are kept for good.

    Notes
    -----
    A write is one transaction, and returns when this server's copy has seen it. A consistent read asks etcd for its
    revision and waits until the copy has come that far: one call, whatever the number of objects. In an event loop both
    pause the request that they belong to, and keep no thread. Forks are of the copy, and so is what is compacted: etcd
    itself is compacted every five minutes.
    """

    leaves_process = True
    number_ranges: RangeAllocations

    def __init__(
        self, client: EtcdClient, layout: Layout, values: Values, clock: Clock, leases: Mapping[GroupResource, float]
    ) -> None:
        super().__init__(clock)
        self._client, self._layout, self._values = client, layout, values
        self._under_way: dict[bytes, Written] = {}
        """What is being written, by path."""
        self._entry = reader(layout, values, self._under_way)
        self._follower = Follower(client, self, layout.root, self._entry)
        self._leases, self._compactor = Leases(client, leases), Compactor(client)
        self.number_ranges = RangeAllocations(client, layout, values)
        self._latest = LatestRevision(lambda: client.revision(layout.root))
        self._follower.begin()
        self._follower.start()
        self._compactor.start()

    def __repr__(self) -> str:
        return f"<EtcdStore at {self.revision}>"

    def refresh(self) -> None:
        """Catch up with all that was written before this call, by whatever server."""
        self._follower.wait_for(self._latest.get(), WAIT_SECONDS, followed=False)

    def put(self, key: Key, value: Object, *, expect: Revision | None) -> Entry:
        encodable_size(stamped(value, FIRST))
        path = self._layout.path(key)
        raw = self._values.encode(key, path, value)
        written = rpc.message("PutRequest", key=path, value=raw, lease=self._leases.lease(key.resource))
        self._under_way[path] = raw, value  # of two who write the same at once, one decodes what comes back
        try:
            answer, _ = self._transact(key, path, rpc.message("RequestOp", request_put=written), expect)
        finally:
            self._under_way.pop(path, None)
        revision = Revision(answer.header.revision)
        entry = self.get(key)
        if entry is not None and entry.revision == revision:
            return entry
        made = self._entry(rpc.message("KeyValue", key=path, value=raw, mod_revision=revision))
        assert made is not None  # its key is that of an object
        return made

    def delete(self, key: Key, *, expect: Revision | None) -> Change:
        path = self._layout.path(key)
        gone = rpc.message("RequestOp", request_delete_range=rpc.message("DeleteRangeRequest", key=path))
        answer, old = self._transact(key, path, gone, expect, existing=True)
        assert old is not None  # what does not exist is stale
        last = readable(old)
        return Change("DELETED", removed(last, Revision(answer.header.revision)), last)

    def _transact(
        self, key: Key, path: bytes, operation: Any, expect: Revision | None, *, existing: bool = False
    ) -> tuple[Any, Entry | None]:
        """The answer to a write that was made, and the entry that it replaced. Raises Stale."""
        if self._follower.own_thread:
            raise SimkitError("a listener of the store tried to write; do it after the write that it was told of")
        read = rpc.message("RequestOp", request_range=rpc.message("RangeRequest", key=path))
        while True:
            old = self.get(key)
            wanted = expect if expect is not None else (old.revision if old is not None else ABSENT)
            if existing and wanted == ABSENT:
                raise Stale(key, old)
            compare = [rpc.unchanged(path, max(wanted, 0))]
            answer = self._client.transact(compare, [operation], [read], pauses=True)
            if answer.succeeded:
                self._follower.wait_for(answer.header.revision, WAIT_SECONDS, followed=True)
                return answer, old
            found = answer.responses[0].response_range.kvs
            seen = found[0].mod_revision if found else answer.header.revision
            self._follower.wait_for(seen, WAIT_SECONDS, followed=bool(found))
            if expect is not None:
                raise Stale(key, self._entry(found[0]) if found else None)

    def seed(self, objects: Iterable[tuple[Key, Object]]) -> None:
        """Put objects into etcd. Their revisions are new ones: etcd alone gives them.

        Raises SimkitError where etcd holds objects of one of the resources, or another server writes one meanwhile.
        """
        given = list(objects)
        for resource in {key.resource for key, _ in given}:
            if self.count(resource):
                raise SimkitError(f"the store holds {resource} already; only an empty store can be seeded")
        if not given:
            return
        with self._follower.paused():
            for puts in self._batches(given):
                self._create(puts)

    def _batches(self, objects: Iterable[tuple[Key, Object]]) -> Iterator[list[Any]]:
        """The writes of objects, as many together as a transaction may hold."""
        puts: list[Any] = []
        size = 0
        for key, value in objects:
            path = self._layout.path(key)
            raw = self._values.encode(key, path, value)
            if puts and (len(puts) >= _OPERATIONS or size + len(raw) > _BYTES):
                yield puts
                puts, size = [], 0
            puts.append(rpc.message("PutRequest", key=path, value=raw))
            size += len(raw)
        if puts:
            yield puts

    def _create(self, puts: Sequence[Any]) -> None:
        operations = [rpc.message("RequestOp", request_put=put) for put in puts]
        if not self._client.transact([rpc.unchanged(put.key, 0) for put in puts], operations).succeeded:
            raise SimkitError("another server writes into etcd: some of the objects were there before they were loaded")

    def unreadable(self, resource: GroupResource, namespace: str | None = None) -> Sequence[Key]:
        """The keys of the objects of a resource that cannot be read. Decodes all that nobody has read yet."""
        return [entry.key for entry in self.scan(resource, namespace) if not is_readable(entry)]

    def close(self) -> None:
        self.number_ranges.stop()
        self._compactor.stop()
        self._follower.stop()
        self._client.close()


def open_store(
    endpoints: EtcdEndpoints, layout: Layout, values: Values, clock: Clock, leases: Mapping[GroupResource, float]
) -> EtcdStore:
    """The store in an etcd; all that is there is read.

    Raises
    ------
    SimkitError
        Where no member answers, or credentials are missing or wrong.
    """
    client = EtcdClient(endpoints)
    try:
        return EtcdStore(client, layout, values, clock, leases)
    except StatusError as error:
        client.close()
        servers = ", ".join(endpoints.addresses)
        raise SimkitError(
            f"cannot use etcd at {servers}: {error}; does it run, and are the certificates right?"
        ) from error
    except SimkitError:
        client.close()
        raise
