"""The attributes of a write for policies and webhooks, and the protocol for reading the cluster.

k8s.io/apiserver/pkg/admission/attributes.go and k8s.io/apiserver/pkg/admission/plugin/webhook/request,
release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Protocol

from simkit.meta.attributes import Attributes, Decision
from simkit.meta.domain import META_GROUP
from simkit.meta.identity import Identity
from simkit.meta.names import GroupResource, GroupVersionKind, GroupVersionResource
from simkit.meta.objects import Object
from simkit.meta.user_info import user_info
from simkit.schema.catalogue import Catalogue, Resource

NAMESPACES: Final = GroupResource("", "namespaces")
_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


@dataclass(frozen=True, slots=True)
class AdmissionAttributes:
    """One write that has not happened yet.

    ``object`` and ``old`` are as they are stored; ``ClusterReader.convert`` gives them in another version.
    """

    identity: Identity
    operation: str
    resource: GroupVersionResource
    kind: GroupVersionKind
    subresource: str = ""
    namespace: str = ""
    """The namespace; for a namespace itself, its own name."""
    name: str = ""
    object: Object | None = None
    old: Object | None = None
    options: Object = field(default_factory=dict)
    dry_run: bool = False

    @property
    def is_namespace(self) -> bool:
        """True if the write is to a namespace itself."""
        return self.resource.group_resource == NAMESPACES

    def asks(self) -> Attributes:
        """The attributes for the authorizer behind ``authorizer.requestResource``, still without a verb."""
        resource = self.resource
        return Attributes(
            self.identity,
            "",
            resource.group,
            resource.version,
            resource.resource,
            self.subresource,
            self.namespace,
            self.name,
        )

    def request(self, matched: Resource | None = None, *, uid: str = "") -> dict[str, Any]:
        """The fields of an AdmissionRequest except the objects; empty ones are left out, as in kube-apiserver.

        ``matched`` is the resource that somebody asked to see the write as; the one of the request unless given.
        """
        sent, meant = _resource(self.resource), _kind(self.kind)
        found: dict[str, Any] = {
            "uid": uid,
            "kind": meant if matched is None or self.kind.kind != matched.kind else _kind(matched.gvk),
            "resource": sent if matched is None else _resource(matched.gvr),
            "subResource": self.subresource,
            "requestKind": meant,
            "requestResource": sent,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
            "operation": self.operation,
            "userInfo": user_info(self.identity),
        }
        found = {name: value for name, value in found.items() if value or name == "uid"}
        return found | {"dryRun": self.dry_run, "options": self.shown_options()}

    def shown_options(self) -> dict[str, Any] | None:
        """The options of the request with their kind; None for a connection, whose options are its object."""
        kind = _OPTIONS.get(self.operation)
        return {"kind": kind, "apiVersion": f"{META_GROUP}/v1", **self.options} if kind else None


def _resource(gvr: GroupVersionResource) -> dict[str, str]:
    return {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}


def _kind(gvk: GroupVersionKind) -> dict[str, str]:
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


class ClusterReader(Protocol):
    """The parts of the cluster that policies and webhooks may read besides the write.

    Implementations must answer from what is stored now, without waiting.
    """

    @property
    def catalogue(self) -> Catalogue:
        """The resources that are served now."""
        ...

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        """A stored object."""
        ...

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        """The stored objects of a resource."""
        ...

    def convert(self, obj: Object, to: Resource) -> Object:
        """A stored object in the version of a resource."""
        ...

    def ask(self, question: Attributes) -> Decision:
        """The authorizer's decision."""
        ...


@lru_cache(maxsize=1024)
def equivalents(catalogue: Catalogue, resource: GroupVersionResource, subresource: str) -> Sequence[Resource]:
    """The other resources under which the same objects are served."""
    own = catalogue.find(*resource)
    if own is None:
        return ()
    others = (each for each in catalogue.resources() if each.storage == own.storage and each.gvr != resource)
    return tuple(each for each in others if not subresource or subresource in each.subresources)
