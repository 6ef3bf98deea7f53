"""What an index of policies or webhooks follows, and what each of them matches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from simkit.engine.admission.plugin_attributes import NAMESPACES
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.names import GroupResource, GroupVersionResource, Key
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams import Authorizer, Change, ListWatcher, Reader, Review

# The objects that an index still has to read, by the change log of a store


class ChangedKeys:
    """The keys of objects of some resources that have changed since they were last taken.

    Parameters
    ----------
    store
        It tells of every change, in the thread that makes it.
    resources
        Those that are followed.
    """

    def __init__(self, store: ListWatcher, resources: Iterable[GroupResource]) -> None:
        self.count = 0
        """The changes that were told; a view that has taken in so many is up to date."""
        self._store, self._resources = store, tuple(resources)
        self._waiting = deque[Key]()
        store.listen(self._follow, self._resources)

    def add_stored(self) -> None:
        """Count all objects that are stored now as changed."""
        keys = [entry.key for resource in self._resources for entry in self._store.scan(resource)]
        self._waiting.extend(keys)
        self.count += len(keys)

    def take(self) -> tuple[set[Key], int]:
        """The keys, which count as read from now on, and a number of changes that they cover at least."""
        count, found = self.count, set[Key]()
        while self._waiting:
            found.add(self._waiting.popleft())
        return found, count

    def _follow(self, changes: Sequence[Change]) -> None:
        self._waiting.extend(change.entry.key for change in changes)
        self.count += len(changes)


# The policies or webhooks that could match a kind of write, looked up once.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go, release 1.30.

Found = TypeVar("Found")


class CandidateCache(Generic[Found]):
    """The policies or webhooks by kind of write, for each catalogue: forks that serve the same resources share them."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Catalogue, dict[Hashable, Sequence[Found]]] = WeakKeyDictionary()

    def of(self, catalogue: Catalogue, kind: Hashable, find: Callable[[], Sequence[Found]]) -> Sequence[Found]:
        """The candidates of a kind of write; ``find`` is called the first time."""
        known = self._known.setdefault(catalogue, {})
        found = known.get(kind)
        if found is None:
            known[kind] = found = find()
        return found


# The attributes of a review in the form that policies and webhooks match.
# Upstream: k8s.io/apiserver/pkg/admission/attributes.go, release 1.30.

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
