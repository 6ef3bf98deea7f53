"""The plugin DynamicResources: nodes on which the claims of a pod have, or can get, their devices.

Upstream: pkg/scheduler/framework/plugins/dynamicresources, release 1.34.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simkit.logic.workloads.nodes import term_fits
from simkit.meta.behaviour import applies
from simkit.meta.objects import Object, at
from simkit.simulation.scheduler.devices.allocation_result import allocation_result
from simkit.simulation.scheduler.devices.allocator import Allocator, TimedOut
from simkit.simulation.scheduler.devices.binding_conditions import is_stuck
from simkit.simulation.scheduler.devices.extended_claim import backed_resources, extended_claim, former_claim
from simkit.simulation.scheduler.devices.pod_claims import Missing, claims_of_pod
from simkit.simulation.scheduler.devices.pools import pools_of
from simkit.simulation.scheduler.devices.requests import AllocationError, shown
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.rejection import Filter, Rejection, SchedulingError, Unschedulable, rejected
from simkit.simulation.scheduler.view import View

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
        return None if all(is_usable(each, info.object, view.now) for each in held) else _NOT_AVAILABLE

    return check


def _allocation(claim: Object) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = at(claim, "status", "allocation")
    return found


def is_usable(claim: Object, node: Object, now: float) -> bool:
    """True if the devices that a claim has can be used on a node, and neither have failed nor are late."""
    if is_stuck(claim, now):
        return False
    selector = at(claim, "status", "allocation", "nodeSelector")
    return not selector or any(term_fits(term, node) for term in selector.get("nodeSelectorTerms") or ())


def _check_classes(claim: Object, view: View) -> None:
    for request in at(claim, "spec", "devices", "requests") or ():
        name, choices = request.get("name", ""), request.get("firstAvailable") or ()
        if choices and not applies("scheduler-tries-first-available"):
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
        found = Allocator(claims, pools, view.allocated_devices, view.device_class)
        if found.search():
            return found
    except TimedOut as error:
        if applies("scheduler-fails-on-long-searches"):
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
        allocation_result(claim, chosen, info.name, new_share)
        for claim, chosen in zip(claims, found.results, strict=True)
    ]
