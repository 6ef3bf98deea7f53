"""The CPU and memory that containers use: what a test says, or half of what they request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.logic.workloads.pods import is_ready
from simkit.meta.clock import Clock
from simkit.meta.objects import Object, annotations_of, at, controller_of
from simkit.meta.quantity import NANO, Quantity, QuantityError, parse
from simkit.simulation.kubelet.behaviour import PREFIX, Behaviours
from simkit.simulation.kubelet.eviction_settings import percentage
from simkit.simulation.kubelet.process import Container

_LEAST_CPU: Final = NANO // 100
_LEAST_MEMORY: Final = 20 * 1024 * 1024 * NANO
_OF_NODE: Final = (NANO // 10, 500 * 1024 * 1024 * NANO)
_FIELDS: Final = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))


class Used(NamedTuple):
    """CPU and memory, both in billionths of their units."""

    cpu: int
    memory: int

    def plus(self, other: Used) -> Used:
        """Both together."""
        return Used(self.cpu + other.cpu, self.memory + other.memory)

    def quantities(self) -> dict[str, str]:
        """The same in the notation of metrics.

        Examples
        --------
        >>> Used(5_000_000, 1024 * 2048 * 10**9).quantities()
        {'cpu': '5m', 'memory': '2Mi'}
        """
        memory = self.memory // NANO // 1024 * 1024 * NANO
        return {"cpu": str(Quantity(self.cpu)), "memory": str(Quantity(memory, "BinarySI"))}


def node_overhead(node: Object) -> Used:
    """The usage of a node besides its pods: what its annotations say, or a little, at most a tenth of its memory.

    Examples
    --------
    >>> node_overhead({"status": {"capacity": {"memory": "1000Mi"}}}).quantities()
    {'cpu': '100m', 'memory': '100Mi'}
    """
    capacity = _amount(str(at(node, "status", "capacity", "memory") or ""))
    cpu, memory = _OF_NODE if capacity is None else (_OF_NODE[0], min(_OF_NODE[1], capacity // 10))
    told = annotations_of(node).get(f"{PREFIX}memory", "")
    share = percentage(told)
    if share is not None:
        return Used(cpu, int((capacity or 0) * share))
    amount = _amount(told)
    return Used(cpu, memory if amount is None else amount)


class UsageModel:
    """The usage of containers.

    Parameters
    ----------
    behaviours
        What a test says: the settings ``cpu`` and ``memory`` of a container, ``cpu-load`` (an amount that the ready
        pods of one controller share), and functions.
    pods
        The pods among which such a load is shared.
    """

    def __init__(self, behaviours: Behaviours, clock: Clock, pods: Iterable[Object]) -> None:
        self._behaviours, self._clock = behaviours, clock
        self._ready: dict[str, int] = {}
        for pod in pods:
            if is_ready(pod):
                owner = (controller_of(pod) or {}).get("uid", "")
                self._ready[owner] = self._ready.get(owner, 0) + 1

    def containers(self, pod: Object) -> Iterator[tuple[str, Used]]:
        """The running containers of a pod, with their usage."""
        for field, told in _FIELDS:
            statuses = {each["name"]: each for each in at(pod, "status", told) or ()}
            for spec in at(pod, "spec", field) or ():
                if at(statuses.get(spec.get("name", "")), "state", "running") is not None:
                    yield str(spec["name"]), self._of(pod, spec)

    def _of(self, pod: Object, spec: Mapping[str, Any]) -> Used:
        told = self._told(pod, spec)
        shared = _amount(self._behaviours.setting(pod, spec, "cpu-load"))
        owner = (controller_of(pod) or {}).get("uid", "")
        requests = at(spec, "resources", "requests") or {}
        cpu, memory = _amount(told.get("cpu", "")), _amount(told.get("memory", ""))
        if cpu is None and shared is not None:
            cpu = shared // max(1, self._ready.get(owner, 1)) if is_ready(pod) else _LEAST_CPU
        return Used(
            _half(requests.get("cpu"), _LEAST_CPU) if cpu is None else cpu,
            _half(requests.get("memory"), _LEAST_MEMORY) if memory is None else memory,
        )

    def _told(self, pod: Object, spec: Mapping[str, Any]) -> Mapping[str, str]:
        function = self._behaviours.usage(pod, spec)
        found = {name: self._behaviours.setting(pod, spec, name) for name in ("cpu", "memory")}
        found = {name: text for name, text in found.items() if text}
        return {**function(Container(pod, spec), self._clock.now()), **found} if function is not None else found


def _amount(text: str) -> int | None:
    try:
        return parse(str(text)).nano if text else None
    except QuantityError:
        return None


def _half(request: object, least: int) -> int:
    requested = _amount(str(request or ""))
    return least if requested is None else requested // 2
