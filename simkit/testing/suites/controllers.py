"""The suite of every reconciler: subclass ReconcilerSuite, say how one is made, and pytest runs it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simkit.client.lister import Lister
from simkit.client.reconciler import Reconciler
from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object


class ReconcilerSuite:
    """The promises of the Reconciler protocol, one test each."""

    def make(self) -> Reconciler:
        """A reconciler that nobody else uses."""
        raise NotImplementedError

    def objects(self) -> Sequence[Object]:
        """Objects that give the reconciler something to do; they are created in an empty cluster in this order."""
        raise NotImplementedError

    @pytest.fixture
    def reconciler(self) -> Reconciler:
        """The reconciler under test."""
        return self.make()

    def options(self, reconciler: Reconciler) -> Options:
        """The options of a cluster that runs the reconciler, on a clock that stands still."""
        return Options(seed=1, clock=SimulatedClock(), reconcilers=[reconciler])

    @pytest.fixture
    def cluster(self, reconciler: Reconciler) -> Cluster:
        """A cluster in which the reconciler has done its work on the objects."""
        made = Cluster(options=self.options(reconciler))
        for obj in self.objects():
            made.apply(obj)
        made.settle()
        return made

    def test_is_declared(self, reconciler: Reconciler) -> None:
        """A reconciler has a name and an account, and watches something."""
        assert reconciler.name
        assert reconciler.account
        assert reconciler.watches

    def test_looks_after_its_objects(self, cluster: Cluster, reconciler: Reconciler) -> None:
        """The objects of the suite concern it, so that the other tests are about something."""
        assert list(reconciler.all_keys(Lister(cluster.snapshot())))

    def test_comes_to_rest(self, cluster: Cluster, reconciler: Reconciler) -> None:
        """It writes nothing when its work is done, since a controller may run at any time, again and again."""
        assert _writes(cluster, reconciler) == []

    def test_comes_to_rest_in_a_fork(self, cluster: Cluster, reconciler: Reconciler) -> None:
        """A fork shares the reconciler, and leaves it nothing to do."""
        assert _writes(cluster.fork(), reconciler) == []

    def test_stands_objects_that_are_gone(self, cluster: Cluster, reconciler: Reconciler) -> None:
        """A key whose object does not exist any more is no error."""
        keys = sorted(reconciler.all_keys(Lister(cluster.snapshot())))
        empty = Cluster(options=Options(seed=1, clock=SimulatedClock(), controllers=()))
        for key in keys:
            reconciler.reconcile(RecordingClient(empty), Lister(empty.snapshot()), key)


class RecordingClient:
    """A client that sends requests as an administrator, and keeps them.

    Attributes
    ----------
    requests
        The requests, in their order.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.requests: list[Request] = []

    def perform(self, request: Request) -> Response:
        """The answer of the cluster."""
        self.requests.append(request)
        return self._cluster.perform(request)


def _writes(cluster: Cluster, reconciler: Reconciler) -> list[tuple[str, str]]:
    """Method and path of the writes of a reconciler that looks at all its objects once more."""
    client, lister = RecordingClient(cluster), Lister(cluster.snapshot())
    for key in sorted(reconciler.all_keys(lister)):
        reconciler.reconcile(client, lister, key)
    return [(request.method, request.path) for request in client.requests if request.method != "GET"]
