"""Groups, versions, resources, kinds, and the key of an object."""

from __future__ import annotations

from typing import NamedTuple, NewType

Revision = NewType("Revision", int)
"""A point in the history of a store. Revisions only grow; 0 is before every write."""


class GroupResource(NamedTuple):
    """A resource without its version; the core group is the empty string."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(NamedTuple):
    """A kind without its version."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupVersion(NamedTuple):
    """A group and a version, as in ``apiVersion``."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, text: str) -> GroupVersion:
        """The group and version in ``apiVersion``; a text without a slash is a version of the core group."""
        group, _, version = text.rpartition("/")
        return cls(group, version)


class GroupVersionKind(NamedTuple):
    """A kind with its group and version."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    """A resource with its group and version."""

    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)


class Key(NamedTuple):
    """The key of a stored object. Cluster-scoped objects have the empty namespace.

    Lists answer in the order of the text ``namespace/name``, which puts namespace ``a-b`` before ``a``.
    """

    resource: GroupResource
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource} {where}{self.name}"
