"""Storage version of a kind at each release, found by the hash in discovery documents.

Upstream: pkg/kubeapiserver/default_storage_factory_builder.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from simkit.meta.domain import EXTENSIONS_GROUP, api_group
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema import lifecycle
from simkit.schema.releases import BASE, minor_of, release_name
from simkit.schema.resources import Resource

_EXACT: Final = {
    ("1.20", "batch", "CronJob"): "v1beta1",
    ("1.20", api_group("networking"), "Ingress"): "v1beta1",
    ("1.20", api_group("networking"), "IngressClass"): "v1beta1",
    ("1.20", api_group("storage"), "CSIDriver"): "v1beta1",
    ("1.20", api_group("node"), "RuntimeClass"): "v1",
    (BASE, api_group("admissionregistration"), "ValidatingAdmissionPolicy"): "v1beta1",
    (BASE, api_group("admissionregistration"), "ValidatingAdmissionPolicyBinding"): "v1beta1",
}
"""The storage versions in a release's source, if the general rule would give another one or nearly does."""
_HELD: Final = {
    ("autoscaling", "HorizontalPodAutoscaler"): ("v1", "1.26"),
    ("policy", "PodDisruptionBudget"): ("v1beta1", "1.26"),
    (api_group("discovery"), "EndpointSlice"): ("v1beta1", "1.30"),
    (api_group("flowcontrol.apiserver"), "FlowSchema"): ("v1beta1", "1.25"),
    (api_group("flowcontrol.apiserver"), "PriorityLevelConfiguration"): ("v1beta1", "1.25"),
}
"""Versions that were stored longer than the general rule says, and the last release that did."""
_DEFINITIONS: Final = (EXTENSIONS_GROUP, "CustomResourceDefinition")


def stored_as(release: str, resource: Resource) -> GroupVersionKind:
    """The kind in the version that a server of the release stores.

    Notes
    -----
    simkit itself keeps objects in one version whatever the release. A release prefers the first version of the group
    that the release before had too, so that one can go back to that: a version that is new is not stored yet.

    Examples
    --------
    >>> from simkit.schema.catalogue import Catalogue
    >>> [stored_as(r, Catalogue.for_release(r).lookup("cronjobs.batch")).version for r in ("1.19", "1.21", "1.22")]
    ['v1beta1', 'v1beta1', 'v1']
    """
    kept = resource.storage_gvk
    name = release_name(release)
    exact = _EXACT.get((name, kept.group, kept.kind), "")
    held = _held(name, kept)
    if not exact and held and _is_served(name, kept._replace(version=held)):
        exact = held
    if resource.custom or (name == BASE and not exact):
        return kept
    return kept._replace(version=exact or _version(name, kept.group, kept.kind) or kept.version)


def hashed_as(release: str, resource: Resource) -> GroupVersionKind:
    """The kind in the version whose hash discovery shows: the stored one, even where the release does not serve it.

    Definitions of custom resources are stored as v1beta1 to this day. simkit writes the served version to etcd, which
    kube-apiserver reads as well.
    """
    kept, name = resource.storage_gvk, release_name(release)
    if (kept.group, kept.kind) == _DEFINITIONS and not resource.custom:
        return kept._replace(version="v1beta1")
    held = "" if resource.custom else _held(name, kept)
    return kept._replace(version=held) if held else stored_as(name, resource)


def _held(release: str, kind: GroupVersionKind) -> str:
    version, last = _HELD.get((kind.group, kind.kind), ("", ""))
    if not version or minor_of(release) > minor_of(last):
        return ""
    life = lifecycle.lifecycle_of(str(GroupVersion(kind.group, version)), kind.kind)
    known = life is not None and (not life.introduced or minor_of(life.introduced) < minor_of(release))
    return version if known else ""


def _is_served(release: str, kind: GroupVersionKind) -> bool:
    life = lifecycle.lifecycle_of(kind.api_version, kind.kind)
    return life is not None and life.served(release)


@cache
def _versions(release: str) -> Mapping[str, Sequence[str]]:
    """The versions of each group in the server's order."""
    return dict(lifecycle.order(release))


@lru_cache(maxsize=4096)
def _version(release: str, group: str, kind: str) -> str:
    there = [
        (version, life.introduced)
        for version in _versions(release).get(group, ())
        if (life := lifecycle.lifecycle_of(str(GroupVersion(group, version)), kind)) and life.served(release)
    ]
    settled = [version for version, since in there if not since or minor_of(since) < minor_of(release)]
    return next(iter(settled or [version for version, _ in there]), "")
