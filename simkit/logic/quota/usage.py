"""The usage of quota names by one object.

pkg/quota/v1/evaluator/core, release 1.30.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from simkit.kinds.parts.pod.qos import pod_limits, pod_requests
from simkit.logic.quota.device_claims import (
    IMPLICIT,
    NOTHING_BACKED,
    RESOURCE_CLAIMS,
    BackedResources,
    claim_names,
    claim_usage,
)
from simkit.logic.workloads.pods import has_ended
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import moment
from simkit.meta.domain import LABEL_DOMAIN, api_group, label
from simkit.meta.name_validation import qualified_name
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, metadata
from simkit.meta.podspec import NON_EPHEMERAL, containers_of
from simkit.meta.quantity import NANO, Quantity
from simkit.meta.resource_list import ResourceList, add, count, resource_list_of

PODS: Final = GroupResource("", "pods")
SERVICES: Final = GroupResource("", "services")
CLAIMS: Final = GroupResource("", "persistentvolumeclaims")

_ALIASES: Final = {
    GroupResource("", name): name for name in ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
}
_REQUESTS: Final = "requests."
_HUGE: Final = "hugepages-"
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES: Final = frozenset(
    ["count/pods", "pods", *(prefix + name for name in _COMPUTE for prefix in ("", _REQUESTS, "limits."))]
)
_SERVICE_NAMES: Final = frozenset({"count/services", "services", "services.nodeports", "services.loadbalancers"})
_CLAIM_NAMES: Final = ("persistentvolumeclaims", "requests.storage")
_CLASS_SUFFIX: Final = f".storageclass.{api_group('storage')}/"
_OLD_CLASS: Final = label("storage-class", "volume.beta")


def count_name(resource: GroupResource) -> str:
    """The quota name of the number of a resource's objects.

    Examples
    --------
    >>> count_name(GroupResource("apps", "deployments"))
    'count/deployments.apps'
    """
    return f"count/{resource}"


def is_extended(name: str) -> bool:
    """True if a resource of nodes is an extended one, such as a graphics card."""
    native = "/" not in name or f"{LABEL_DOMAIN}/" in name
    return not native and not name.startswith(_REQUESTS) and not qualified_name(_REQUESTS + name)


def matching(
    behaviour: ServedBehaviour, resource: GroupResource, names: Iterable[str], backed: BackedResources = NOTHING_BACKED
) -> list[str]:
    """The names of a quota that objects of a resource use; ``backed`` are the resources that devices back."""
    if resource == PODS:
        return [name for name in names if name in _POD_NAMES or _of_pods(behaviour, name)]
    if resource == SERVICES:
        return [name for name in names if name in _SERVICE_NAMES]
    if resource == CLAIMS:
        ends = tuple(_CLASS_SUFFIX + name for name in _CLAIM_NAMES)
        own = (count_name(CLAIMS), *_CLAIM_NAMES)
        return [name for name in names if name in own or name.endswith(ends)]
    listed = list(names)
    more = claim_names(behaviour, listed, backed) if resource == RESOURCE_CLAIMS else ()
    return [name for name in listed if name in (count_name(resource), _ALIASES.get(resource)) or name in more]


def _of_pods(behaviour: ServedBehaviour, name: str) -> bool:
    if name.startswith((_HUGE, _REQUESTS + _HUGE)):
        return True
    return name.startswith(_REQUESTS) and _is_requested(behaviour, name.removeprefix(_REQUESTS))


def _is_requested(behaviour: ServedBehaviour, name: str) -> bool:
    """True if only requests of a resource count: an extended one, or one that a class of devices backs by its name."""
    return is_extended(name) or (name.startswith(IMPLICIT) and behaviour.applies("quotas-count-backed-resources"))


def usage(
    behaviour: ServedBehaviour,
    resource: GroupResource,
    obj: Object,
    now: float,
    backed: BackedResources = NOTHING_BACKED,
) -> ResourceList:
    """The usage by one object, by quota name; ``backed`` are the resources that devices back."""
    if resource == PODS:
        return _pod(behaviour, obj, now)
    if resource == SERVICES:
        return _service(obj)
    if resource == CLAIMS:
        return _claim(obj)
    found = {count_name(resource): count(1)}
    if resource == RESOURCE_CLAIMS:
        return {**found, **claim_usage(behaviour, obj, backed, lambda pod: _pod(behaviour, pod, now))}
    alias = _ALIASES.get(resource)
    return {**found, alias: count(1)} if alias else found


def counts_resources(pod: Object, now: float) -> bool:
    """True if a pod's resources count: it has not ended, and its deletion is not overdue."""
    if has_ended(pod):
        return False
    deleted, grace = metadata(pod).get("deletionTimestamp"), metadata(pod).get("deletionGracePeriodSeconds")
    return not deleted or grace is None or now <= moment(deleted) + grace


