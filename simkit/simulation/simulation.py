"""The simulated nodes of one cluster: scheduler, kubelets and volume provisioner together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from simkit.client.controller import Controller, Perform
from simkit.client.lister import uid_of
from simkit.client.reconciler import ReconcilingController
from simkit.meta.clock import Clock, SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object, at, name_of
from simkit.schema.catalogue import Catalogue
from simkit.simulation.connections import KubeletConnections
from simkit.simulation.kubelet.behaviour import Behaviour, Behaviours
from simkit.simulation.kubelet.host_programs import HostPrograms, found_programs
from simkit.simulation.kubelet.kubelets import Kubelets
from simkit.simulation.kubelet.node_config import NodeConfig, node_address, pod_range
from simkit.simulation.provisioner import VolumeProvisioner
from simkit.simulation.scheduler.scheduler import Scheduler


class Simulation:
    """The nodes, the scheduler and the kubelets of a cluster, which run its pods.

    Parameters
    ----------
    perform
        Sends requests through the handler chain.
    catalogue
        What is served.
    seed
        Makes the scheduler break ties in the same way every time.
    events
        Whether kubelets record events.
    """

    def __init__(
        self,
        clock: Clock,
        perform: Perform,
        catalogue: Callable[[], Catalogue],
        *,
        seed: int | None = None,
        events: bool = True,
    ) -> None:
        self._clock, self._seed, self._events = clock, seed, events
        release = catalogue().release
        self.behaviours = Behaviours(ends_at_term=not isinstance(clock, SimulatedClock))
        self.scheduler = Scheduler(clock, catalogue().behaviour, seed)
        self.kubelets = Kubelets(clock, perform, self.behaviours, release=release, events=events)
        provisioner = ReconcilingController(VolumeProvisioner(), clock)
        self.controllers: Sequence[Controller] = (
            self.scheduler,
            self.kubelets,
            provisioner,
        )
        self.connections = KubeletConnections(self.kubelets, clock)
        self._registered = 0

    def fork(
        self,
        clock: Clock,
        perform: Perform,
        catalogue: Callable[[], Catalogue],
    ) -> Simulation:
        """The same for a fork; its kubelets take over from those of its origin."""
        copy = Simulation(clock, perform, catalogue, seed=self._seed, events=self._events)
        copy.behaviours.given = list(self.behaviours.given)
        copy._registered = self._registered
        return copy

    def behave(self, *given: Behaviour) -> None:
        """Have pods behave like this, before what was said earlier."""
        self.behaviours.given[:0] = given
        self.kubelets.woken()

    def run_host_programs(self, told: Iterable[str], server: tuple[str, int] | None = None) -> None:
        """Let containers run programs of this machine, told as ``NAME`` or ``NAME=PATH``.

        Parameters
        ----------
        told
            The programs.
        server
            The address and the port at which they reach the API server.

        Raises
        ------
        SimkitError
            For a program that is not there, without bubblewrap, and on a simulated clock, which no program heeds.
        """
        if isinstance(self._clock, SimulatedClock):
            raise SimkitError("programs of this machine take real time; make the cluster without a simulated clock")
        self.behaviours.host = HostPrograms(found_programs(told), server)

    def add(self, config: NodeConfig, present: Sequence[Object] = ()) -> list[Object]:
        """Register nodes; numbers go on from those there. Raises SimkitError.

        Addresses and ranges of nodes that are present, such as those of a dump, are not given out again.
        """
        made = []
        taken = {at(node, "spec", "podCIDR") for node in present}
        taken |= {each.get("address") for node in present for each in at(node, "status", "addresses") or ()}
        start = sum(1 for name in self.kubelets.nodes if name.startswith(config.node_name(0).rstrip("0")))
        for number in range(start, start + config.count):
            while pod_range(self._registered) in taken or node_address(self._registered) in taken:
                self._registered += 1
            made.append(self.kubelets.register(config, number, self._registered))
            self._registered += 1
        return made

    def adopt(self, nodes: Sequence[Object], pods: Iterable[Object]) -> None:
        """Have kubelets take over nodes that are there, with the addresses of their pods."""
        taken: dict[str, list[tuple[str, str]]] = {name_of(node): [] for node in nodes}
        for pod in pods:
            node, address = at(pod, "spec", "nodeName"), at(pod, "status", "podIP")
            if node in taken and address:
                taken[node].append((uid_of(pod), address))
        for node in nodes:
            self.kubelets.adopt(node, self._registered, taken[name_of(node)])
            self._registered += 1
