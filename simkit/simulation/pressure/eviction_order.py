"""The pods of a node in the order in which its kubelet evicts them, and the reasons that it tells.

Upstream: pkg/kubelet/eviction/helpers.go and eviction_manager.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simkit.meta.objects import at, name_of, namespace_of
from simkit.meta.quantity import canonical
from simkit.simulation.kubelet.pod_admission import is_critical
from simkit.simulation.pressure.consumption import PodConsumption
from simkit.simulation.pressure.thresholds import FILES, PIDS, Met, shown
from simkit.simulation.scheduler.resource_amounts import STORAGE, amount


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
