"""Resource: names, verbs, subresources and storage of one resource of a group version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from simkit.meta.names import GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
"""The verbs of a fully served resource, in the order of discovery."""


@dataclass(frozen=True, slots=True)
class SubresourceInfo:
    """Discovery entry of a subresource. ``group_version`` is empty if it is the parent's own."""

    kind: str
    verbs: tuple[str, ...]
    namespaced: bool
    group_version: str = ""


_NO_SUBRESOURCES: Final[Mapping[str, SubresourceInfo]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of one group version. Resources with equal fields are equal; to change one, make another.

    ``storage_version`` is empty for resources that are never stored (access reviews, component statuses). Two
    resources with the same ``storage`` share their objects, as the two kinds of events do.
    """

    group: str
    version: str
    resource: str
    kind: str
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, SubresourceInfo] = field(default_factory=lambda: _NO_SUBRESOURCES, hash=False)
    storage_version: str = ""
    enabled_by_default: bool = True
    storage_group: str | None = None
    """The group of stored objects; None means the resource's own."""
    custom: bool = False
    """True if a CustomResourceDefinition defines it."""
    list_kind: str = ""
    """The kind of lists, if it is not the kind followed by ``List``."""
    selectable: tuple[str, ...] = ()
    """The fields that its definition allows in selectors."""

    group_resource: GroupResource = field(init=False, repr=False, compare=False)
    group_kind: GroupKind = field(init=False, repr=False, compare=False)
    group_version: GroupVersion = field(init=False, repr=False, compare=False)
    gvr: GroupVersionResource = field(init=False, repr=False, compare=False)
    gvk: GroupVersionKind = field(init=False, repr=False, compare=False)
    api_version: str = field(init=False, repr=False, compare=False)
    """The ``apiVersion`` of its objects."""
    storage: GroupResource = field(init=False, repr=False, compare=False)
    """The resource under whose name objects are stored."""

    def __post_init__(self) -> None:
        group, version, resource = self.group, self.version, self.resource
        derived = {
            "group_resource": GroupResource(group, resource),
            "group_kind": GroupKind(group, self.kind),
            "group_version": GroupVersion(group, version),
            "gvr": GroupVersionResource(group, version, resource),
            "gvk": GroupVersionKind(group, version, self.kind),
            "api_version": f"{group}/{version}" if group else version,
            "storage": GroupResource(group if self.storage_group is None else self.storage_group, resource),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def list_gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.list_kind or f"{self.kind}List")

    @property
    def stored(self) -> bool:
        """True if objects of it are stored."""
        return bool(self.storage_version)

    @property
    def storage_gvk(self) -> GroupVersionKind:
        """The stored kind."""
        return GroupVersionKind(self.storage.group, self.storage_version, self.kind)

    @property
    def listable(self) -> bool:
        return "list" in self.verbs

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    @property
    def path(self) -> str:
        """The path of the group version: ``/api/v1`` or ``/apis/<group>/<version>``."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str = "") -> str:
        """The path of its objects in a namespace (empty: everywhere), or of all where they live in none."""
        scope = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced and namespace else ""
        return f"{self.path}{scope}/{self.resource}"

    def path_to(self, name: str, namespace: str = "", subresource: str = "") -> str:
        """The path of an object, whose name may have any letters, or of its subresource; without a name, of all."""
        parts = (quote(name, ":@$&+=", errors="surrogatepass"), subresource) if name else ()
        return "/".join(filter(None, (self.collection(namespace), *parts)))

    def subresource_gvk(self, name: str) -> GroupVersionKind:
        """The kind of a subresource. Raises KeyError if there is no such subresource."""
        info = self.subresources[name]
        group, version = GroupVersion.parse(info.group_version) if info.group_version else self.group_version
        return GroupVersionKind(group, version, info.kind)

    def __str__(self) -> str:
        return str(self.group_resource)


def from_row(key: str, row: Mapping[str, Any]) -> Resource:
    """The resource in a row of the catalogue's table; its key has the form ``apps/v1 deployments``."""
    group_version, _, plural = key.partition(" ")
    group, version = GroupVersion.parse(group_version)
    namespaced = row.get("namespaced", False)
    subresources = {
        name: SubresourceInfo(kind, tuple(verbs), namespaced, other)
        for name, (kind, other, verbs) in row.get("subresources", {}).items()
    }
    storage_group, storage_version = row.get("stored", (None, ""))
    return Resource(
        group,
        version,
        plural,
        row["kind"],
        row["singular"],
        tuple(row.get("shortNames", ())),
        tuple(row.get("categories", ())),
        namespaced,
        tuple(row["verbs"]),
        subresources or _NO_SUBRESOURCES,
        storage_version,
        not row.get("off", False),
        None if storage_group == group else storage_group,
    )
