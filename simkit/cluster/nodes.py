"""Simulated nodes of a control plane: started when they are first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simkit.cluster.extensions import performing
from simkit.meta.domain import api_group, label
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.simulation.kubelet.behaviour import Behaviour
from simkit.simulation.kubelet.node_config import NodeConfig
from simkit.simulation.simulation import Simulation

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane

_CLASSES: Final = GroupResource(api_group("storage"), "storageclasses")
PROVISIONER: Final = "simkit/volumes"
"""The provisioner of the storage class that is made where there is none."""
_MOST_BYTES: Final = 1024 * 1024


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


class SimulationConfig(BaseModel):
    """The file of ``--node-config``: nodes, behaviours of pods, and whether kubelets record events."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: Sequence[NodeConfig] = ()
    behaviours: Sequence[BehaviourConfig] = ()
    events: bool = True


def read_config(path: str | Path) -> SimulationConfig:
    """The configuration in a file. Raises SimkitError for one that cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        if len(text) > _MOST_BYTES:
            raise SimkitError(f"{path} is longer than {_MOST_BYTES:,} letters")
        return SimulationConfig.model_validate(yaml.safe_load(text) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SimkitError(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SimkitError(f"{path}: {where or 'the file'}: {first['msg']}") from error


def simulation_of(made: ControlPlane, *, events: bool = True) -> Simulation:
    """The simulation of a control plane, started where there is none yet; ``events`` counts only then."""
    if made.simulation is None:
        perform = performing(made.engine)
        release, seed = made.catalogue.release, made.options.seed
        made.simulation = Simulation(made.clock, perform, release=release, seed=seed, events=events)
        made.engine.connections = made.simulation.connections
        made.simulation.kubelets.woken = made.runner.wake
        made.runner.add(made.simulation.controllers, perform)
        _provide_storage_class(made)
    return made.simulation


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


def add_configured(made: ControlPlane, config: SimulationConfig, count: int = 0) -> list[Object]:
    """Add the nodes of a configuration, and some ordinary ones. Raises SimkitError."""
    simulation = simulation_of(made, events=config.events)
    simulation.behaviours.given += [each.behaviour() for each in config.behaviours]
    found = []
    for each in (*config.nodes, *([NodeConfig(count=count)] if count else [])):
        found += simulation.add(each)
    return found
