"""What nodes are short of: thresholds, usage, and the order in which pods have to go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.meta.objects import Object, annotations_of, at, name_of, namespace_of
from simkit.meta.quantity import Quantity, QuantityError, canonical, parse
from simkit.simulation.kubelet.behaviour import PREFIX, Behaviours
from simkit.simulation.kubelet.eviction_settings import INODES, PROCESS_NUMBERS, SIGNALS, EvictionSettings, percentage
from simkit.simulation.kubelet.pod_admission import is_critical
from simkit.simulation.metrics.metrics_server import UsageModel, node_overhead
from simkit.simulation.scheduler.node_info import MEMORY, STORAGE, ResourceAmounts, amount, pod_requests

# Thresholds of what has to be free on a node, and what was observed there.
# Upstream: pkg/kubelet/eviction/helpers.go, release 1.30.

PIDS: Final = "pids"
FILES: Final = "inodes"
CONDITIONS: Final[Mapping[str, str]] = {
    MEMORY: "MemoryPressure",
    STORAGE: "DiskPressure",
    FILES: "DiskPressure",
    PIDS: "PIDPressure",
}
"""The condition of a node that has too little of a resource."""


class Threshold(NamedTuple):
    """The amount of a resource that has to be free: a quantity, or a percentage of the capacity."""

    resource: str
    text: str

    def amount(self, capacity: int) -> int:
        """The amount in whole units.

        Examples
        --------
        >>> Threshold("memory", "100Mi").amount(0), Threshold("pids", "5%").amount(1000)
        (104857600, 50)
        """
        share = percentage(self.text)
        return parse(self.text).whole if share is None else int(capacity * share)


class Met(NamedTuple):
    """A threshold that is met: its amount, and what is available."""

    threshold: Threshold
    amount: int
    available: int

    @property
    def resource(self) -> str:
        """The resource that is short."""
        return self.threshold.resource

    @property
    def text(self) -> str:
        """The sentence of messages."""
        least, left = shown(self.resource, self.amount), shown(self.resource, self.available)
        return f"Threshold quantity: {least}, available: {left}. "


def shown(resource: str, amount: int) -> str:
    """An amount as messages show it: bytes with binary suffixes.

    Examples
    --------
    >>> shown("memory", 3 * 1024 * 1024), shown("pids", 2000)
    ('3Mi', '2k')
    """
    return str(Quantity(amount * 10**9, "DecimalSI" if resource in (PIDS, FILES) else "BinarySI"))


def thresholds(given: EvictionSettings) -> list[Threshold]:
    """The thresholds that a kubelet is given, with those of memory first, as they are told of."""
    found = [Threshold(SIGNALS[signal], text) for signal, text in given.eviction_hard.items()]
    return sorted(found, key=lambda each: each.resource != MEMORY)


def capacities(told: Mapping[str, str]) -> ResourceAmounts:
    """The amounts that a node has of the resources that are watched; nothing is known of the disk of some."""
    found = {name: parse(str(told[name])).whole for name in (MEMORY, STORAGE) if told.get(name)}
    return {**found, PIDS: PROCESS_NUMBERS, **({FILES: INODES} if STORAGE in found else {})}


def met(given: Iterable[Threshold], capacity: ResourceAmounts, used: ResourceAmounts) -> list[Met]:
    """The thresholds that are met."""
    found = []
    for each in given:
        if each.resource in capacity:
            most = capacity[each.resource]
            available = max(0, most - used.get(each.resource, 0))
            if available < each.amount(most):
                found.append(Met(each, each.amount(most), available))
    return found


# The usage of a node by its pods and by programs beside them: memory, disk and process numbers

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
    if images := sum(int(each.get("sizeBytes") or 0) for each in at(node, "status", "images") or ()):
        found[STORAGE] = found.get(STORAGE, 0) + images
    return found


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


# The pods of a node in the order in which its kubelet evicts them, and the reasons that it tells.
# Upstream: pkg/kubelet/eviction/helpers.go and eviction_manager.go, release 1.30.


def in_order(pods: Sequence[PodConsumption], resource: str) -> list[PodConsumption]:
    """The pods, those that are evicted first in front.

    Pods that use more than they asked for come first, then those of low priority, then those that use most beyond
    their requests. For process numbers priority counts first, and then the number of processes.
    """

    def rank(each: PodConsumption) -> tuple[Any, ...]:
        priority, names = at(each.pod, "spec", "priority") or 0, (namespace_of(each.pod), name_of(each.pod))
        if resource == PIDS:
            return priority, -each.used(PIDS), names
        above = each.above_requests(resource)
        return above <= 0, priority, -above, names

    return sorted(pods, key=rank)


def eviction_message(pod: PodConsumption, met: Met) -> str:
    """The reason for which a pod is evicted, with the containers that use more than they asked for."""
    text = f"The node was low on resource: {met.resource}. {met.text}"
    if met.resource in (PIDS, FILES):
        return text
    for container in [*(at(pod.pod, "spec", "containers") or ()), *(at(pod.pod, "spec", "initContainers") or ())]:
        used = pod.containers.get(container["name"], {}).get(met.resource, 0)
        asked = str(at(container, "resources", "requests", met.resource) or "0")
        if used > amount(met.resource, asked):
            text += (
                f"Container {container['name']} was using {shown(met.resource, used)}, "
                f"request is {canonical(asked)}, has larger consumption of {met.resource}. "
            )
    return text


def beyond_limits(pods: Sequence[PodConsumption]) -> Iterator[tuple[PodConsumption, str]]:
    """The pods that use more of the disk than they may, and what is told of each."""
    for pod in pods:
        limits = {
            each["name"]: str(at(each, "resources", "limits", STORAGE))
            for each in at(pod.pod, "spec", "containers") or ()
            if at(each, "resources", "limits", STORAGE)
        }
        message = _beyond(pod, limits) if limits else ""
        if message and not is_critical(pod.pod):
            yield pod, message


def _beyond(pod: PodConsumption, limits: Mapping[str, str]) -> str:
    total = sum(amount(STORAGE, text) for text in limits.values())
    if pod.used(STORAGE) > total:
        text = "Pod ephemeral local storage usage exceeds the total limit of containers"
        return f"{text} {shown(STORAGE, total) if len(limits) > 1 else canonical(next(iter(limits.values())))}. "
    for name, text in limits.items():
        if pod.containers.get(name, {}).get(STORAGE, 0) > amount(STORAGE, text):
            return f'Container {name} exceeded its local ephemeral storage limit "{canonical(text)}". '
    return ""
