"""Amounts of resources as the scheduler counts them: milli-CPUs, and whole units of everything else.

Upstream: pkg/api/v1/resource/helpers.go and pkg/scheduler/util/pod_resources.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from simkit.logic.workloads.status_conditions import find
from simkit.meta.objects import Object, at
from simkit.meta.quantity import QuantityError, parse

ResourceAmounts = dict[str, int]
CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
_LEAST_CPU: Final = 100
"""Milli-CPUs that scores take a container for which asks for none."""
_LEAST_MEMORY: Final = 200 * 1024 * 1024
_INFEASIBLE: Final = "Infeasible"
_HUGE_PAGES: Final = "hugepages-"


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """A quantity as the scheduler counts it; 0 for a text that is none.

    Examples
    --------
    >>> amount("cpu", "1.5"), amount("memory", "1Ki")
    (1500, 1024)
    """
    try:
        found = parse(text)
    except QuantityError:
        return 0
    return found.milli if resource == CPU else found.whole


def resource_amounts(listed: Mapping[str, Any] | None) -> ResourceAmounts:
    """The amounts of a resource list."""
    return {name: amount(name, str(text)) for name, text in (listed or {}).items()}


def pod_requests(pod: Object, *, least: bool = False) -> ResourceAmounts:
    """The requests of a whole pod: containers and sidecars together, or more if an init container needs it.

    Requests of the pod itself come first. While the resources of a container change, the greater ones count.

    Parameters
    ----------
    least
        Count containers that ask for no CPU or memory as asking for a little, as scores do.
    """
    spec, running = pod.get("spec") or {}, running_statuses(pod)
    total: ResourceAmounts = {}
    for container in spec.get("containers") or ():
        _add(total, _container(container, least, running))
    sidecars: ResourceAmounts = {}
    peak: ResourceAmounts = {}
    for container in spec.get("initContainers") or ():
        sidecar = container.get("restartPolicy") == "Always"
        asked = _container(container, least, running if sidecar else {})
        if sidecar:
            _add(total, asked)
            _add(sidecars, asked)
            asked = dict(sidecars)
        else:
            _add(asked, sidecars)
        _raise(peak, asked)
    _raise(total, peak)
    own = resource_amounts(at(spec, "resources", "requests"))
    total |= {name: value for name, value in own.items() if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)}
    _add(total, resource_amounts(spec.get("overhead")))
    return total


def requests_without_sidecars(pod: Object) -> ResourceAmounts:
    """The requests of CPU and memory for the scores of other pods, as releases before 1.32 counted them.

    Sidecars count only while the containers after them start. ``pkg/scheduler/framework/types.go``
    (``calculateResource``), release 1.30.
    """
    spec = pod.get("spec") or {}
    total: ResourceAmounts = {}
    for container in spec.get("containers") or ():
        _add(total, _with_least(_container(container, False, {})))
    sidecars: ResourceAmounts = {}
    for container in spec.get("initContainers") or ():
        asked = _container(container, False, {})
        if container.get("restartPolicy") == "Always":
            _add(sidecars, asked)
            asked = dict(sidecars)
        else:
            _add(asked, sidecars)
        _raise(total, _with_least(asked))
    _add(total, resource_amounts(spec.get("overhead")))
    return {name: value for name, value in total.items() if name in (CPU, MEMORY)}


def running_statuses(pod: Object) -> dict[str, Mapping[str, Any]]:
    """The statuses of containers that tell with which resources they run, by name."""
    statuses = [at(pod, "status", field) or () for field in ("containerStatuses", "initContainerStatuses")]
    found = {each.get("name", ""): each for listed in statuses for each in listed if each.get("resources")}
    if found and never_resized(pod):
        return {name: {**each, "resize": _INFEASIBLE} for name, each in found.items()}
    return found


def never_resized(pod: Object) -> bool:
    """True if the node of a pod is too small for the resize that it asks for, which then does not count."""
    pending = find(at(pod, "status", "conditions"), "PodResizePending") or {}
    return _INFEASIBLE in (pending.get("reason"), at(pod, "status", "resize"))


def _container(container: Mapping[str, Any], least: bool, running: Mapping[str, Mapping[str, Any]]) -> ResourceAmounts:
    asked = resource_amounts(at(container, "resources", "requests"))
    status = running.get(container.get("name", ""))
    if status is not None:
        if status.get("resize") == _INFEASIBLE:
            asked = {}
        _raise(asked, resource_amounts(at(status, "resources", "requests")))
        _raise(asked, resource_amounts(status.get("allocatedResources")))
    return _with_least(asked) if least else asked


def _with_least(asked: ResourceAmounts) -> ResourceAmounts:
    asked.setdefault(CPU, _LEAST_CPU)
    asked.setdefault(MEMORY, _LEAST_MEMORY)
    return asked


def _add(total: ResourceAmounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise(total: ResourceAmounts, floor: Mapping[str, int]) -> None:
    for name, value in floor.items():
        if value > total.get(name, 0):
            total[name] = value
