"""The usage of quota names by claims of devices: devices of a class, and extended resources that the class backs.

pkg/quota/v1/evaluator/core/resource_claims.go and k8s.io/dynamic-resource-allocation/deviceclass, release 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group, label
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, annotations_of, at, controller_of, metadata, name_of
from simkit.meta.quantity import Quantity
from simkit.meta.resource_list import ResourceList, count, subtract

RESOURCE_CLAIMS: Final = GroupResource(api_group("resource"), "resourceclaims")
_PER_CLASS: Final = f".deviceclass.{api_group('resource')}/devices"
_REQUESTS: Final = "requests."
_MOST: Final = 32
"""The devices that a request for all counts for, which is as many as a claim may have."""


class BackedResources(NamedTuple):
    """The extended resources that classes of devices back, and the pods for which the scheduler makes claims for them.

    Attributes
    ----------
    classes
        The class that backs each resource.
    named
        The resource that each class names.
    pod_of
        The pod that controls a claim.
    claims_of
        The claims that a pod controls.
    """

    classes: Mapping[str, str] = {}
    named: Mapping[str, str] = {}
    pod_of: Callable[[Object], Object | None] = lambda _: None
    claims_of: Callable[[Object], Iterable[Object]] = lambda _: ()


NOTHING_BACKED: Final = BackedResources()


def backed_resources(
    behaviour: ServedBehaviour,
    classes: Callable[[], Iterable[Object]],
    pod_of: Callable[[Object], Object | None],
    claims_of: Callable[[Object], Iterable[Object]],
) -> BackedResources:
    """The resources that classes back, as far as quotas of the served release know any."""
    if not (
        behaviour.applies("scheduler-backs-extended-resources") and behaviour.applies("quotas-count-backed-resources")
    ):
        return NOTHING_BACKED
    found = list(classes())
    named = {name_of(each): str(at(each, "spec", "extendedResourceName") or "") for each in found}
    return BackedResources(backing_classes(found), named, pod_of, claims_of)


def controlling_pod(claim: Object) -> Mapping[str, Any]:
    """The reference to the pod that controls a claim; empty if none does."""
    owner = controller_of(claim) or {}
    return owner if (owner.get("kind"), owner.get("apiVersion")) == ("Pod", "v1") else {}


def claims_are_counted(behaviour: ServedBehaviour) -> bool:
    """True if quotas of the served release count devices."""
    return behaviour.applies("claims-of-devices") and behaviour.applies("scheduler-allocates-devices")


def claim_names(behaviour: ServedBehaviour, names: Iterable[str], backed: BackedResources) -> list[str]:
    """The names of a quota that claims use, besides the number of claims."""
    if not claims_are_counted(behaviour):
        return []
    return [
        name
        for name in names
        if name.endswith(_PER_CLASS) or (name.startswith(_REQUESTS) and name.removeprefix(_REQUESTS) in backed.classes)
    ]


def claim_usage(
    behaviour: ServedBehaviour, claim: Object, backed: BackedResources, pod_usage: Callable[[Object], ResourceList]
) -> ResourceList:
    """The devices that a claim asks for, at most, by class and by the extended resources that stand for them.

    What the pod of a claim for extended resources is charged for does not count again.
    """
    if not claims_are_counted(behaviour):
        return {}
    by_class: dict[str, int] = {}
    for request in at(claim, "spec", "devices", "requests") or ():
        for name, number in _devices(request).items():
            by_class[name] = by_class.get(name, 0) + number
    found: dict[str, Quantity] = {f"{name}{_PER_CLASS}": count(number) for name, number in by_class.items()}
    if not backed.classes:
        return found
    resources = {f"{_REQUESTS}{IMPLICIT}{name}": count(number) for name, number in by_class.items()}
    resources |= {
        f"{_REQUESTS}{backed.named[name]}": count(by_class[name]) for name in by_class if backed.named.get(name)
    }
    pod = _charged_pod(claim, backed)
    charged = {name: each for name, each in pod_usage(pod).items() if name in resources} if pod is not None else {}
    return {**found, **{name: each for name, each in subtract(resources, charged).items() if each.nano > 0}}


def _devices(request: Mapping[str, Any]) -> dict[str, int]:
    """The most devices of each class that a request may get."""
    found: dict[str, int] = {}
    for each in request.get("firstAvailable") or [request.get("exactly") or {}]:
        name, mode = str(each.get("deviceClassName") or ""), each.get("allocationMode")
        number = int(each.get("count") or 0) if mode == "ExactCount" else _MOST if mode == "All" else 0
        if name:
            found[name] = max(number, found.get(name, 0))
    return found


def _charged_pod(claim: Object, backed: BackedResources) -> Object | None:
    """The pod of the one claim that the scheduler makes for its extended resources; None for any other claim."""
    pod = backed.pod_of(claim) if is_extended_claim(claim) else None
    if pod is None:
        return None
    told = at(pod, "status", "extendedResourceClaimStatus")
    if told is not None:
        return pod if told.get("resourceClaimName") == name_of(claim) else None
    return pod if all(_age(claim) <= _age(each) for each in backed.claims_of(pod)) else None


def _age(claim: Object) -> tuple[str, str]:
    return metadata(claim).get("creationTimestamp") or "", name_of(claim)


EXTENDED_CLAIM: Final = label("extended-resource-claim", "resource")
"""The annotation of claims that the scheduler makes for extended resources."""
IMPLICIT: Final = label("", "deviceclass.resource")
"""The beginning of the resource that every class backs: its own name follows."""


def backing_classes(classes: Iterable[Object]) -> dict[str, str]:
    """The name of the class that backs each resource.

    Of two classes that name one resource, the newer one counts, and of equally old ones that with the lower name. As in
    kube-scheduler, the other one of two equally old ones then backs nothing, not even the resource of its own name.

    Examples
    --------
    >>> gpu = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}}
    >>> backing_classes([gpu])
    {'deviceclass.resource.kubernetes.io/gpu': 'gpu', 'example.com/gpu': 'gpu'}
    """
    found: dict[str, str] = {}
    since: dict[str, str] = {}
    for each in sorted(classes, key=lambda one: (metadata(one).get("creationTimestamp") or "", name_of(one))):
        named, created = str(at(each, "spec", "extendedResourceName") or ""), metadata(each).get("creationTimestamp")
        if named and named in found and since[named] == (created or ""):
            continue
        found[IMPLICIT + name_of(each)] = name_of(each)
        if named:
            found[named], since[named] = name_of(each), created or ""
    return found


def is_extended_claim(claim: Object) -> bool:
    """True if the scheduler made a claim for extended resources of a pod."""
    return annotations_of(claim).get(EXTENDED_CLAIM) == "true"
