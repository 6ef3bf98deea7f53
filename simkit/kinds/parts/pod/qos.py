"""Quality of service class of a pod.

Follows ``pkg/apis/core/helper/qos/qos.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.meta.behaviour import applies
from simkit.meta.objects import Object
from simkit.meta.podspec import NON_EPHEMERAL
from simkit.meta.quantity import parse

_COMPUTE: Final = ("cpu", "memory")


def qos_class(spec: Object) -> str:
    """The QoS class: Guaranteed, Burstable or BestEffort.

    Examples
    --------
    >>> qos_class({"containers": [{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]})
    'Burstable'
    """
    if spec.get("resources") is not None and applies("pod-level-resources"):
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
