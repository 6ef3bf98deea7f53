"""The plugin DynamicResources: nodes on which the claims of a pod have, or can get, their devices.

Upstream: pkg/scheduler/framework/plugins/dynamicresources, release 1.34.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.resources import DEVICE_CLASSES
from simkit.logic.workloads.extended_resources import (
    EXTENDED_CLAIM,
    backing_classes,
    extended_requests,
    is_extended_claim,
)
from simkit.logic.workloads.nodes import term_fits
from simkit.logic.workloads.resource_claims import claim_name
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object, at, controller_of
from simkit.simulation.scheduler.devices.allocation_result import allocation_result
from simkit.simulation.scheduler.devices.allocator import Allocator, TimedOut
from simkit.simulation.scheduler.devices.pools import is_stuck, pools_of
from simkit.simulation.scheduler.devices.requests import AllocationError, shown
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.view import Filter, Rejection, SchedulingError, Unschedulable, View, rejected

# The resource claims of a pod: their names, and why the pod has to wait for one.
# Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, release 1.34.


class Missing(Exception):
    """A claim for which a pod has to wait. The text says why."""


def uses_devices(behaviour: ServedBehaviour, pod: Object) -> bool:
    """True if a pod names claims, and the release allocates devices."""
    named = bool(at(pod, "spec", "resourceClaims"))
    return named and behaviour.applies("claims-of-devices") and behaviour.applies("scheduler-allocates-devices")


def claims_of_pod(pod: PodInfo, view: View) -> list[Object]:
    """The claims of a pod. Raises Missing."""
    return list(_claims(pod, view)) if uses_devices(view.behaviour, pod.pod) else []


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


# The claim that the scheduler makes for the extended resources of a pod which devices back.
# Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go, release 1.36.

IN_MEMORY: Final = "<extended-resources>"
"""The name of a claim that is not written yet."""
_NONE: Final[Mapping[str, str]] = {}


class ExtendedClaim(NamedTuple):
    """The claim of a pod on one node, and the request from which each of its containers gets its devices."""

    claim: Object
    mappings: Sequence[Mapping[str, str]]


def classes_of_resources(names: Iterable[str], lister: Lister) -> Mapping[str, str]:
    """The name of the class that backs each of some resources, or of others; none if classes are not known.

    Resources of nodes themselves, which no class backs, cost nothing.
    """
    if not any("/" in name for name in names):
        return _NONE
    if not lister.snapshot.behaviour.applies(
        "scheduler-backs-extended-resources"
    ) or not lister.snapshot.behaviour.applies("scheduler-allocates-devices"):
        return _NONE
    return lister.once("classes of resources", lambda: _read(lister))


def _read(lister: Lister) -> Mapping[str, str]:
    known = DEVICE_CLASSES in lister.snapshot.captured()
    return backing_classes(lister.scan(DEVICE_CLASSES)) if known else _NONE


def backed_resources(pod: PodInfo, view: View) -> dict[str, str]:
    """The resources that a pod requests and a class backs, each with the name of that class."""
    classes = classes_of_resources(pod.requests, view.lister)
    return {name: classes[name] for name, amount in pod.requests.items() if amount > 0 and name in classes}


def former_claim(pod: PodInfo, view: View) -> Object | None:
    """The claim that was made for the extended resources of a pod in an earlier attempt."""
    found = view.controlled_claims(pod.namespace, uid_of(pod.pod))
    return next((each for each in found if is_extended_claim(each)), None)


def extended_claim(pod: PodInfo, backed: Mapping[str, str], info: NodeInfo) -> ExtendedClaim | None:
    """The claim for resources that a node does not have itself; None if it has all."""
    wanted = {name: each for name, each in backed.items() if not info.allocatable.get(name)}
    if not wanted:
        return None
    found = extended_requests(pod.pod, wanted)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": uid_of(pod.pod), "controller": True}
    meta: dict[str, Any] = {
        "namespace": pod.namespace,
        "name": IN_MEMORY,
        "generateName": f"{pod.name}-extended-resources-",
        "annotations": {EXTENDED_CLAIM: "true"},
        "ownerReferences": [owner],
    }
    return ExtendedClaim({"metadata": meta, "spec": {"devices": {"requests": found.requests}}}, found.mappings)


NAME: Final = "DynamicResources"
NOT_HERE: Final = "resourceclaim not available on the node"
_NOT_AVAILABLE: Final = rejected(NOT_HERE, resolvable=False)
_FORMER: Final = rejected("cannot schedule extended resource claim", resolvable=False)
_NOT_ALLOCATED: Final = rejected("cannot allocate all claims", resolvable=False)
_TIMED_OUT: Final = rejected("timed out trying to allocate devices", resolvable=False)
_INVALID_POOLS: Final = rejected("invalid resource pools were encountered", resolvable=False)


def dynamic_resources(pod: PodInfo, view: View) -> Filter | None:
    """Nodes that reach the allocated devices, and have devices for claims that need some.

    Raises Unschedulable for a claim or a class that is missing, and the filter SchedulingError for one that is wrong.
    """
    try:
        claims = claims_of_pod(pod, view)
    except Missing as error:
        raise Unschedulable(str(error), plugin=NAME) from error
    backed = backed_resources(pod, view)
    if not claims and not backed:
        return None
    if backed and former_claim(pod, view) is not None:
        return lambda _: _FORMER
    waiting = [each for each in claims if not _allocation(each)]
    for claim in waiting:
        _check_classes(claim, view)
    held = [each for each in claims if _allocation(each)]

    def check(info: NodeInfo) -> Rejection | None:
        extended = extended_claim(pod, backed, info)
        if waiting or extended is not None:
            found = _search([*waiting, *([extended.claim] if extended is not None else [])], view, info)
            if isinstance(found, Rejection):
                return found
        return None if all(is_usable(view.behaviour, each, info.object, view.now) for each in held) else _NOT_AVAILABLE

    return check


def _allocation(claim: Object) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = at(claim, "status", "allocation")
    return found


def is_usable(behaviour: ServedBehaviour, claim: Object, node: Object, now: float) -> bool:
    """True if the devices that a claim has can be used on a node, and neither have failed nor are late."""
    if is_stuck(behaviour, claim, now):
        return False
    selector = at(claim, "status", "allocation", "nodeSelector")
    return not selector or any(term_fits(term, node) for term in selector.get("nodeSelectorTerms") or ())


def _check_classes(claim: Object, view: View) -> None:
    for request in at(claim, "spec", "devices", "requests") or ():
        name, choices = request.get("name", ""), request.get("firstAvailable") or ()
        if choices and not view.behaviour.applies("scheduler-tries-first-available"):
            text = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise Unschedulable(f"resource claim {shown(claim)}, request {name}: {text}", plugin=NAME)
        named = [(f"{name}/{each.get('name', '')}", each) for each in choices]
        for where, each in named or [(name, request.get("exactly") or {})]:
            wanted = each.get("deviceClassName") or ""
            if not wanted:
                raise SchedulingError(f"running PreFilter plugin {NAME!r}: request {where}: unsupported request type")
            if view.device_class(wanted) is None:
                raise Unschedulable(f"request {where}: device class {wanted} does not exist", plugin=NAME)


def _search(claims: Sequence[Object], view: View, info: NodeInfo) -> Allocator | Rejection:
    pools = pools_of(info.object, view.lister)
    try:
        found = Allocator(view.behaviour, claims, pools, view.allocated_devices, view.device_class)
        if found.search(view.behaviour):
            return found
    except TimedOut as error:
        if view.behaviour.applies("scheduler-fails-on-long-searches"):
            text = f"node {info.name}: timed out trying to allocate devices"
            raise SchedulingError(f'running "{NAME}" filter plugin: {text}') from error
        return _TIMED_OUT
    except AllocationError as error:
        raise SchedulingError(f'running "{NAME}" filter plugin: {error}') from error
    return _INVALID_POOLS if any(each.invalid for each in pools) else _NOT_ALLOCATED


def chosen_requests(claims: Sequence[Object], view: View, info: NodeInfo) -> list[set[str]] | None:
    """The names of the requests, or alternatives, for which each claim gets devices on a node; None if it gets none.

    Raises SchedulingError.
    """
    found = _search(claims, view, info)
    if isinstance(found, Rejection):
        return None
    return [{each.request.name for each in chosen} for chosen in found.results]


def allocations_on(
    claims: Sequence[Object], view: View, info: NodeInfo, new_share: Callable[[], str]
) -> list[dict[str, Any]] | None:
    """The allocation of each claim on a node, the first that is found; None if there is none.

    Raises SchedulingError.
    """
    found = _search(claims, view, info)
    if isinstance(found, Rejection):
        return None
    return [
        allocation_result(view.behaviour, claim, chosen, info.name, new_share)
        for claim, chosen in zip(claims, found.results, strict=True)
    ]
