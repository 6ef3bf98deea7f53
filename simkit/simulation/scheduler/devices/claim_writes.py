"""The scheduler's writes to resource claims: the allocation and the reservation for a pod, and what it takes back.

Upstream: pkg/scheduler/framework/plugins/dynamicresources (``PreBind``, ``Unreserve``, ``PostFilter``), release 1.34.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.lister import uid_of
from simkit.client.requests import create, delete, path_to, replace
from simkit.client.resources import PODS, RESOURCE_CLAIMS
from simkit.logic.workloads.resource_claims import CLAIM_FINALIZER
from simkit.meta.clock import timestamp
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.simulation.scheduler.devices.dynamic_resources import (
    NAME,
    NOT_HERE,
    ExtendedClaim,
    Missing,
    allocations_on,
    backed_resources,
    claims_of_pod,
    extended_claim,
    former_claim,
    is_reserved_for,
    is_usable,
    reserved_claims,
    uses_devices,
)
from simkit.simulation.scheduler.devices.pools import (
    BINDING_TIMEOUT,
    BindingFailed,
    awaits_devices,
    check_time,
    deadline_passed,
    is_ready,
)
from simkit.simulation.scheduler.devices.requests import shown
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.queue import Name, Waiting
from simkit.simulation.scheduler.view import NO_CLAIMS, Rejection, SchedulingError, View

_TAKEN_BACK: Final = "deallocation of ResourceClaim completed"
_ALLOCATED: Final = ("allocation", "reservedFor", "devices")
_STILL: Final = "still not schedulable"
_DELETED: Final = "deletion of ResourceClaim completed"
_STRATEGIC: Final = "application/strategic-merge-patch+json"


def reserve_claims(client: Client, view: View, pod: PodInfo, info: NodeInfo, new_share: Callable[[], str]) -> None:
    """Write what is allocated to the claims of a pod, and that they are for it. Raises SchedulingError."""
    claims = claims_of_pod(pod, view)
    extended = extended_claim(pod, backed_resources(pod, view), info)
    waiting = [each for each in claims if not at(each, "status", "allocation")]
    wanted = [*waiting, *([extended.claim] if extended is not None else [])]
    allocations = allocations_on(wanted, view, info, new_share) if wanted else []
    if allocations is None:
        raise SchedulingError("claim allocation not found for node")
    made = {uid_of(claim): allocation for claim, allocation in zip(wanted, allocations, strict=True)}
    for claim in claims:
        if not is_reserved_for(claim, pod.pod):
            _reserve(client, view, claim, pod, made.get(uid_of(claim)))
    if extended is not None:
        _make_extended(client, view, pod, extended, allocations[-1])


def _make_extended(
    client: Client, view: View, pod: PodInfo, extended: ExtendedClaim, allocation: Mapping[str, Any]
) -> None:
    """Write the claim for extended resources, and tell the pod of it."""
    meta = {name: value for name, value in metadata(extended.claim).items() if name != "name"}
    head = {"apiVersion": f"{RESOURCE_CLAIMS.group}/v1", "kind": "ResourceClaim", "metadata": meta}
    response = create(client, RESOURCE_CLAIMS, pod.namespace, {**head, "spec": extended.claim["spec"]})
    made = _written(response, f"create claim for extended resources {shown(extended.claim)}")
    view.assume_claim(made)
    _reserve(client, view, made, pod, allocation)
    told = {"requestMappings": extended.mappings, "resourceClaimName": name_of(made)}
    path = path_to(PODS, pod.pod, "status")
    response = client.perform(
        Request.of("PATCH", path, {"status": {"extendedResourceClaimStatus": told}}, content_type=_STRATEGIC)
    )
    _written(response, f"update pod {pod.namespace}/{pod.name} ExtendedResourceClaimStatus")


def _reserve(client: Client, view: View, claim: Object, pod: PodInfo, allocation: Mapping[str, Any] | None) -> None:
    if allocation is not None and CLAIM_FINALIZER not in (metadata(claim).get("finalizers") or ()):
        finalizers = [*(metadata(claim).get("finalizers") or ()), CLAIM_FINALIZER]
        wanted = {**claim, "metadata": {**metadata(claim), "finalizers": finalizers}}
        claim = _written(replace(client, RESOURCE_CLAIMS, wanted), f"add finalizer to claim {shown(claim)}")
    status = claim.get("status") or {}
    consumer = {"resource": "pods", "name": pod.name, "uid": uid_of(pod.pod)}
    told = {**status, "reservedFor": [*(status.get("reservedFor") or ()), consumer]}
    if allocation is not None:
        told["allocation"] = allocation
    if awaits_devices(view.behaviour) and not at(told, "allocation", "allocationTimestamp"):
        told["allocation"] = {**told["allocation"], "allocationTimestamp": timestamp(view.now)}
    what = "allocation and reservation" if allocation is not None else "reservation"
    response = replace(client, RESOURCE_CLAIMS, {**claim, "status": told}, "status")
    view.assume_claim(_written(response, f"add {what} to claim {shown(claim)}"))


def _written(response: Response, what: str) -> Object:
    if not response.succeeded:
        raise SchedulingError(f'running PreBind plugin "{NAME}": {what}: {response.object["message"]}')
    found: Object = response.object
    return found


def release_claims(client: Client, view: View, pod: PodInfo) -> None:
    """Have the claims of a pod that could not be bound no longer reserved for it; they keep their devices.

    The one that was made for its extended resources goes.
    """
    for claim in reserved_claims(pod, view) if uses_devices(view.behaviour, pod.pod) else ():
        others = [each for each in at(claim, "status", "reservedFor") or () if each.get("uid") != uid_of(pod.pod)]
        _write_status(client, view, claim, {**claim["status"], "reservedFor": others})
    if backed_resources(pod, view):
        _remove_extended(client, view, pod)


def _remove_extended(client: Client, view: View, pod: PodInfo) -> bool:
    """Delete the claim for extended resources of a pod; False if there is none."""
    claim = former_claim(pod, view)
    if claim is None:
        return False
    kept = [each for each in metadata(claim).get("finalizers") or () if each != CLAIM_FINALIZER]
    freed = replace(client, RESOURCE_CLAIMS, {**claim, "metadata": {**metadata(claim), "finalizers": kept}})
    for response in (freed, delete(client, path_to(RESOURCE_CLAIMS, claim), claim)):
        if not response.succeeded and response.status not in (404, 409):
            raise SchedulingError(str(response.object["message"]))
    view.drop_claim(claim)
    return True


def take_back(client: Client, view: View, pod: PodInfo, rejections: Mapping[str, Rejection]) -> str:
    """Take the devices from a claim of a pod that nobody uses, if they keep it from a node; what came of it."""
    backed = backed_resources(pod, view)
    if not uses_devices(view.behaviour, pod.pod) and not backed:
        return NO_CLAIMS
    nodes = [view.cache.node(name) for name, each in rejections.items() if NOT_HERE in each.reasons]
    for claim in claims_of_pod(pod, view):
        users = [each for each in at(claim, "status", "reservedFor") or () if each.get("uid") != uid_of(pod.pod)]
        if not users and any(
            info is not None and not is_usable(view.behaviour, claim, info.object, view.now) for info in nodes
        ):
            left = {name: value for name, value in claim["status"].items() if name not in _ALLOCATED}
            _write_status(client, view, claim, left)
            return _TAKEN_BACK
    return _DELETED if backed and _remove_extended(client, view, pod) else _STILL


def _write_status(client: Client, view: View, claim: Object, status: Mapping[str, Any]) -> None:
    response = replace(client, RESOURCE_CLAIMS, {**claim, "status": status}, "status")
    if response.succeeded:
        view.assume_claim(response.object)
    elif response.status not in (404, 409):
        raise SchedulingError(str(response.object["message"]))


# Pods that have a node and devices, and are bound when the drivers of the devices are ready.
# Upstream: pkg/scheduler/framework/plugins/dynamicresources (``PreBind``), release 1.36.

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
        self._pods = {
            name: dataclasses.replace(each, waiting=dataclasses.replace(each.waiting))
            for name, each in other._pods.items()
        }


def claims_in_use(pod: PodInfo, view: View) -> list[Object]:
    """The claims of a pod, with the one for its extended resources. Raises Missing."""
    extended = former_claim(pod, view) if backed_resources(pod, view) else None
    return [*claims_of_pod(pod, view), *([extended] if extended is not None else [])]
