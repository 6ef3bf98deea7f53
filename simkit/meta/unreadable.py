"""Objects that are stored, but cannot be read: what is wrong with them, and the errors that tell of it.

Upstream: k8s.io/apiserver/pkg/storage/etcd3/corrupt_obj_deleter.go and pkg/storage/errors.go, release 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import API_DOMAIN
from simkit.meta.errors import StatusError
from simkit.meta.names import Key, Revision

_FIRST_TOLD: Final = "StorageError: corrupt object, Code: 7, Key: "
_FOLDERS: Final = {
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "ingresses": "ingress",
}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored object that cannot be read.

    Attributes
    ----------
    key
        What it is.
    path
        Where it stands in the store of kube-apiserver, below the prefix.
    revision
        The revision of the value.
    why
        What is wrong with it.
    encrypted
        True if it could not be decrypted; nothing is known of its contents then.
    """

    key: Key
    path: str
    revision: Revision
    why: str
    encrypted: bool = False

    def told(self, prefix: str = "") -> str:
        """The words of kube-apiserver's storage, with the whole key below a prefix."""
        kind = "data from the storage is not transformable" if self.encrypted else "object not decodable"
        revision = 0 if self.encrypted else self.revision
        cause = f"AdditionalErrorMsg: {kind} revision={revision}: {self.why}"
        return f"{_FIRST_TOLD}{prefix}/{self.path}, ResourceVersion: 0, {cause}"


class UnreadableObject(StatusError):
    """500 for an object that is stored but cannot be read; ``unreadable`` is that object."""

    def __init__(self, unreadable: Unreadable) -> None:
        super().__init__(500, "", f"the object at /registry/{unreadable.path} cannot be decoded: {unreadable.why}")
        self.unreadable = unreadable

    def worded(self, behaviour: ServedBehaviour) -> StatusError:
        """The error in the words of a release: stores do not know which one they serve."""
        if not behaviour.applies("unreadable-objects-deleted"):
            return self
        text = self.unreadable.told()
        details = {"causes": [{"message": text}]}
        return StatusError(500, "InternalError", f"Internal error occurred: {text}", details=details)


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
