"""The requests and limits of a whole pod: the sum of its containers, or the need of its init containers if that is
more.

k8s.io/kubernetes/pkg/api/v1/resource/helpers.go, release 1.30.
"""

from __future__ import annotations

from simkit.meta.objects import Object, at
from simkit.meta.resource_list import ResourceList, add, maximum, resource_list_of


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
