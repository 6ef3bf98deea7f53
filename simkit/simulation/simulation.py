"""The simulated nodes of one cluster: scheduler, kubelets and volume provisioner together."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.engine.controllers.controller_manager import Controller, Perform
from simkit.engine.controllers.reconciler import ReconcilingController
from simkit.meta.clock import Clock
from simkit.meta.objects import Object
from simkit.simulation.connections import KubeletConnections
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.kubelets import Kubelets
from simkit.simulation.kubelet.node_config import NodeConfig
from simkit.simulation.provisioner import VolumeProvisioner
from simkit.simulation.scheduler.scheduler import Scheduler


class Simulation:
    """The nodes, the scheduler and the kubelets of a cluster, which run its pods.

    Parameters
    ----------
    perform
        Sends requests through the handler chain.
    seed
        Makes the scheduler break ties in the same way every time.
    events
        Whether kubelets record events.
    """

    def __init__(
        self, clock: Clock, perform: Perform, *, release: str, seed: int | None = None, events: bool = True
    ) -> None:
        self._clock, self._release, self._seed, self._events = clock, release, seed, events
        self.behaviours = Behaviours()
        self.scheduler = Scheduler(clock, seed)
        self.kubelets = Kubelets(clock, perform, self.behaviours, release=release, events=events)
        provisioner = ReconcilingController(VolumeProvisioner(), clock)
        self.controllers: Sequence[Controller] = (self.scheduler, self.kubelets, provisioner)
        self.connections = KubeletConnections(self.kubelets, clock)
        self._registered = 0

    def fork(self, clock: Clock, perform: Perform) -> Simulation:
        """The same for a fork; its kubelets take over from those of its origin."""
        copy = Simulation(clock, perform, release=self._release, seed=self._seed, events=self._events)
        copy.behaviours.given = list(self.behaviours.given)
        copy._registered = self._registered
        return copy

    def add(self, config: NodeConfig) -> list[Object]:
        """Register nodes; numbers go on from those that are there. Raises SimkitError."""
        made = []
        start = sum(1 for name in self.kubelets.nodes if name.startswith(config.node_name(0).rstrip("0")))
        for number in range(start, start + config.count):
            made.append(self.kubelets.register(config, number, self._registered))
            self._registered += 1
        return made
