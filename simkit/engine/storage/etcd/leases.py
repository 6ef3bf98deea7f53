"""Leases of etcd: what is written under one goes when it ends, as kube-apiserver keeps events.

Upstream: k8s.io/apiserver/pkg/storage/etcd3/lease_manager.go, release 1.30.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Final

from simkit.meta.names import GroupResource
from simkit.snapshot.etcd.client import EtcdClient

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
