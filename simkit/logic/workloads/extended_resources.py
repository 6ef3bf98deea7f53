"""Extended resources that devices back: the classes by the names of resources.

Upstream: k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.meta.domain import label
from simkit.meta.objects import Object, annotations_of, at, metadata, name_of

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
