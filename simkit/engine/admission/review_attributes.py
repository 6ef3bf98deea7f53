"""The attributes of a review in the form that policies and webhooks match.

Upstream: k8s.io/apiserver/pkg/admission/attributes.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simkit.engine.admission.plugin_attributes import NAMESPACES
from simkit.engine.seams import Authorizer, Reader, Review
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.names import GroupResource, GroupVersionResource, Key
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue, Resource

Convert = Callable[[Object, Resource], Object]
"""From a stored object to the version of a resource."""


@dataclass(frozen=True, slots=True)
class LiveClusterReader:
    """The stored objects, the catalogue and the authorizer, as the ``ClusterReader`` of policies and webhooks."""

    store: Reader
    authorizer: Authorizer
    served: Callable[[], Catalogue]
    converter: Convert

    @property
    def catalogue(self) -> Catalogue:
        """The resources that are served now."""
        return self.served()

    def get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        """A stored object."""
        entry = self.store.get(Key(resource, namespace, name))
        return entry.object if entry is not None else None

    def scan(self, resource: GroupResource, namespace: str | None = None) -> Iterable[Object]:
        """The stored objects of a resource."""
        return [entry.object for entry in self.store.scan(resource, namespace)]

    def convert(self, obj: Object, to: Resource) -> Object:
        """A stored object in the version of a resource; an object of another kind stays as it is."""
        if obj.get("kind", to.kind) != to.kind or obj.get("apiVersion") == to.api_version:
            return obj
        return self.converter(obj, to)

    def ask(self, question: Attributes) -> Decision:
        """The authorizer's answer."""
        return self.authorizer.authorize(question)


def requested(review: Review, catalogue: Catalogue) -> GroupVersionResource:
    """The resource of the request's path; of a subresource with a kind of its own, the one it belongs to."""
    asked = GroupVersionResource(review.kind.group, review.version, review.resource.resource)
    if catalogue.find(*asked) is not None:
        return asked
    return GroupVersionResource(review.resource.group, review.version, review.resource.resource)


def attributes_of(review: Review, catalogue: Catalogue) -> AdmissionAttributes:
    """The write that a review is about; of a namespace, its own name counts as its namespace."""
    own = review.resource == NAMESPACES and not review.namespace
    return AdmissionAttributes(
        review.identity,
        review.operation,
        requested(review, catalogue),
        review.kind,
        review.subresource,
        review.name if own else review.namespace,
        review.name,
        review.object,
        review.old,
        review.options,
        review.dry_run,
    )
