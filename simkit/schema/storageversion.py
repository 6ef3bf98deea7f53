"""Storage version of a kind at each release, found by the hash in discovery documents.

Upstream: pkg/kubeapiserver/default_storage_factory_builder.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from simkit.meta.domain import api_group
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
    if resource.custom or (name == BASE and not exact):
        return kept
    return kept._replace(version=exact or _version(name, kept.group, kept.kind) or kept.version)


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
