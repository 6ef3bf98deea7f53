"""What an index of policies or webhooks follows, and what each of them matches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Generic, Self, TypeVar
from weakref import WeakKeyDictionary

from simkit.client.resources import NAMESPACES
from simkit.engine.storage.derived import DerivedValue
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.names import GroupResource, GroupVersionResource, Key
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams import Authorizer, ListWatcher, Reader, Review

# A view of compiled objects, such as policies, for as long as none of them changes

Found = TypeVar("Found")
View = TypeVar("View", bound="CandidateView[Any]")
_SAID: Final = ("spec", "webhooks")
"""The fields of policies, bindings and webhook configurations that are compiled."""


class CandidateView(Generic[Found]):
    """Policies or webhooks, looked up once by kind of write, for each catalogue: forks that serve the same resources
    share them.

    Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go, release 1.30.
    """

    any = False
    """Whether there are any."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Catalogue, dict[Hashable, Sequence[Found]]] = WeakKeyDictionary()

    def looked_up(self, catalogue: Catalogue, kind: Hashable, find: Callable[[], Sequence[Found]]) -> Sequence[Found]:
        """The candidates of a kind of write; ``find`` is called the first time."""
        known = self._known.setdefault(catalogue, {})
        found = known.get(kind)
        if found is None:
            known[kind] = found = find()
        return found


class CompiledObjects(Generic[View]):
    """A view of what the objects of some resources are compiled to.

    After a change the view is made anew, and only what was changed is compiled again.

    Parameters
    ----------
    store
        Where the objects are.
    behaviour
        That of the server.
    resources
        Theirs.
    view
        Makes the view of all that was compiled, by key.
    """

    def __init__(
        self,
        store: ListWatcher,
        behaviour: ServedBehaviour,
        resources: Sequence[GroupResource],
        view: Callable[[Mapping[Key, Any]], View],
    ) -> None:
        self._store, self._behaviour, self._resources, self._view = store, behaviour, resources, view
        self._known: Mapping[Key, tuple[Object, Any]] = {}
        self._value = DerivedValue(store, resources, self._make)

    def _compiled(self, resource: GroupResource, obj: Object) -> Any:
        """What one object is compiled to."""
        raise NotImplementedError

    def fork(self, store: ListWatcher, behaviour: ServedBehaviour) -> Self:
        """The same over a fork of the store: nothing is compiled again, unless the fork behaves otherwise."""
        forked = copy(self)
        forked._store, forked._behaviour, known = store, behaviour, None
        if behaviour is self._behaviour:
            known = self._value.at(store.revision)
            forked._known = self._known
        else:
            forked._known = {}
        forked._value = DerivedValue(store, self._resources, forked._make, known)
        return forked

    def any(self) -> bool:
        """True if there are any policies or webhooks."""
        return self.now().any

    def now(self) -> View:
        """The view of the objects as they are stored now."""
        return self._value.now()

    def _make(self) -> View:
        found: dict[Key, tuple[Object, Any]] = {}
        for entry in (entry for resource in self._resources for entry in self._store.scan(resource)):
            known, obj = self._known.get(entry.key), entry.object
            if known is None or any(known[0].get(field) != obj.get(field) for field in _SAID):
                known = obj, self._compiled(entry.key.resource, obj)
            found[entry.key] = known
        self._known = found
        return self._view({key: made for key, (_, made) in found.items()})


# The attributes of a review in the form that policies and webhooks match.
# Upstream: k8s.io/apiserver/pkg/admission/attributes.go, release 1.30.


@dataclass(frozen=True, slots=True)
class LiveClusterReader:
    """The stored objects, the catalogue and the authorizer, as the ``ClusterReader`` of policies and webhooks."""

    store: Reader
    authorizer: Authorizer
    served: Callable[[], Catalogue]
    converter: Callable[[Object, Resource], Object]
    """From a stored object to the version of a resource."""

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