def _pod(behaviour: ServedBehaviour, pod: Object, now: float) -> ResourceList:
    found = {count_name(PODS): count(1)}
    if not counts_resources(pod, now):
        return found
    overhead = resource_list_of(at(pod, "spec", "overhead"))
    limits = pod_limits(pod)
    limited = {name: amount for name, amount in overhead.items() if name in limits and limits[name].nano}
    return {**found, **compute(behaviour, add(pod_requests(pod), overhead), add(limits, limited))}


def compute(behaviour: ServedBehaviour, requests: ResourceList, limits: ResourceList) -> dict[str, Quantity]:
    """Requests and limits by quota name."""
    found = {"pods": count(1)}
    for name in _COMPUTE:
        if name in requests:
            found[name] = found[_REQUESTS + name] = requests[name]
        if name in limits:
            found[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(_HUGE):
            found[name] = amount
        if name.startswith(_HUGE) or _is_requested(behaviour, name):
            found[_REQUESTS + name] = amount
    return found


_MUST_SAY: Final = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})


def missing_resources(behaviour: ServedBehaviour, pod: Object, names: Collection[str]) -> str:
    """The fields that containers must set because of a quota and do not set; empty if all are set."""
    missing: dict[str, set[str]] = {}
    for container in containers_of(pod.get("spec") or {}, NON_EPHEMERAL):
        resources = container.get("resources") or {}
        said = compute(
            behaviour, resource_list_of(resources.get("requests")), resource_list_of(resources.get("limits"))
        )
        for name in _MUST_SAY.intersection(names) - said.keys():
            missing.setdefault(name, set()).add(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _service(service: Object) -> ResourceList:
    kind, ports = at(service, "spec", "type"), at(service, "spec", "ports") or ()
    node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and at(service, "spec", "allocateLoadBalancerNodePorts") is False:
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        count_name(SERVICES): count(1),
        "services": count(1),
        "services.loadbalancers": count(int(kind == "LoadBalancer")),
        "services.nodeports": count(node_ports),
    }


def _claim(claim: Object) -> ResourceList:
    found = {"persistentvolumeclaims": count(1), count_name(CLAIMS): count(1)}
    chosen: Any = annotations_of(claim).get(_OLD_CLASS) or at(claim, "spec", "storageClassName")
    size = _storage(claim)
    if size is not None:
        found["requests.storage"] = size
    if chosen:
        found |= {f"{chosen}{_CLASS_SUFFIX}{name}": found[name] for name in _CLAIM_NAMES if name in found}
    return found


def _storage(claim: Object) -> Quantity | None:
    requested = resource_list_of(at(claim, "spec", "resources", "requests")).get("storage")
    given = resource_list_of(at(claim, "status", "allocatedResources")).get("storage")
    if requested is None:
        return None
    most = given if given is not None and given.nano > requested.nano else requested
    return Quantity(most.whole * NANO, most.format)
