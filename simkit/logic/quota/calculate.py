"""The usage of a quota in a whole namespace, and its scopes: an object counts if it matches all of them.

CalculateUsage in k8s.io/apiserver/pkg/quota/v1/resources.go and pkg/quota/v1/evaluator/core/pods.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.logic.quota.device_claims import NOTHING_BACKED, RESOURCE_CLAIMS, BackedResources
from simkit.logic.quota.usage import CLAIMS, PODS, SERVICES, matching, usage
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.labels import of_object
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at
from simkit.meta.podspec import NON_EPHEMERAL, containers_of
from simkit.meta.quantity import Quantity
from simkit.meta.resource_list import ResourceList, add, count, resource_list_of

_COUNT = "count/"
_WITH_NAMES = (PODS, SERVICES, CLAIMS, RESOURCE_CLAIMS)
"""The resources that have names of their own in quotas."""
_PLAIN = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")


def counted(
    behaviour: ServedBehaviour, names: Iterable[str], backed: BackedResources = NOTHING_BACKED
) -> list[GroupResource]:
    """The resources whose objects count for a quota with these names.

    Examples
    --------
    >>> from simkit.schema.behaviour import default_behaviour
    >>> [str(resource) for resource in counted(default_behaviour("1.30"), ["pods", "count/deployments.apps"])]
    ['pods', 'deployments.apps']
    """
    listed = list(names)
    found = [resource for resource in _WITH_NAMES if matching(behaviour, resource, listed, backed)]
    for name in listed:
        if name in _PLAIN:
            found.append(GroupResource("", name))
        elif name.startswith(_COUNT):
            resource, _, group = name.removeprefix(_COUNT).partition(".")
            found.append(GroupResource(group, resource))
    return list(dict.fromkeys(found))


def total_usage(
    behaviour: ServedBehaviour,
    resource: GroupResource,
    scopes: Sequence[Scope],
    objects: Iterable[Object],
    now: float,
    backed: BackedResources = NOTHING_BACKED,
) -> ResourceList:
    """The usage of all objects of a resource within some scopes, by all names that quotas have for it."""
    total: ResourceList = {}
    for obj in objects:
        if all(fits(scope, resource, obj) for scope in scopes):
            total = add(total, usage(behaviour, resource, obj, now, backed))
    return total


def used(
    behaviour: ServedBehaviour,
    quota: Object,
    names: Sequence[str],
    totals: Callable[[GroupResource, Sequence[Scope]], ResourceList],
    backed: BackedResources = NOTHING_BACKED,
) -> ResourceList:
    """The usage of each of a quota's names, zero if there is none. Names without a counter are left out.

    ``totals`` gives the ``total_usage`` of a resource within scopes, which is the same for all quotas that have them.
    """
    scopes = scopes_of(quota)
    total: dict[str, Quantity] = {}
    for resource in counted(behaviour, names, backed):
        own, amounts = matching(behaviour, resource, names, backed), totals(resource, scopes)
        total = {**{name: count(0) for name in own}, **total}
        total = add(total, {name: amounts[name] for name in own if name in amounts})
    return total


Scope = Mapping[str, Any]
_CLASS: Final = "volumeAttributesClassName"


def scopes_of(quota: Object) -> list[Scope]:
    """The scopes of a quota as selectors, the plain ones first."""
    plain: list[Scope] = [{"scopeName": name, "operator": "Exists"} for name in at(quota, "spec", "scopes") or ()]
    return [*plain, *(at(quota, "spec", "scopeSelector", "matchExpressions") or ())]


def fits(scope: Scope, resource: GroupResource, obj: Object) -> bool:
    """True if an object is within a scope. Only pods and claims have any."""
    if resource == CLAIMS and scope.get("scopeName") == "VolumeAttributesClass":
        return _has_class(scope, obj)
    if resource != PODS:
        return False
    match scope.get("scopeName"):
        case "Terminating":
            return _ends(obj)
        case "NotTerminating":
            return not _ends(obj)
        case "BestEffort":
            return best_effort(obj)
        case "NotBestEffort":
            return not best_effort(obj)
        case "PriorityClass":
            return _has_priority(scope, obj)
        case "CrossNamespacePodAffinity":
            return _looks_across(obj)
    return False


def counts(
    behaviour: ServedBehaviour,
    quota: Object,
    resource: GroupResource,
    obj: Object,
    names: Sequence[str],
    backed: BackedResources = NOTHING_BACKED,
) -> bool:
    """True if a quota that limits these names counts an object."""
    return bool(matching(behaviour, resource, names, backed)) and all(
        fits(scope, resource, obj) for scope in scopes_of(quota)
    )


def _has_class(scope: Scope, claim: Object) -> bool:
    """True if one of the classes that a claim has or is to get is meant by a scope."""
    status = claim.get("status") or {}
    target = at(status, "modifyVolumeStatus", "targetVolumeAttributesClassName")
    named = (at(claim, "spec", _CLASS), status.get("currentVolumeAttributesClassName"), target)
    classes, values = {name for name in named if name}, set(scope.get("values") or ())
    match scope.get("operator"):
        case "Exists":
            return bool(at(claim, "spec", _CLASS))
        case "DoesNotExist":
            return not classes
        case "In":
            return bool(classes & values)
    return bool(classes - values) or not classes


def _ends(pod: Object) -> bool:
    deadline = at(pod, "spec", "activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def best_effort(pod: Object) -> bool:
    """True if no container of a pod sets requests or limits for CPU or memory."""
    said = at(pod, "status", "qosClass")
    if said:
        return bool(said == "BestEffort")
    for container in containers_of(pod.get("spec") or {}, NON_EPHEMERAL):
        for part in ("requests", "limits"):
            amounts = resource_list_of(at(container, "resources", part))
            if any(amounts[name].nano > 0 for name in ("cpu", "memory") if name in amounts):
                return False
    return True


def _has_priority(scope: Scope, pod: Object) -> bool:
    name = at(pod, "spec", "priorityClassName")
    key = "PriorityClass"
    requirement = {"key": key, "operator": scope.get("operator"), "values": scope.get("values") or ()}
    return of_object({"matchExpressions": [requirement]}).matches({key: name} if name else {})


def _looks_across(pod: Object) -> bool:
    """True if the pod's affinity to other pods concerns other namespaces."""
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = at(pod, "spec", "affinity", kind) or {}
        hard = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        soft = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        for term in (*hard, *(each.get("podAffinityTerm") or {} for each in soft)):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False
