"""Simulated nodes as methods of a cluster."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from simkit.cluster.question import AnalysedCluster
from simkit.meta.clock import Clock, SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Object

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane
    from simkit.seams import PortHandler
    from simkit.simulation.kubelet.behaviour import Command, ProvidedProgram
    from simkit.simulation.simulation import Simulation


class SimulationMethods(AnalysedCluster):
    """The part of ``Cluster`` that runs pods."""

    _control_plane: ControlPlane

    @property
    def clock(self) -> Clock:
        """The clock of the cluster."""
        return self._control_plane.clock

    @property
    def runs_pods(self) -> bool:
        """True if there are simulated nodes, which run pods."""
        return self._control_plane.simulation is not None

    def add_nodes(
        self,
        count: int = 1,
        *,
        name: str = "node-{}",
        capacity: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Object] = (),
        zones: Sequence[str] = (),
        events: bool = True,
    ) -> list[Object]:
        """Add simulated nodes; from then on a scheduler and kubelets run with the controllers.

        Parameters
        ----------
        count
            How many.
        name
            Their names, with the number in the place of ``{}``.
        capacity
            Amounts of resources; by default 8 CPUs, 32Gi of memory and 110 pods.
        labels, taints
            What each node has besides what kubelets say.
        zones
            Zones, given to the nodes in turn.
        events
            Whether kubelets record events; the first call decides.

        Returns
        -------
        list of mappings
            The Node objects.

        Raises
        ------
        SimkitError
            Where a node cannot be registered, as one whose name is taken.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> nodes = cluster.add_nodes(2)
        >>> container = {"name": "web", "image": "nginx"}
        >>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [container]}}
        >>> created = cluster.create(pod)
        >>> rounds = cluster.settle()
        >>> cluster.get("pod", "web")["status"]["phase"]
        'Running'
        """
        from simkit.cluster.nodes import node_config, register_nodes

        given: dict[str, Any] = {} if capacity is None else {"capacity": capacity}
        config = node_config(
            count=count, name=name, labels=labels or {}, taints=tuple(taints), zones=tuple(zones), **given
        )
        return register_nodes(self._control_plane, self._simulation(events=events), config)

    def behave(
        self,
        *,
        image: str = "*",
        namespace: str = "*",
        selector: str = "",
        program: ProvidedProgram | str | None = None,
        commands: Mapping[str, Command] | None = None,
        files: Mapping[str, str | bytes] | None = None,
        ports: Mapping[int, PortHandler] | None = None,
        **settings: str,
    ) -> None:
        """Set what containers do on simulated nodes. Of several settings that fit a container, the latest counts.

        Parameters
        ----------
        image, namespace
            Patterns of the images, and of the namespaces of the pods: ``worker:*``.
        selector
            A label selector of the pods.
        program
            A script of the small shell, or a function that is given the container. A generator function yields lines
            to print and seconds to wait, and returns an exit code; a plain one returns its exit code at once. None is
            0. Where it raises an error, or gives anything else, the container fails with exit code 1, and its status,
            its log and an Event say why. The same holds for commands.
        commands
            What exec runs, by the name of the command: functions like programs, of the container and the words.
        files
            Files that containers start with, by absolute path.
        ports
            What listens on ports of the pods: functions from the bytes of a client to the bytes of the answer.
        settings
            What annotations of pods can say too: ``start_after="2s"``, ``ready_after``, ``ready="false"``,
            ``pull_error`` and ``stop_after``.
        """
        from simkit.simulation.kubelet.behaviour import Behaviour

        told = {name.replace("_", "-"): value for name, value in settings.items()}
        made = Behaviour(image, namespace, selector, program, commands or {}, files or {}, ports or {}, told)
        self._simulation().behave(made)

    def stop_node(self, name: str) -> None:
        """Have the kubelet of a simulated node fall silent, as if its machine was lost.

        Parameters
        ----------
        name
            The name of the node.

        Raises
        ------
        SimkitError
            If there is no such simulated node.
        """
        self._simulation().kubelets.stop(name)

    def start_node(self, name: str) -> None:
        """Have the kubelet of a stopped node come back.

        Parameters
        ----------
        name
            The name of the node.

        Raises
        ------
        SimkitError
            If there is no such simulated node.
        """
        self._simulation().kubelets.start(name)

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Let time pass on a simulated clock, with controllers and kubelets at work all along.

        Parameters
        ----------
        seconds, minutes, hours, days
            The time that passes, which is their sum.

        Raises
        ------
        SimkitError
            Where the clock is the machine's: start the cluster with ``Options(clock=SimulatedClock())``.
        ValueError
            For a time that is earlier, or no date.
        """
        clock, runner = self._control_plane.clock, self._control_plane.runner
        if not isinstance(clock, SimulatedClock):
            raise SimkitError("the clock is the machine's; start the cluster with Options(clock=SimulatedClock())")
        end = clock.after(seconds, minutes=minutes, hours=hours, days=days)
        runner.run_due()
        while (when := runner.next_time) is not None and when <= end:
            clock.advance(max(0.0, when - clock.now()))
            runner.run_due()
        clock.advance(max(0.0, end - clock.now()))

    def simulate_nodes(self, *names: str) -> list[str]:
        """Let simulated kubelets take over existing nodes, such as those of a dump.

        Their pods go on as they are; from now on pods on them are started, ended and moved as on added nodes.

        Parameters
        ----------
        names
            The names of the nodes; without any, all nodes that are not simulated yet.

        Returns
        -------
        list of str
            The names of the nodes that were taken over.

        Raises
        ------
        SimkitError
            For a node that is not there.
        """
        from simkit.cluster.nodes import adopt_nodes

        self._control_plane.runner.hand_over()
        return adopt_nodes(self._control_plane, names)

    def rehearsal(self, *, settings: Mapping[str, str]) -> Self:
        """A fork on which operations are rehearsed: all nodes are simulated, on a clock that only ``advance`` turns.

        Parameters
        ----------
        settings
            Settings of all pods, as in annotations: ``{"ready-after": "10s"}``.

        Returns
        -------
        The fork.
        """
        from simkit.cluster.nodes import rehearsal_of

        return self._derived(rehearsal_of(self._control_plane, settings))

    @abstractmethod
    def _derived(self, made: ControlPlane) -> Self:
        """The cluster of a control plane that was forked from this one's."""

    def _simulation(self, *, events: bool = True) -> Simulation:
        from simkit.cluster.nodes import simulation_of

        self._control_plane.runner.hand_over()
        return simulation_of(self._control_plane, events=events)
