"""The resource claims of a pod: their names, and why the pod has to wait for one.

Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, release 1.34.
"""

from __future__ import annotations

from collections.abc import Iterator

from simkit.engine.controllers.lister import is_terminating, uid_of
from simkit.logic.workloads.resource_claims import claim_name
from simkit.meta.behaviour import applies
from simkit.meta.domain import api_group
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object, at, controller_of
from simkit.simulation.scheduler.node_info import PodInfo
from simkit.simulation.scheduler.view import View


class Missing(Exception):
    """A claim for which a pod has to wait. The text says why."""


def uses_devices(pod: Object) -> bool:
    """True if a pod names claims, and the release allocates devices."""
    named = bool(at(pod, "spec", "resourceClaims"))
    return named and applies("claims-of-devices") and applies("scheduler-allocates-devices")


def claims_of_pod(pod: PodInfo, view: View) -> list[Object]:
    """The claims of a pod. Raises Missing."""
    return list(_claims(pod, view)) if uses_devices(pod.pod) else []


def _claims(pod: PodInfo, view: View) -> Iterator[Object]:
    for each in at(pod.pod, "spec", "resourceClaims") or ():
        named = claim_name(pod.pod, each)
        if named is None:
            raise Missing(f'pod "{pod.namespace}/{pod.name}": ResourceClaim not created yet')
        if not named:
            continue
        claim = view.resource_claim(pod.namespace, named)
        if claim is None:
            raise Missing(f"resourceclaim.{api_group('resource')} {quoted(named)} not found")
        if is_terminating(claim):
            raise Missing(f"resourceclaim {quoted(named)} is being deleted")
        if not each.get("resourceClaimName") and (controller_of(claim) or {}).get("uid") != uid_of(pod.pod):
            whose = f"was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"
            raise Missing(f"ResourceClaim {pod.namespace}/{named} {whose}")
        yield claim


def reserved_claims(pod: PodInfo, view: View) -> list[Object]:
    """The claims of a pod that are reserved for it, also if others are missing or are being deleted."""
    names = [claim_name(pod.pod, each) for each in at(pod.pod, "spec", "resourceClaims") or ()]
    found = [view.resource_claim(pod.namespace, name) for name in names if name]
    return [each for each in found if each is not None and is_reserved_for(each, pod.pod)]


def is_reserved_for(claim: Object, pod: Object) -> bool:
    """True if a claim is reserved for a pod."""
    return any(each.get("uid") == uid_of(pod) for each in at(claim, "status", "reservedFor") or ())
