"""The requests and limits of a whole pod: the sum of its containers, or the need of its init containers if that is
more.

k8s.io/kubernetes/pkg/api/v1/resource/helpers.go, release 1.30.
"""

from __future__ import annotations

from simkit.meta.amounts import Amounts, amounts_of, greatest, plus
from simkit.meta.objects import Object, at


def pod_requests(pod: Object) -> Amounts:
    """The requests of a pod."""
    return _whole(pod, "requests")


def pod_limits(pod: Object) -> Amounts:
    """The limits of a pod."""
    return _whole(pod, "limits")


def _whole(pod: Object, field: str) -> Amounts:
    total: Amounts = {}
    for container in at(pod, "spec", "containers") or ():
        total = plus(total, amounts_of(at(container, "resources", field)))
    lasting: Amounts = {}
    initial: Amounts = {}
    for container in at(pod, "spec", "initContainers") or ():
        own = amounts_of(at(container, "resources", field))
        if container.get("restartPolicy") == "Always":  # a sidecar runs on beside all that come after it
            total, lasting = plus(total, own), plus(lasting, own)
            initial = greatest(initial, lasting)
        else:
            initial = greatest(initial, plus(own, lasting))
    return greatest(total, initial)
