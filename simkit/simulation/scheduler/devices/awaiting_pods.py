"""Pods that have a node and devices, and are bound when the drivers of the devices are ready.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (``PreBind``), release 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from simkit.meta.objects import Object
from simkit.simulation.scheduler.devices.dynamic_resources import (
    NAME,
    Missing,
    backed_resources,
    claims_of_pod,
    former_claim,
)
from simkit.simulation.scheduler.devices.pools import (
    BINDING_TIMEOUT,
    BindingFailed,
    check_time,
    deadline_passed,
    is_ready,
)
from simkit.simulation.scheduler.node_info import PodInfo
from simkit.simulation.scheduler.queue import Name, Waiting
from simkit.simulation.scheduler.rejection import SchedulingError
from simkit.simulation.scheduler.view import View

_PERIOD: Final = 5.0
"""Seconds between two looks at the conditions."""


@dataclass(slots=True)
class AwaitingPod:
    """A pod, the node that it will be bound to, and the times of the first and of the next look."""

    waiting: Waiting
    pod: PodInfo
    node: str
    since: float
    due: float

    def know(self, pod: Object) -> None:
        """Know the pod as it is now."""
        self.waiting.pod, self.pod = pod, PodInfo(pod)

    def is_ready(self, view: View) -> bool:
        """True if all devices are ready. Raises SchedulingError if they will not be, or have taken too long."""
        self.due = view.now + _PERIOD - (view.now - self.since) % _PERIOD
        try:
            for claim in claims_in_use(self.pod, view):
                if not is_ready(view.behaviour, claim):
                    check_time(view.behaviour, claim, view.now)
                    if view.now - self.since >= BINDING_TIMEOUT:
                        raise BindingFailed(deadline_passed(view.behaviour))
                    return False
        except (BindingFailed, Missing) as error:
            raise SchedulingError(f'running PreBind plugin "{NAME}": {error}') from error
        return True


class AwaitingPods:
    """All pods that wait for drivers, by namespace and name."""

    def __init__(self) -> None:
        self._pods: dict[Name, AwaitingPod] = {}

    def __contains__(self, name: Name) -> bool:
        return name in self._pods

    def add(self, waiting: Waiting, pod: PodInfo, node: str, now: float) -> None:
        """Let a pod wait, which is looked at at once."""
        self._pods[pod.key] = AwaitingPod(waiting, pod, node, now, now)

    def get(self, name: Name) -> AwaitingPod | None:
        """A pod that waits."""
        return self._pods.get(name)

    def remove(self, name: Name) -> None:
        """Let a pod wait no longer."""
        self._pods.pop(name, None)

    def keep(self, present: set[Name]) -> None:
        """Forget the pods that are no longer there."""
        self._pods = {name: each for name, each in self._pods.items() if name in present}

    def due(self, now: float) -> list[AwaitingPod]:
        """The pods to be looked at."""
        return [each for each in self._pods.values() if each.due <= now]

    @property
    def next_time(self) -> float | None:
        """The time of the next look."""
        return min((each.due for each in self._pods.values()), default=None)

    def resume_from(self, other: AwaitingPods) -> None:
        """Know the pods of another scheduler."""
        self._pods = {name: replace(each, waiting=replace(each.waiting)) for name, each in other._pods.items()}


def claims_in_use(pod: PodInfo, view: View) -> list[Object]:
    """The claims of a pod, with the one for its extended resources. Raises Missing."""
    extended = former_claim(pod, view) if backed_resources(pod, view) else None
    return [*claims_of_pod(pod, view), *([extended] if extended is not None else [])]
