"""Requests of clients, faults that they meet, and services outside that are called, as methods of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from simkit.cluster.object_methods import ObjectMethods
from simkit.meta.clock import timestamp
from simkit.meta.domain import api_group

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pandas import DataFrame

    from simkit.cluster.control_plane import ControlPlane
    from simkit.cluster.traffic import Fault, RecordedRequests
    from simkit.engine.egress.policy import ConversionFunction, EgressPolicy, WebhookFunction


_THIEF: Final = "simkit-another-leader"


class TrafficMethods(ObjectMethods):
    """The part of ``Cluster`` that tests of clients use."""

    @property
    def requests(self) -> RecordedRequests:
        """The requests of clients, over HTTP and in process, since this property was first read."""
        from simkit.cluster.traffic import Traffic

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

        from simkit.cluster.traffic import Fault, Traffic

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


class EgressMethods:
    """The part of ``Cluster`` that says which services outside are called, and what takes their place."""

    _control_plane: ControlPlane

    @property
    def egress(self) -> EgressPolicy:
        """The egress policy: ``egress.allowed`` permits calls, ``egress.services`` gives addresses of services."""
        return self._control_plane.extensions.egress

    @property
    def proxy_authority(self) -> bytes:
        """The authority, in PEM form, that backing servers must trust for the user headers of this one."""
        return self._control_plane.extensions.proxy.made.authority

    def webhook(self, name: str, function: WebhookFunction) -> None:
        """Call a function instead of the webhook of that name, in this cluster and its forks.

        Parameters
        ----------
        name
            The name of the webhook in its configuration.
        function
            It gets a copy of the admission request. None or True let the write pass, False or a text refuse it; a
            mapping is a response as webhooks give it, or the changed object. Where it raises an error, gives anything
            else, or takes longer than ``timeoutSeconds``, the webhook has failed, and its ``failurePolicy`` decides.
        """
        self.egress.functions[name] = function

    def conversion(self, definition: str, function: ConversionFunction) -> None:
        """Call a function instead of the conversion webhook of a CustomResourceDefinition.

        Parameters
        ----------
        definition
            The name of the CustomResourceDefinition.
        function
            It gets a copy of an object and the wanted apiVersion (``example.com/v2``), and gives back the object in
            that version, or a text that says why it cannot. It is called in this cluster and its forks.
        """
        self.egress.conversions[definition] = function

    def uncalled_webhooks(self) -> DataFrame:
        """Calls to webhooks and backing servers that were not made because egress is not allowed.

        Returns
        -------
        DataFrame, one row per skipped call.
        """
        from simkit.analysis.admission.policies import skipped_calls

        return skipped_calls(self.egress.uncalled)
