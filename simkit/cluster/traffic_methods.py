"""Requests of clients, and faults that they meet, as methods of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from simkit.cluster.object_methods import ObjectMethods
from simkit.meta.clock import timestamp
from simkit.meta.domain import api_group

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from simkit.cluster.traffic.faults import Fault
    from simkit.cluster.traffic.recorded_requests import RecordedRequests

_THIEF: Final = "simkit-another-leader"


class TrafficMethods(ObjectMethods):
    """The part of ``Cluster`` that tests of clients use."""

    @property
    def requests(self) -> RecordedRequests:
        """The requests of clients, over HTTP and in process, since this property was first read."""
        from simkit.cluster.traffic.traffic import Traffic

        return Traffic.of(self._control_plane.engine).requests

    def faults(
        self,
        kind: str,
        *,
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
    ) -> AbstractContextManager[Fault]:
        """Make requests of clients fail, or answer them late, as long as the context lasts.

        Parameters
        ----------
        kind
            ``conflict`` (409), ``throttle`` (429 with Retry-After), ``error`` (500, or ``status``), ``expired`` (410,
            on lists and watches), ``drop`` (the connection ends), ``stall`` (a watch that says nothing any more),
            ``slow`` (``seconds`` of delay) or ``stale`` (a read of what was true ``revisions`` ago).
        seed
            Makes chance repeat.
        verbs, resources, namespaces, users
            Which requests fail; None: all.
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
        A context manager that gives the fault: its ``met`` are the paths of the requests that met it. Of several that
        concern a request, the latest comes first.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> with cluster.faults("conflict", resources=["configmaps"], times=1) as met:
        ...     len(met.met)
        0
        """
        from random import Random

        from simkit.cluster.traffic.faults import Fault
        from simkit.cluster.traffic.traffic import Traffic

        engine = self._control_plane.engine
        meant = (verbs, resources, namespaces, users)
        fault = Fault(engine.clock, kind, *meant, probability, times, status, seconds, spread, revisions, Random(seed))
        return Traffic.of(engine).meeting(fault)

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
            The name and namespace of the Lease.

        Raises
        ------
        StatusError
            404 if there is none.
        """
        now = timestamp(self._control_plane.clock.now()).removesuffix("Z") + ".000000Z"
        lease = self.get(f"leases.{api_group('coordination')}", name, namespace)
        spec = {**(lease.get("spec") or {}), "holderIdentity": _THIEF, "acquireTime": now, "renewTime": now}
        spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1
        self.apply({**lease, "spec": spec})
