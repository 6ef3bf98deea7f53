"""Simulated nodes of a control plane: started when they are first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simkit.analysis.model_file import model_of_file, problems_in_words
from simkit.client.resources import NODES, PODS
from simkit.cluster.extensions import performing
from simkit.logic.rbac.defaults import settled_rbac
from simkit.meta.clock import SimulatedClock
from simkit.meta.domain import SYSTEM_NAMESPACE, api_group, label
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, name_of
from simkit.seams.storage import ABSENT
from simkit.simulation.kubelet.behaviour import Behaviour
from simkit.simulation.kubelet.container_runtime import REFERENCES
from simkit.simulation.kubelet.image_pulls import NOT_FOUND
from simkit.simulation.kubelet.node_config import NodeConfig
from simkit.simulation.simulation import Simulation

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane

_CLASSES: Final = GroupResource(api_group("storage"), "storageclasses")
PROVISIONER: Final = "simkit/volumes"
"""The provisioner of the storage class that is made where there is none."""


_COLLECTOR: Final = "garbage-collector-controller"
_KEEPING_PODS: Final = frozenset(
    {
        "replicaset-controller",
        "replicationcontroller-controller",
        "deployment-controller",
        "statefulset-controller",
        "daemonset-controller",
        "disruption-controller",
        "serviceaccount-controller",
        "root-ca-certificate-publisher-controller",
        "node-lifecycle-controller",
        "taint-eviction-controller",
    }
)
"""The controllers that keep pods available, and look at everything before an operation is rehearsed."""


class BehaviourConfig(BaseModel):
    """The behaviour of some pods, as in a file: see ``Cluster.behave``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    image: str = "*"
    namespace: str = "*"
    selector: str = ""
    script: str = ""
    files: Mapping[str, str] = Field(default_factory=dict)
    settings: Mapping[str, str] = Field(default_factory=dict)

    def behaviour(self) -> Behaviour:
        """The same for kubelets."""
        return Behaviour(
            self.image, self.namespace, self.selector, self.script or None, files=self.files, settings=self.settings
        )


class RegistryConfig(BaseModel):
    """Images that can be pulled, and images that cannot, by patterns.

    Attributes
    ----------
    images
        Those that can; none: all. Those of kube-system always can.
    missing
        Those that cannot, whatever ``images`` says.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    images: Sequence[str] = ()
    missing: Sequence[str] = ()

    def behaviours(self) -> list[Behaviour]:
        """The same for kubelets."""
        absent, present = {"pull-error": NOT_FOUND}, {"pull-error": ""}
        found = [Behaviour(image=each, settings=absent) for each in self.missing]
        if self.images:
            found.append(Behaviour(namespace=SYSTEM_NAMESPACE, settings=present))
            found += [Behaviour(image=each, settings=present) for each in self.images]
            found.append(Behaviour(settings=absent))
        return found


class SimulationConfig(BaseModel):
    """The file of ``--node-config``: nodes, behaviours of pods, images, and whether kubelets record events."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: Sequence[NodeConfig] = ()
    behaviours: Sequence[BehaviourConfig] = ()
    registry: RegistryConfig = RegistryConfig()
    events: bool = True


def node_config(**given: Any) -> NodeConfig:
    """The properties of nodes. Raises SimkitError for wrong ones."""
    try:
        return NodeConfig(**given)
    except ValidationError as error:
        raise SimkitError(next(problems_in_words(error, NodeConfig))) from error


def read_config(path: str | Path) -> SimulationConfig:
    """The configuration in a file. Raises SimkitError for one that cannot be read."""
    return model_of_file(path, SimulationConfig, empty={})


def simulation_of(made: ControlPlane, *, events: bool = True) -> Simulation:
    """The simulation of a control plane, started where there is none yet; ``events`` counts only then."""
    if made.simulation is None:
        perform = performing(made.engine)
        engine, seed = made.engine, made.options.seed
        made.simulation = Simulation(
            made.clock,
            perform,
            lambda: engine.catalogue,
            seed=seed,
            events=events,
        )
        made.engine.connections = made.simulation.connections
        made.simulation.kubelets.woken = made.runner.wake
        made.runner.add(made.simulation.controllers, perform)
        allow_privileged(made)
        _provide_storage_class(made)
    return made.simulation


