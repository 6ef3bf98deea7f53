"""An index of compiled policies with their bindings, kept up to date by the change log.

Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from simkit.engine.admission.candidate_cache import CandidateCache
from simkit.engine.seams import ListWatcher
from simkit.engine.storage.derived import DerivedValue
from simkit.logic.policy.attributes import ClusterReader
from simkit.meta.domain import ADMISSION_GROUP, AUTHENTICATION_GROUP, AUTHORIZATION_GROUP
from simkit.meta.names import GroupResource, GroupVersionResource
from simkit.meta.objects import Object, name_of

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
    """The policies at one revision, by the kinds of writes that they could match."""

    def __init__(self, bound_policies: Sequence[BoundPolicy[Compiled]]) -> None:
        self.bound_policies = bound_policies
        self._candidates: CandidateCache[BoundPolicy[Compiled]] = CandidateCache()

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
        Compiled policies by name, taken over where they still say the same.
    view
        The policies as of now, where they are known.
    """

    def __init__(
        self,
        source: PolicySource[Compiled],
        store: ListWatcher,
        known: Mapping[str, Compiled] | None = None,
        view: _View[Compiled] | None = None,
    ) -> None:
        self._source, self._store = source, store
        self._known: Mapping[str, Compiled] = dict(known or {})
        self._bound: Mapping[str, Binding] = {}
        self._view = DerivedValue(store, (source.policies, source.bindings), lambda: _View(self._read()), view)

    def fork(self, store: ListWatcher) -> PolicyIndex[Compiled]:
        """The same index over a fork of the store: nothing is compiled again."""
        view = self._view.at(store.revision)
        return PolicyIndex(self._source, store, self._known, view)

    def bound_policies(self) -> Sequence[BoundPolicy[Compiled]]:
        """All policies that have bindings, by name."""
        return self._view.now().bound_policies

    def _read(self) -> Sequence[BoundPolicy[Compiled]]:
        entries = list(self._store.scan(self._source.policies))
        if not entries:  # the language of expressions is only loaded where there are any
            self._known = {}
            return ()
        from simkit.logic.policy.binding import Binding, bind_policies

        compiled = self._source.read()
        known: dict[str, Compiled] = {}
        for entry in entries:
            name, found = name_of(entry.object), self._known.get(name_of(entry.object))
            spec, before = entry.object.get("spec"), None if found is None else found.object.get("spec")
            same = found is not None and (spec is before or spec == before)
            known[name] = found if found is not None and same else compiled(entry.object)
        self._known = known
        bound: dict[str, Binding] = {}
        for entry in self._store.scan(self._source.bindings):
            binding = self._bound.get(entry.key.name)
            bound[entry.key.name] = (
                binding if binding is not None and binding.object is entry.object else Binding(entry.object)
            )
        self._bound = bound
        return bind_policies(known.values(), bound.values())

    def concerned(
        self, reader: ClusterReader, operation: str, resource: GroupVersionResource, subresource: str
    ) -> Sequence[BoundPolicy[Compiled]]:
        """The policies that could match such a write for some object and name."""
        view = self._view.now()
        return view.candidates(reader, (operation, resource, subresource)) if view.bound_policies else ()
