"""The usage of a node by its pods and by programs beside them: memory, disk and process numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from simkit.meta.objects import Object, annotations_of, at
from simkit.meta.quantity import QuantityError, parse
from simkit.simulation.kubelet.behaviour import PREFIX, Behaviours
from simkit.simulation.kubelet.eviction_settings import percentage
from simkit.simulation.metrics.usage import UsageModel, node_overhead
from simkit.simulation.pressure.thresholds import FILES, PIDS
from simkit.simulation.scheduler.resource_amounts import MEMORY, STORAGE, ResourceAmounts, amount, pod_requests

SETTINGS: Final[Mapping[str, str]] = {MEMORY: "memory", STORAGE: "storage", PIDS: "pids", FILES: "inodes"}
"""The settings, or annotations, that say how much is used of a resource."""
_KEYS: Final = tuple(f"{PREFIX}{name}" for name in SETTINGS.values())
_FIELDS: Final = ("containers", "initContainers")


def tells_usage(obj: Object) -> bool:
    """True if annotations of a pod or node say what it uses."""
    return any(key.startswith(_KEYS) for key in annotations_of(obj))


def used_besides(node: Object, capacity: ResourceAmounts) -> ResourceAmounts:
    """The usage of a node besides its pods: its annotations say amounts, or percentages of what it has."""
    found: ResourceAmounts = {MEMORY: node_overhead(node).memory // 10**9}
    for resource in (STORAGE, PIDS, FILES):
        told = annotations_of(node).get(f"{PREFIX}{SETTINGS[resource]}", "")
        share = percentage(told)
        if share is not None:
            found[resource] = int(capacity.get(resource, 0) * share)
        elif told:
            try:
                found[resource] = parse(told).whole
            except QuantityError:
                continue
    if images := image_bytes(node):
        found[STORAGE] = found.get(STORAGE, 0) + images
    return found


def image_bytes(node: Object) -> int:
    """The bytes of the images of a node."""
    return sum(int(each.get("sizeBytes") or 0) for each in at(node, "status", "images") or ())


class PodConsumption(NamedTuple):
    """The usage of the running containers of a pod, by name, and the requests of the pod."""

    pod: Object
    containers: Mapping[str, ResourceAmounts]
    requests: ResourceAmounts

    def used(self, resource: str) -> int:
        """The amount that all containers use."""
        return sum(each.get(resource, 0) for each in self.containers.values())

    def above_requests(self, resource: str) -> int:
        """The amount that is used beyond what was asked for."""
        return self.used(resource) - self.requests.get(resource, 0)

    def total(self) -> ResourceAmounts:
        """The amounts that all containers use."""
        return {resource: self.used(resource) for resource in SETTINGS}


def consumption(pod: Object, usage: UsageModel, behaviours: Behaviours) -> PodConsumption:
    """The usage of a pod now."""
    specs = {each["name"]: each for field in _FIELDS for each in at(pod, "spec", field) or ()}
    containers = {
        name: {MEMORY: used.memory // 10**9, **_local(pod, specs[name], behaviours)}
        for name, used in usage.containers(pod)
    }
    return PodConsumption(pod, containers, pod_requests(pod))


def _local(pod: Object, container: Mapping[str, Any], behaviours: Behaviours) -> ResourceAmounts:
    storage = amount(STORAGE, behaviours.setting(pod, container, SETTINGS[STORAGE]) or "0")
    files = amount(FILES, behaviours.setting(pod, container, SETTINGS[FILES]) or "0")
    return {
        STORAGE: storage,
        FILES: files,
        PIDS: amount(PIDS, behaviours.setting(pod, container, SETTINGS[PIDS]) or "1"),
    }