def allow_privileged(made: ControlPlane) -> None:
    """Let containers be privileged, as kubeadm and kind set up clusters, unless the options say otherwise."""
    if made.options.allow_privileged is None:
        made.engine.registry.allow_privileged = True


def _provide_storage_class(made: ControlPlane) -> None:
    """Make a default storage class, as clusters on one machine have it, where there is none at all."""
    if made.store.count(_CLASSES):
        return
    wanted: dict[str, Any] = {
        "apiVersion": f"{_CLASSES.group}/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {label("is-default-class", "storageclass"): "true"}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    path = f"/apis/{_CLASSES.group}/v1/{_CLASSES.resource}"
    response = performing(made.engine)(Request.of("POST", path, wanted), administrator())
    if not response.succeeded:
        raise SimkitError(f"the storage class cannot be made: {response.object['message']}")


def adopt_nodes(made: ControlPlane, names: Sequence[str]) -> list[str]:
    """Have simulated kubelets take over nodes; all if none are named. Raises SimkitError for one that is not there."""
    simulation, snapshot = simulation_of(made), made.everything()
    known = {name_of(node): node for node in snapshot.scan(NODES)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SimkitError(f"no node {unknown[0]!r}; there are {', '.join(sorted(known)[:10]) or 'none'}")
    wanted = [name for name in names or known if name not in simulation.kubelets.nodes]
    if made.captured is not None:
        simulation.kubelets.unknown = frozenset(REFERENCES - frozenset(made.captured))
    simulation.adopt([known[name] for name in wanted], snapshot.scan(PODS))
    return wanted


def rehearsal_of(origin: ControlPlane, settings: Mapping[str, str]) -> ControlPlane:
    """A fork in which all nodes are simulated, on a clock of its own, with settings for all pods.

    What a dump did not capture is taken for empty; nothing is deleted because an owner is missing. Default roles and
    bindings that the dump lacks are there, without which scheduler and controllers could not act.
    """
    options, captured = origin.options, origin.captured
    if captured is not None:
        told = True if options.allow_privileged is None else options.allow_privileged
        options = replace(options, allow_privileged=told, controllers=(*options.controllers, f"-{_COLLECTOR}"))
    made = origin.fork(options, clock=SimulatedClock(origin.clock.now()), whole=True)
    for key, obj in settled_rbac(made.everything()).items() if captured is not None else ():
        if made.store.get(key) is None:
            made.store.put(key, obj, expect=ABSENT)
    simulation = simulation_of(made, events=False)  # nobody reads what kubelets record in a rehearsal
    adopt_nodes(made, ())
    if captured is not None:
        simulation.kubelets.unknown = frozenset(REFERENCES - frozenset(captured))
    simulation.behaviours.given.append(Behaviour(settings=settings))
    made.runner.look_at_everything(only=_KEEPING_PODS)
    return made


def add_configured(
    made: ControlPlane,
    config: SimulationConfig,
    count: int = 0,
) -> list[Object]:
    """Add the nodes of a configuration, and some ordinary ones. Raises SimkitError."""
    simulation = simulation_of(made, events=config.events)
    simulation.behaviours.given += [*(each.behaviour() for each in config.behaviours), *config.registry.behaviours()]
    found = []
    for each in (*config.nodes, *([NodeConfig(count=count)] if count else [])):
        found += register_nodes(made, simulation, each)
    return found


def register_nodes(made: ControlPlane, simulation: Simulation, config: NodeConfig) -> list[Object]:
    """The new nodes of a configuration, which have other addresses than those that are there. Raises SimkitError."""
    return simulation.add(config, list(made.everything().scan(NODES)))
