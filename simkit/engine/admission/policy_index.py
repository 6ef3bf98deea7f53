"""An index of compiled policies with their bindings, kept up to date by the change log.

Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from simkit.engine.admission.candidate_cache import CandidateCache
from simkit.engine.admission.changed_keys import ChangedKeys
from simkit.engine.seams import ListWatcher
from simkit.logic.policy.attributes import ClusterReader
from simkit.meta.domain import ADMISSION_GROUP, AUTHENTICATION_GROUP, AUTHORIZATION_GROUP
from simkit.meta.names import GroupResource, GroupVersionResource
from simkit.meta.objects import Object

if TYPE_CHECKING:
    from simkit.logic.policy.binding import Binding, BoundPolicy
    from simkit.logic.policy.definition import PolicyDefinition
    from simkit.logic.policy.mutation import MutatingPolicy
    from simkit.logic.policy.policy import Policy

POLICIES: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicies")
BINDINGS: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicybindings")
MUTATING_POLICIES: Final = GroupResource(ADMISSION_GROUP, "mutatingadmissionpolicies")
MUTATING_BINDINGS: Final = GroupResource(ADMISSION_GROUP, "mutatingadmissionpolicybindings")
_LOCAL_REVIEWS: Final = GroupResource(AUTHORIZATION_GROUP, "localsubjectaccessreviews")
_ACCESS_REVIEWS: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews")
EXEMPT: Final = frozenset(
    {
        POLICIES,
        BINDINGS,
        MUTATING_POLICIES,
        MUTATING_BINDINGS,
        _LOCAL_REVIEWS,
        *(GroupResource(AUTHENTICATION_GROUP, name) for name in ("selfsubjectreviews", "tokenreviews")),
        *(GroupResource(AUTHORIZATION_GROUP, name) for name in _ACCESS_REVIEWS),
    }
)
"""The resources that policies never see: policies, and reviews of access and identity, so that a wrong policy can be
corrected."""
_Kind = tuple[str, GroupVersionResource, str]
Compiled = TypeVar("Compiled", bound="PolicyDefinition")


class _View(Generic[Compiled]):
    """The policies and the bindings at one revision. It never changes.

    Parameters
    ----------
    policies, bindings
        By name.
    changes
        How many changes of the store it has taken in.
    """

    def __init__(self, policies: Mapping[str, Compiled], bindings: Mapping[str, Binding], changes: int) -> None:
        self.policies, self.bindings, self.changes = policies, bindings, changes
        self.any = bool(policies and bindings)
        self._candidates: CandidateCache[BoundPolicy[Compiled]] = CandidateCache()

    @cached_property
    def bound_policies(self) -> Sequence[BoundPolicy[Compiled]]:
        """The policies with bindings, by name: put together when a write is looked at that they could match."""
        if not self.any:
            return ()
        from simkit.logic.policy.binding import bind_policies

        return bind_policies(self.policies.values(), self.bindings.values())

    def candidates(self, reader: ClusterReader, kind: _Kind) -> Sequence[BoundPolicy[Compiled]]:
        def find() -> Sequence[BoundPolicy[Compiled]]:
            return [each for each in self.bound_policies if each.policy.constraints.may_match(reader, *kind)]

        return self._candidates.of(reader.catalogue, kind, find)


class PolicySource(Generic[Compiled]):
    """The resources of one sort of policies, and how one is compiled."""

    def __init__(
        self, policies: GroupResource, bindings: GroupResource, read: Callable[[], Callable[[Object], Compiled]]
    ) -> None:
        self.policies, self.bindings, self.read = policies, bindings, read


def _validating() -> Callable[[Object], Policy]:
    from simkit.logic.policy.policy import Policy

    return Policy


def _mutating() -> Callable[[Object], MutatingPolicy]:
    from simkit.logic.policy.mutation import MutatingPolicy

    return MutatingPolicy


VALIDATING: Final = PolicySource(POLICIES, BINDINGS, _validating)
MUTATING: Final = PolicySource(MUTATING_POLICIES, MUTATING_BINDINGS, _mutating)


class PolicyIndex(Generic[Compiled]):
    """Policies with their bindings, by the kinds of requests that they could match.

    Parameters
    ----------
    source
        The sort of policies.
    store
        The index hears of every change to it.
    known
        The policies as of now, where they are known.

    Notes
    -----
    A change has the changed policy compiled, or the changed binding read, and costs a copy of references to the others.
    """

    def __init__(
        self, source: PolicySource[Compiled], store: ListWatcher, known: _View[Compiled] | None = None
    ) -> None:
        self._source, self._store, self._lock = source, store, Lock()
        self._view: _View[Compiled] = _View({}, {}, 0)
        self._changed = ChangedKeys(store, (source.policies, source.bindings))
        if known is not None:
            self._view = _View(known.policies, known.bindings, 0)
        else:
            self._changed.add_stored()

    def fork(self, store: ListWatcher) -> PolicyIndex[Compiled]:
        """The same index over a fork of the store: nothing is compiled again."""
        view = self._now()
        return PolicyIndex(self._source, store, view if self._store.revision == store.revision else None)

    def any(self) -> bool:
        """True if there are policies and bindings."""
        return self._now().any

    def bound_policies(self) -> Sequence[BoundPolicy[Compiled]]:
        """All policies that have bindings, by name."""
        return self._now().bound_policies

    def _now(self) -> _View[Compiled]:
        if self._view.changes != self._changed.count:
            with self._lock:
                self._take_in()
        return self._view

    def _take_in(self) -> None:
        keys, changes = self._changed.take()
        policies, bindings = dict(self._view.policies), dict(self._view.bindings)
        for key in keys:
            entry = self._store.get(key)
            known = policies if key.resource == self._source.policies else bindings
            if entry is None:
                known.pop(key.name, None)
            elif key.resource == self._source.policies:
                policies[key.name] = self._compiled(policies.get(key.name), entry.object)
            else:
                bindings[key.name] = self._binding(entry.object)
        self._view = _View(policies, bindings, changes)

    def _compiled(self, before: Compiled | None, obj: Object) -> Compiled:
        """A policy, compiled again where it no longer says the same."""
        if before is not None and obj.get("spec") == before.object.get("spec"):
            return before
        return self._source.read()(obj)

    def _binding(self, obj: Object) -> Binding:
        from simkit.logic.policy.binding import Binding

        return Binding(obj)

    def concerned(
        self, reader: ClusterReader, operation: str, resource: GroupVersionResource, subresource: str
    ) -> Sequence[BoundPolicy[Compiled]]:
        """The policies that could match such a write for some object and name."""
        view = self._now()
        return view.candidates(reader, (operation, resource, subresource)) if view.any else ()
