"""Requests of clients, and faults that they meet, as methods of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.cluster.object_methods import ObjectMethods
from simkit.meta.clock import timestamp
from simkit.meta.domain import api_group, label
from simkit.meta.errors import StatusError
from simkit.meta.objects import at, name_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from simkit.cluster.traffic.faults import Fault, FaultInjector
    from simkit.cluster.traffic.recorded_requests import RecordedRequests

_THIEF: Final = "simkit-another-leader"
_RECORD: Final = label("leader", "control-plane.alpha")
"""The annotation in which clients kept the holder of a lock before there were Leases."""


class TrafficMethods(ObjectMethods):
    """The part of ``Cluster`` that tests of clients use."""

    @property
    def requests(self) -> RecordedRequests:
        """The requests of clients, over HTTP and in process, since this property was first read."""
        from simkit.cluster.traffic.traffic import Traffic

        return Traffic.of(self._control_plane.engine).requests

    def faults(
        self,
        *faults: Fault | str,
        seed: int = 0,
        verbs: Collection[str] | None = None,
        resources: Collection[str] | None = None,
        namespaces: Collection[str] | None = None,
        users: Collection[str] | None = None,
        probability: float = 1.0,
        times: int | None = None,
        status: int = 500,
        seconds: float = 1.0,
        spread: float = 0.0,
        revisions: int = 10,
    ) -> AbstractContextManager[FaultInjector]:
        """Make requests of clients fail, or answer them late, as long as the context lasts.

        Parameters
        ----------
        faults
            ``Fault`` objects, or their kinds: ``conflict``, ``throttle``, ``error``, ``expired``, ``drop``, ``stall``,
            ``slow`` and ``stale``.
        seed
            Makes chance repeat.
        verbs, resources, namespaces, users
            Which requests fail, for faults that are given as texts; None: all. The parameters below are for these too.
        probability
            The share of these requests that fails, from 0 to 1.
        times
            The most requests that fail; None: no limit.
        status
            The code of ``error``.
        seconds, spread
            How long a ``slow`` answer takes, and up to how much longer.
        revisions
            How old a ``stale`` answer is.

        Returns
        -------
        A context manager that gives the injector: its ``faults``, and how often each was met.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> with cluster.faults("conflict", resources=["configmaps"], times=1) as met:
        ...     len(met.faults)
        1
        """
        from simkit.cluster.traffic.faults import Fault
        from simkit.cluster.traffic.traffic import Traffic

        def fault(kind: str) -> Fault:
            return Fault(
                kind, verbs, resources, namespaces, users, probability, times, status, seconds, spread, revisions
            )

        made = tuple(fault(each) if isinstance(each, str) else each for each in faults)
        return Traffic.of(self._control_plane.engine).faults(made, seed)

    @contextmanager
    def webhook_down(self, name: str) -> Iterator[None]:
        """Have calls to a webhook fail as if nobody answered, as long as the context lasts.

        Parameters
        ----------
        name
            The name of the webhook in its configuration.

        Yields
        ------
        Nothing.
        """
        from simkit.engine.egress.policy import Unreachable

        functions = self._control_plane.extensions.egress.functions
        before = functions.get(name)

        def unreachable(review: Any) -> Any:
            raise Unreachable("dial tcp: connect: connection refused")

        functions[name] = unreachable
        try:
            yield
        finally:
            del functions[name]
            if before is not None:
                functions[name] = before

    def take_lease(self, name: str, namespace: str = "default") -> None:
        """Take the lock of a leader away from its holder, as if another leader had been elected.

        Parameters
        ----------
        name, namespace
            The name and namespace of the Lease; where there is none, of a ConfigMap or Endpoints whose annotation
            ``control-plane.alpha.kubernetes.io/leader`` is the lock, as in older clients.

        Raises
        ------
        StatusError
            404 if there is none.
        """
        now = timestamp(self._control_plane.clock.now()).removesuffix("Z") + ".000000Z"
        taken = {"holderIdentity": _THIEF, "acquireTime": now, "renewTime": now}
        try:
            lease = self.get(f"leases.{api_group('coordination')}", name, namespace)
        except StatusError as error:
            if error.code != 404 or not self._take_record(name, namespace, taken):
                raise
            return
        spec = {**(lease.get("spec") or {}), **taken}
        spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1
        self.apply({**lease, "spec": spec})

    def _take_record(self, name: str, namespace: str, taken: Mapping[str, str]) -> bool:
        """Put another holder into the annotations that are locks. Gives back whether there is one."""
        locks = [
            each
            for resource in ("configmaps", "endpoints")
            for each in self.list(resource, namespace)
            if name_of(each) == name and at(each, "metadata", "annotations", _RECORD)
        ]
        for lock in locks:
            annotations = lock["metadata"]["annotations"]
            record = orjson.dumps({**orjson.loads(annotations[_RECORD]), **taken}).decode()
            self.apply({**lock, "metadata": {**lock["metadata"], "annotations": {**annotations, _RECORD: record}}})
        return bool(locks)
