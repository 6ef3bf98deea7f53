"""The suite of reconcilers over some of simkit's own."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.client.reconciler import Reconciler
from simkit.cluster.options import Options
from simkit.engine.controllers.endpoints import EndpointsController
from simkit.engine.controllers.service_accounts import ServiceAccountsController
from simkit.meta.clock import SimulatedClock
from simkit.meta.objects import Object
from simkit.testing.suites import ReconcilerSuite

SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
WEB = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}


class OursSuite(ReconcilerSuite):
    """A controller of simkit runs by its name."""

    def options(self, reconciler: Reconciler) -> Options:
        return Options(seed=1, clock=SimulatedClock(), controllers=(reconciler.name,))

    def objects(self) -> Sequence[Object]:
        return [SHOP, WEB]


class TestServiceAccounts(OursSuite):
    """The default account of each namespace."""

    def make(self) -> Reconciler:
        return ServiceAccountsController()


class TestEndpoints(OursSuite):
    """The Endpoints of each Service."""

    def make(self) -> Reconciler:
        return EndpointsController()
