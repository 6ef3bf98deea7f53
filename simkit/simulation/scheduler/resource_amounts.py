"""Amounts of resources as the scheduler counts them: milli-CPUs, and whole units of everything else.

Upstream: pkg/api/v1/resource/helpers.go and pkg/scheduler/util/pod_resources.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from simkit.meta.objects import Object, at
from simkit.meta.quantity import QuantityError, parse

ResourceAmounts = dict[str, int]
CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
_LEAST_CPU: Final = 100
"""Milli-CPUs that scores take a container for which asks for none."""
_LEAST_MEMORY: Final = 200 * 1024 * 1024


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

    Parameters
    ----------
    least
        Count containers that ask for no CPU or memory as asking for a little, as scores do.
    """
    spec = pod.get("spec") or {}
    total: ResourceAmounts = {}
    for container in spec.get("containers") or ():
        _add(total, _container(container, least))
    sidecars: ResourceAmounts = {}
    peak: ResourceAmounts = {}
    for container in spec.get("initContainers") or ():
        asked = _container(container, least)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            asked = dict(sidecars)
        else:
            _add(asked, sidecars)
        _raise(peak, asked)
    _raise(total, peak)
    _add(total, resource_amounts(spec.get("overhead")))
    return total


def _container(container: Mapping[str, Any], least: bool) -> ResourceAmounts:
    asked = resource_amounts(at(container, "resources", "requests"))
    if least:
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
