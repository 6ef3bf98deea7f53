"""The keys of kube-apiserver in etcd: the key of an object, and the object of a key.

References
----------
pkg/kubeapiserver/default_storage_factory_builder.go (SpecialDefaultResourcePrefixes), release 1.30;
k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go for custom resources.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.meta.domain import api_group
from simkit.meta.names import GroupResource, Key
from simkit.schema.catalogue import Catalogue

_NAMED: Final = {
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("", "services"): "services/specs",
    ("policy", "podsecuritypolicies"): "podsecuritypolicy",
    (
        api_group("apiextensions"),
        "customresourcedefinitions",
    ): f"{api_group('apiextensions')}/customresourcedefinitions",
    (api_group("apiregistration"), "apiservices"): f"{api_group('apiregistration')}/apiservices",
    (api_group("networking"), "ingresses"): "ingress",
}
"""Resources that do not stand under their own name alone."""


class Layout:
    """The keys of a server's resources under one prefix.

    Parameters
    ----------
    root
        What all keys begin with, such as ``/registry/``.
    built_in
        The resources of which a server knows that they are its own; all others are custom.

    Examples
    --------
    >>> layout = Layout("/registry/", [GroupResource("", "services"), GroupResource("", "pods")])
    >>> layout.path(Key(GroupResource("", "services"), "prod", "web"))
    b'/registry/services/specs/prod/web'
    >>> layout.key(b"/registry/pods/prod/web-0")
    Key(resource=GroupResource(group='', resource='pods'), namespace='prod', name='web-0')
    >>> layout.path(Key(GroupResource("example.com", "widgets"), "", "w"))
    b'/registry/example.com/widgets/w'
    >>> layout.key(b"/registry/ranges/serviceips") is None
    True
    """

    def __init__(self, root: str, built_in: Iterable[GroupResource]) -> None:
        self.root = root.encode()
        self._folders = {each: _NAMED.get(each, each.resource) for each in built_in}
        self._resources = {folder: each for each, folder in self._folders.items()}

    @classmethod
    def of(cls, root: str, catalogue: Catalogue) -> Layout:
        """The keys of all kinds of a release."""
        return cls(root, (each.storage for each in catalogue.stored()))

    def path(self, key: Key) -> bytes:
        """The key in etcd of an object."""
        folder = self._folders.get(key.resource) or f"{key.resource.group}/{key.resource.resource}"
        within = f"{key.namespace}/{key.name}" if key.namespace else key.name
        return self.root + f"{folder}/{within}".encode()

    def key(self, path: bytes) -> Key | None:
        """The object that a key in etcd holds, None for what is no object (address ranges, leases of servers)."""
        if not path.startswith(self.root):
            return None
        try:
            parts = path[len(self.root) :].decode().split("/")
        except UnicodeDecodeError:
            return None
        found = self._resource(parts)
        if found is None:
            return None
        resource, rest = found
        if len(rest) not in (1, 2) or not all(rest):
            return None
        return Key(resource, rest[0] if len(rest) == 2 else "", rest[-1])

    def _resource(self, parts: list[str]) -> tuple[GroupResource, list[str]] | None:
        for depth in (2, 1):
            resource = self._resources.get("/".join(parts[:depth]))
            if resource is not None and len(parts) > depth:
                return resource, parts[depth:]
        custom = len(parts) > 2 and "." in parts[0]
        return (GroupResource(parts[0], parts[1]), parts[2:]) if custom else None
