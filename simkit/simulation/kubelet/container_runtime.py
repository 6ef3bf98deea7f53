"""The container runtime of all simulated nodes: programs, probes and hooks of containers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from simkit.engine.controllers.controller_manager import Perform
from simkit.engine.controllers.lister import Lister
from simkit.engine.seams import PortHandler
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, namespace_of
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.cluster_network import ClusterNetwork
from simkit.simulation.kubelet.configuration_errors import missing_reference
from simkit.simulation.kubelet.container_commands import ContainerCommands
from simkit.simulation.kubelet.container_status import KILLED, PodEnvironment
from simkit.simulation.kubelet.environment import SERVICES, environment
from simkit.simulation.kubelet.image_pulls import ImagePulls, Told
from simkit.simulation.kubelet.lifecycle_hooks import LifecycleHooks
from simkit.simulation.kubelet.node_images import NodeImages
from simkit.simulation.kubelet.ports import listener
from simkit.simulation.kubelet.probe_attempts import ProbeAttempts
from simkit.simulation.kubelet.probes import Outcome, Probes
from simkit.simulation.kubelet.process import Process
from simkit.simulation.kubelet.processes import Processes
from simkit.simulation.kubelet.requests import listed, read, service_account_token
from simkit.simulation.kubelet.volumes import Volumes
from simkit.simulation.shell.files import Files


class ContainerRuntime:
    """Runs containers.

    Parameters
    ----------
    perform
        Sends requests for what programs and files need.
    behaviours
        How pods behave.
    resizes
        Whether the release changes the resources of containers that run.
    tells_cause
        Whether it tells the last error of an image while it waits for the next attempt.
    tells_size
        Whether it tells the size of an image that was pulled.
    """

    def __init__(
        self,
        clock: Clock,
        perform: Perform,
        behaviours: Behaviours,
        *,
        resizes: bool = False,
        tells_cause: bool = False,
        tells_size: bool = True,
    ) -> None:
        self._resizes = resizes
        self._pulls = ImagePulls(behaviours, tells_cause=tells_cause, tells_size=tells_size)
        self._clock, self._perform, self._behaviours = clock, perform, behaviours
        volumes = Volumes(
            lambda key: read(perform, key), lambda pod, source: service_account_token(perform, pod, source)
        )
        self.processes = Processes(behaviours, volumes, self._network)
        commands = ContainerCommands(behaviours, self.processes, self.environment)
        self._attempts, self.probes = ProbeAttempts(behaviours, commands, self._listener), Probes()
        self.hooks = LifecycleHooks(behaviours, commands, self.processes, self._reaches)

    def _reaches(self, pod: Object, container: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
        return self._attempts.reaches(pod, container, request, str(at(pod, "status", "podIP") or "localhost"))

    def _listener(self, pod: Object, port: int) -> PortHandler:
        return listener(pod, port, self._behaviours, self.processes)

    def _network(self, pod: Object, files: Files) -> ClusterNetwork:
        return ClusterNetwork(self._perform, pod, files, self._listener)

    def environment(self, pod: Object, container: Mapping[str, Any]) -> Mapping[str, str]:
        """The variables of a container as they would be if it started now."""
        services = listed(self._perform, SERVICES, namespace_of(pod))
        return environment(pod, container, lambda key: read(self._perform, key), services)

    def of_pod(
        self,
        lister: Lister,
        address: str,
        tell: Callable[[Object, Mapping[str, Any], Told], None],
        unknown: Collection[GroupResource],
        images: NodeImages,
    ) -> PodEnvironment:
        """The start of the containers of a pod: ``address`` is that of the pod, ``tell`` records an event.

        ``images`` are those of its node.
        """

        def process(pod: Object, container: Mapping[str, Any], restarts: int, started: float) -> Process:
            def variables() -> Mapping[str, str]:
                return environment(pod, container, lister.get, lister.scan(SERVICES, namespace_of(pod)))

            return self.processes.of(pod, container, restarts, started, variables)

        def post_start(pod: Object, container: Mapping[str, Any], restarts: int, started: float) -> None:
            now, running = self._clock.now(), process(pod, container, restarts, started)
            running.advance(now)
            if not self.hooks.post_start(pod, container, now):
                tell(pod, container, ("FailedPostStartHook", "PostStartHook failed", True))
                tell(pod, container, ("Killing", "FailedPostStartHook", False))
                running.kill(now, KILLED)

        def attempt(pod: Object, container: Mapping[str, Any], kind: str) -> Outcome:
            return self._attempts(pod, container, kind, address, self._clock.now())

        def objection(pod: Object, container: Mapping[str, Any]) -> str:
            return missing_reference(pod, container, lister, unknown)

        return PodEnvironment(
            self._behaviours,
            process,
            tell,
            objection,
            self.probes,
            attempt,
            post_start,
            self._pulls,
            images,
            self._resizes,
        )

    def forget(self, pod: Object) -> None:
        """Forget a pod that is gone."""
        self.processes.forget(pod)
        self.probes.forget(pod)
        self._pulls.forget(pod)
        self.hooks.forget(pod)

    def resume_from(self, other: ContainerRuntime) -> None:
        """Know the results of probes and pulls of another one, for a fork; its programs are run again when needed."""
        self.probes.resume_from(other.probes)
        self._pulls.resume_from(other._pulls)
