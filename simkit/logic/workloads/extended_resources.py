"""Extended resources that devices back: the classes by the names of resources, and the requests of containers.

Upstream: k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache and
pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.meta.domain import label
from simkit.meta.objects import Object, annotations_of, at, metadata, name_of
from simkit.meta.quantity import QuantityError, parse

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


class ExtendedRequests(NamedTuple):
    """The requests for devices that stand for extended resources, and the request from which each container gets them.

    Attributes
    ----------
    requests
        As in the specification of a claim, by name.
    mappings
        ``requestMappings`` of the pod's status.
    """

    requests: Sequence[Mapping[str, Any]]
    mappings: Sequence[Mapping[str, str]]


def extended_requests(pod: Object, backed: Mapping[str, str]) -> ExtendedRequests:
    """The requests of a pod for resources that classes back.

    Init containers use devices of containers that start later, and share what they need beyond that.

    Parameters
    ----------
    backed
        The name of the class for each resource.
    """
    requests: list[Mapping[str, Any]] = []
    mappings: list[Mapping[str, str]] = []
    for resource in sorted(backed):
        found = _Resource(pod, resource, backed[resource])
        requests += found.requests()
        mappings += found.mappings
    return ExtendedRequests(sorted(requests, key=lambda each: str(each["name"])), mappings)


class _Resource:
    """The requests for one resource."""

    def __init__(self, pod: Object, resource: str, device_class: str) -> None:
        first = at(pod, "spec", "initContainers") or ()
        self._containers = [*first, *(at(pod, "spec", "containers") or ())]
        self._short = [index for index, each in enumerate(first) if each.get("restartPolicy") != "Always"]
        self._resource, self._class = resource, device_class
        self.mappings: list[dict[str, str]] = []

    def requests(self) -> list[Mapping[str, Any]]:
        """The requests; ``mappings`` are known afterwards."""
        lasting: dict[int, dict[str, Any]] = {}
        for index in range(len(self._containers)):
            if index not in self._short and self._asked(index):
                lasting[index] = self._request(index, self._asked(index))
                self._map(index, lasting[index])
        passing = [found for index in self._short if (found := self._passing(index, lasting)) is not None]
        if not passing:
            return list(lasting.values())
        most = max(passing, key=lambda each: int(each["exactly"]["count"]))
        names = {each["name"] for each in passing}
        for mapping in self.mappings:
            if mapping["requestName"] in names:
                mapping["requestName"] = most["name"]
        return [most, *lasting.values()]

    def _passing(self, index: int, lasting: Mapping[int, dict[str, Any]]) -> dict[str, Any] | None:
        """The request of an init container for what the containers after it do not have; None if that is enough."""
        asked, found = self._asked(index), 0
        if not asked:
            return None
        for later, request in lasting.items():
            if later > index and found < asked:
                found += int(request["exactly"]["count"])
                self._map(index, request)
        if found >= asked:
            return None
        own = self._request(index, asked - found)
        self._map(index, own)
        return own

    def _asked(self, index: int) -> int:
        text = (at(self._containers[index], "resources", "requests") or {}).get(self._resource)
        try:
            return parse(str(text)).whole if text is not None else 0
        except QuantityError:
            return 0

    def _request(self, index: int, count: int) -> dict[str, Any]:
        place = sorted(at(self._containers[index], "resources", "requests") or {}).index(self._resource)
        exactly = {"deviceClassName": self._class, "allocationMode": "ExactCount", "count": count}
        return {"name": f"container-{index}-request-{place}", "exactly": exactly}

    def _map(self, index: int, request: Mapping[str, Any]) -> None:
        name = str(self._containers[index].get("name") or "")
        self.mappings.append({"containerName": name, "resourceName": self._resource, "requestName": request["name"]})
