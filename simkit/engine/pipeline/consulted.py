"""The stored objects that a write is checked against, by which it may take long however small it is itself.

Admission reads all quotas and limit ranges of the namespace, all classes of a kind, or all pods of a namespace whose
level of pod security changes. Nobody else knows how many there are before the work begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simkit.engine.pipeline.request_info import RequestInfo
from simkit.engine.seams import Reader
from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource

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


def consults_many(store: Reader, info: RequestInfo) -> bool:
    """True if a write is checked against so many objects, or so large ones, that it takes more than milliseconds."""
    if (
        info.namespace
        and not info.subresource
        and any(_is_much(store, each, info.namespace, _FEW) for each in _OF_NAMESPACES)
    ):
        return True
    return any(_is_much(store, each, namespace, _MANY) for each, namespace in _looked_at(info))


def _looked_at(info: RequestInfo) -> Iterator[tuple[GroupResource, str | None]]:
    for each in _OF_ALL.get(info.resource, ()):
        yield each, None
    if info.resource == "namespaces" and info.name:
        yield _PODS, info.name
    if info.subresource == "eviction":
        yield _BUDGETS, info.namespace


def _is_much(store: Reader, resource: GroupResource, namespace: str | None, few: int) -> bool:
    if not store.count(resource):
        return False
    found = store.scan(resource, namespace, limit=few + 1)
    return len(found) > few or sum(entry.size for entry in found) > few * _FEW_BYTES
