"""Objects that are stored, but cannot be read, and where objects stand in the store of kube-apiserver."""

from __future__ import annotations

from typing import Final

from simkit.meta.domain import API_DOMAIN, EXTENSIONS_GROUP
from simkit.meta.errors import StatusError
from simkit.meta.names import Key

_FOLDERS: Final = {
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "ingresses": "ingress",
    "apiservices": f"apiregistration.{API_DOMAIN}/apiservices",
    "customresourcedefinitions": f"{EXTENSIONS_GROUP}/customresourcedefinitions",
}


class UnreadableObject(StatusError):
    """500 for an object that is stored but cannot be read."""

    def __init__(self, key: Key, why: str) -> None:
        super().__init__(500, "", f"the object at /registry/{path_of(key)} cannot be decoded: {why}")


def path_of(key: Key) -> str:
    """The path of an object below the prefix of kube-apiserver's store, where only its key is known.

    Examples
    --------
    >>> from simkit.meta.names import GroupResource
    >>> path_of(Key(GroupResource("", "services"), "prod", "web"))
    'services/specs/prod/web'
    >>> path_of(Key(GroupResource("example.com", "widgets"), "", "w"))
    'example.com/widgets/w'
    """
    group, resource = key.resource.group, key.resource.resource
    custom = "." in group and not group.endswith(f".{API_DOMAIN}")
    folder = f"{group}/{resource}" if custom else _FOLDERS.get(resource, resource)
    return "/".join(filter(None, (folder, key.namespace, key.name)))
