"""The container runtime of all simulated nodes: programs, probes and hooks of containers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from simkit.client.controller import Perform
from simkit.client.lister import Lister
from simkit.client.resources import CONFIG_MAPS, SECRETS, SERVICES
from simkit.meta.clock import Clock
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.seams import PortHandler
from simkit.simulation.kubelet.behaviour import Behaviours
from simkit.simulation.kubelet.cluster_network import ClusterNetwork, listed, read, service_account_token
from simkit.simulation.kubelet.container_commands import ContainerCommands, LifecycleHooks, ProbeAttempts
from simkit.simulation.kubelet.container_status import KILLED, PodEnvironment
from simkit.simulation.kubelet.environment import environment
from simkit.simulation.kubelet.image_pulls import ImagePulls, Told
from simkit.simulation.kubelet.ports import listener
from simkit.simulation.kubelet.probes import Outcome, Probes
from simkit.simulation.kubelet.process import Process
from simkit.simulation.kubelet.processes import Processes
from simkit.simulation.kubelet.volumes import Volumes
from simkit.simulation.shell.files import Files

# Missing config maps and secrets, which keep a container from being configured.
# Upstream: pkg/kubelet/kubelet_pods.go (``makeEnvironmentVariables``) and pkg/volume/{configmap,secret}, release 1.30.

REFERENCES: Final = frozenset((CONFIG_MAPS, SECRETS))
"""The resources that pods refer to."""


def missing_volume(pod: Object, lister: Lister, unknown: Collection[GroupResource] = ()) -> str:
    """The reason why a volume of a pod cannot be mounted; empty if all can. Nothing of ``unknown`` resources counts."""
    for volume in at(pod, "spec", "volumes") or ():
        for resource, name, optional in _sources(volume):
            if (
                not optional
                and name
                and resource not in unknown
                and lister.get(Key(resource, namespace_of(pod), name)) is None
            ):
                kind = resource.resource.removesuffix("s")
                return f'MountVolume.SetUp failed for volume "{volume.get("name")}" : {kind} "{name}" not found'
    return ""


def _sources(volume: Mapping[str, Any]) -> Iterator[tuple[GroupResource, str, bool]]:
    plain = volume.get("configMap"), volume.get("secret")
    if plain[0]:
        yield CONFIG_MAPS, plain[0].get("name", ""), bool(plain[0].get("optional"))
    if plain[1]:
        yield SECRETS, plain[1].get("secretName", ""), bool(plain[1].get("optional"))
    for source in at(volume, "projected", "sources") or ():
        for field, resource in (("configMap", CONFIG_MAPS), ("secret", SECRETS)):
            if source.get(field):
                yield resource, source[field].get("name", ""), bool(source[field].get("optional"))


def missing_pull_secrets(pod: Object, lister: Lister, unknown: Collection[GroupResource] = ()) -> str:
    """The warning about secrets for pulling that are not there; empty if all are. Images are pulled without them."""
    names = [each.get("name", "") for each in at(pod, "spec", "imagePullSecrets") or ()]
    if SECRETS in unknown:
        return ""
    missing = [name for name in names if lister.get(Key(SECRETS, namespace_of(pod), name)) is None]
    if not missing:
        return ""
    told = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
    return f"{told}; attempting to pull the image may not succeed."


def missing_reference(
    pod: Object, container: Mapping[str, Any], lister: Lister, unknown: Collection[GroupResource] = ()
) -> str:
    """The reason why the environment of a container cannot be made; empty if it can.

    Nothing of ``unknown`` resources counts.
    """
    for field, resource in (("configMapRef", CONFIG_MAPS), ("secretRef", SECRETS)):
        for source in container.get("envFrom") or ():
            reference = source.get(field) if resource not in unknown else None
            if reference and not reference.get("optional") and _found(pod, reference, resource, lister) is None:
                return f'{resource.resource.removesuffix("s")} "{reference.get("name")}" not found'
    for field, resource in (("configMapKeyRef", CONFIG_MAPS), ("secretKeyRef", SECRETS)):
        for variable in container.get("env") or ():
            reference = at(variable, "valueFrom", field)
            if not reference or reference.get("optional") or resource in unknown:
                continue
            kind, found = resource.resource.removesuffix("s"), _found(pod, reference, resource, lister)
            if found is None:
                return f'{kind} "{reference.get("name")}" not found'
            if reference.get("key") not in {**(found.get("data") or {}), **(found.get("binaryData") or {})}:
                shown = "ConfigMap" if resource == CONFIG_MAPS else "Secret"
                return f"couldn't find key {reference.get('key')} in {shown} {namespace_of(pod)}/{name_of(found)}"
    return ""


def _found(pod: Object, reference: Mapping[str, Any], resource: GroupResource, lister: Lister) -> Object | None:
    return lister.get(Key(resource, namespace_of(pod), reference.get("name", "")))


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
    """

    def __init__(
        self,
        clock: Clock,
        perform: Perform,
        behaviours: Behaviours,
        *,
        resizes: bool = False,
        tells_cause: bool = False,
    ) -> None:
        self._resizes = resizes
        self._pulls = ImagePulls(behaviours, tells_cause=tells_cause)
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
    ) -> PodEnvironment:
        """The start of the containers of a pod: ``address`` is that of the pod, ``tell`` records an event."""

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
