"""Discovery documents: groups, versions and resources, in the plain and the aggregated form.

Upstream: k8s.io/apiserver/pkg/endpoints/discovery/aggregated/handler.go and
k8s.io/apiserver/pkg/endpoints/discovery/legacy.go, release 1.30.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import null_creation
from simkit.schema.catalogue import Catalogue, Group
from simkit.schema.resources import Resource, SubresourceInfo
from simkit.schema.storageversion import hashed_as

Document = dict[str, Any]

AGGREGATED_GROUP: Final = api_group("apidiscovery")


def api_versions(catalogue: Catalogue) -> Document:
    """The versions of the core group: the document at ``/api``."""
    core = catalogue.group("")
    return {
        "kind": "APIVersions",
        "versions": list(core.versions) if core else [],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    }


def group_list(catalogue: Catalogue) -> Document:
    """All named groups: the document at ``/apis``."""
    groups = [described_group(each) for each in catalogue.groups() if each.name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalogue: Catalogue, name: str) -> Document:
    """One group: the document at ``/apis/<group>``. Raises KeyError if the group has no resource."""
    found = catalogue.group(name)
    if found is None:
        raise KeyError(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **described_group(found)}


def described_group(found: Group) -> Document:
    """A group as lists of groups have it."""
    versions = [{"groupVersion": f"{found.name}/{version}", "version": version} for version in found.versions]
    return {"name": found.name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(catalogue: Catalogue, name: str, version: str) -> Document:
    """The resources of one group version: the document at its path, subresources after their resource."""
    resources = catalogue.resources(name, version)
    entries = [entry for resource in resources for entry in _entries(catalogue.behaviour, resource, catalogue.release)]
    if not any(resource.custom for resource in resources):
        entries.sort(key=lambda entry: str(entry["name"]))
    if not name:  # The core group's documents are of a version before there were versions.
        return {"kind": "APIResourceList", "groupVersion": version, "resources": entries}
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{name}/{version}", "resources": entries}


def _entries(behaviour: ServedBehaviour, resource: Resource, release: str) -> Iterator[Document]:
    entry: Document = {
        "name": resource.resource,
        "singularName": _singular(behaviour, resource),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.stored:
        entry["storageVersionHash"] = storage_version_hash(hashed_as(release, resource))
    yield entry
    for name, info in resource.subresources.items():
        yield _subresource_entry(f"{resource.resource}/{name}", info)


def _singular(behaviour: ServedBehaviour, resource: Resource) -> str:
    """The singular name in discovery; without it, clients derive it from the kind."""
    return resource.singular if resource.custom or behaviour.applies("singular-names-in-discovery") else ""


def _subresource_entry(name: str, info: SubresourceInfo) -> Document:
    entry: Document = {"name": name, "singularName": "", "namespaced": info.namespaced}
    if info.group_version:
        group_name, _, version = info.group_version.rpartition("/")
        entry |= {"group": group_name, "version": version}
    return {**entry, "kind": info.kind, "verbs": list(info.verbs)}


@lru_cache(maxsize=4096)
def storage_version_hash(stored: GroupVersionKind) -> str:
    """The storage version hash of a resource, equal for all its versions.

    Examples
    --------
    >>> storage_version_hash(GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"))
    'qwQve8ut294='
    """
    digest = hashlib.sha256("/".join(stored).encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def aggregated(catalogue: Catalogue, version: str, *, core: bool) -> Document:
    """All groups with all their resources in one document of version ``v2`` or ``v2beta1``.

    ``core`` chooses between the two roots: the core group alone, or the named groups.
    """
    chosen = [each for each in catalogue.groups() if (not each.name) == core]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{AGGREGATED_GROUP}/{version}",
        "metadata": {},
        "items": [_aggregated_group(catalogue, each) for each in chosen],
    }


def _aggregated_group(catalogue: Catalogue, found: Group) -> Document:
    metadata = {"name": found.name} if found.name else {}
    versions = [
        {
            "version": version,
            "resources": _aggregated_resources(catalogue.behaviour, catalogue.resources(found.name, version)),
            "freshness": "Current",
        }
        for version in found.versions
    ]
    return {"metadata": {**metadata, **null_creation(catalogue.behaviour)}, "versions": versions}


def _aggregated_resources(behaviour: ServedBehaviour, resources: Sequence[Resource]) -> list[Document]:
    out = []
    for resource in resources:
        entry: Document = {
            "resource": resource.resource,
            "responseKind": {"group": "", "version": "", "kind": resource.kind},
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "singularResource": _singular(behaviour, resource),
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        if resource.subresources:
            entry["subresources"] = [_aggregated_subresource(*each) for each in resource.subresources.items()]
        out.append(entry)
    return out


def _aggregated_subresource(name: str, info: SubresourceInfo) -> Document:
    group_name, _, version = info.group_version.rpartition("/")
    kind = {"group": group_name, "version": version, "kind": info.kind}
    return {"subresource": name, "responseKind": kind, "verbs": list(info.verbs)}
