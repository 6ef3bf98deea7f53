"""Quality of service class of a pod.

Follows ``pkg/apis/core/helper/qos/qos.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Object, at
from simkit.meta.podspec import NON_EPHEMERAL
from simkit.meta.quantity import parse
from simkit.meta.resource_list import ResourceList, add, maximum, resource_list_of

_COMPUTE: Final = ("cpu", "memory")


def qos_class(behaviour: ServedBehaviour, spec: Object) -> str:
    """The QoS class: Guaranteed, Burstable or BestEffort.

    Examples
    --------
    >>> qos_class(ServedBehaviour(30), {"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]})
    'Burstable'
    """
    if spec.get("resources") is not None and behaviour.applies("pod-level-resources"):
        return _whole_class(spec["resources"])
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    complete = True
    for name in NON_EPHEMERAL:
        for container in spec.get(name) or ():
            resources = container.get("resources")
            if not resources:
                complete = False
                continue
            _add(requests, resources.get("requests") or {})
            complete &= _add(limits, resources.get("limits") or {})
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if complete and requests == limits else "Burstable"


def _whole_class(resources: Object) -> str:
    """The class of a pod with resources of its own: containers do not count."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    _add(requests, resources.get("requests") or {})
    limited = resources.get("limits") or {}
    complete = _add(limits, limited) or not limited
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if complete and requests == limits else "Burstable"


def _add(totals: dict[str, int], amounts: Object) -> bool:
    """Add amounts to totals; True if all amounts that count are given."""
    found = 0
    for name in _COMPUTE:
        amount = parse(amounts[name]).nano if name in amounts else 0
        if amount > 0:
            totals[name] = totals.get(name, 0) + amount
            found += 1
    return found == len(_COMPUTE)


def pod_requests(pod: Object) -> ResourceList:
    """The requests of a pod."""
    return _whole(pod, "requests")


def pod_limits(pod: Object) -> ResourceList:
    """The limits of a pod."""
    return _whole(pod, "limits")


def _whole(pod: Object, field: str) -> ResourceList:
    total: ResourceList = {}
    for container in at(pod, "spec", "containers") or ():
        total = add(total, resource_list_of(at(container, "resources", field)))
    lasting: ResourceList = {}
    initial: ResourceList = {}
    for container in at(pod, "spec", "initContainers") or ():
        own = resource_list_of(at(container, "resources", field))
        if container.get("restartPolicy") == "Always":  # a sidecar runs on beside all that come after it
            total, lasting = add(total, own), add(lasting, own)
            initial = maximum(initial, lasting)
        else:
            initial = maximum(initial, add(own, lasting))
    return maximum(total, initial)


HUGE: Final = "hugepages-"
SUPPORTED: Final = ("cpu", HUGE, "memory")


def is_pod_resource(name: str) -> bool:
    """True if a pod as a whole can ask for a resource.

    Examples
    --------
    >>> [is_pod_resource(name) for name in ("cpu", "hugepages-2Mi", "ephemeral-storage")]
    [True, True, False]
    """
    return name in SUPPORTED or name.startswith(HUGE)
