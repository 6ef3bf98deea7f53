"""The stored objects that a write is checked against, by which it may take long however small it is itself.

Admission reads all quotas and limit ranges of the namespace, all classes of a kind, or all pods of a namespace whose
level of pod security changes. Nobody else knows how many there are before the work begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource
from simkit.seams import Reader

_OF_NAMESPACES: Final = (GroupResource("", "resourcequotas"), GroupResource("", "limitranges"))
"""Resources of which every object of a namespace is asked about its writes; each charged quota is a write by itself."""
_OF_ALL: Final[Mapping[str, tuple[GroupResource, ...]]] = {
    "pods": (
        GroupResource(api_group("scheduling"), "priorityclasses"),
        GroupResource("policy", "podsecuritypolicies"),
    ),
    "persistentvolumeclaims": (GroupResource(api_group("storage"), "storageclasses"),),
    "ingresses": (GroupResource(api_group("networking"), "ingressclasses"),),
}
"""Resources of which every object is asked about the creation of others."""
_PODS, _BUDGETS = GroupResource("", "pods"), GroupResource("policy", "poddisruptionbudgets")
_FEW: Final = 4
_FEW_BYTES: Final = 16 * 1024
_MANY: Final = 100
"""Objects that are only looked at."""


class Consulted(NamedTuple):
    """The objects of a resource that a kind of write is checked against."""

    resource: GroupResource
    namespace: str | None
    """None for those of all namespaces, and for resources without."""
    few: int
    """So many take no longer than milliseconds."""


def consulted_by(info: RequestInfo) -> tuple[Consulted, ...]:
    """The objects that the writes of a path are checked against."""
    found = [Consulted(each, None, _MANY) for each in _OF_ALL.get(info.resource, ())]
    if info.namespace and not info.subresource:
        found += [Consulted(each, info.namespace, _FEW) for each in _OF_NAMESPACES]
    if info.resource == "namespaces" and info.name:
        found.append(Consulted(_PODS, info.name, _MANY))
    if info.subresource == "eviction":
        found.append(Consulted(_BUDGETS, info.namespace, _MANY))
    return tuple(found)


def are_many(store: Reader, consulted: Sequence[Consulted]) -> bool:
    """True if there are so many of these, or so large ones, that a look at them takes more than milliseconds."""
    for resource, namespace, few in consulted:
        if store.count(resource):
            found = store.scan(resource, namespace, limit=few + 1)
            if len(found) > few or sum(entry.size for entry in found) > few * _FEW_BYTES:
                return True
    return False
