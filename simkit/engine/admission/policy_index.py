"""An index of compiled policies with their bindings, kept up to date by the change log.

Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from simkit.engine.admission.candidates import Candidates
from simkit.engine.seams import ListWatcher
from simkit.engine.storage.derived import Derived
from simkit.logic.policy.attributes import ClusterReader
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.names import GroupResource, GroupVersionResource
from simkit.meta.objects import name_of

if TYPE_CHECKING:
    from simkit.logic.policy.decide import BoundPolicy
    from simkit.logic.policy.policy import Policy

POLICIES: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicies")
BINDINGS: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicybindings")
_Kind = tuple[str, GroupVersionResource, str]


class _View:
    """The policies at one revision, by the kinds of writes that they could match."""

    def __init__(self, bound_policies: Sequence[BoundPolicy]) -> None:
        self.bound_policies = bound_policies
        self._candidates: Candidates[BoundPolicy] = Candidates()

    def candidates(self, reader: ClusterReader, kind: _Kind) -> Sequence[BoundPolicy]:
        def find() -> Sequence[BoundPolicy]:
            return [each for each in self.bound_policies if each.policy.constraints.may_match(reader, *kind)]

        return self._candidates.of(reader.catalogue, kind, find)


class PolicyIndex:
    """Policies with their bindings, by the kinds of requests that they could match.

    Parameters
    ----------
    store
        The index hears of every change to it.
    known
        Compiled policies by name, taken over where they still say the same.
    view
        The policies as of now, where they are known.
    """

    def __init__(
        self, store: ListWatcher, known: Mapping[str, Policy] | None = None, view: _View | None = None
    ) -> None:
        self._store = store
        self._known: Mapping[str, Policy] = dict(known or {})
        self._view = Derived(store, (POLICIES, BINDINGS), lambda: _View(self._read()), view)

    def fork(self, store: ListWatcher) -> PolicyIndex:
        """The same index over a fork of the store: nothing is compiled again."""
        view = self._view.at(store.revision)
        return PolicyIndex(store, self._known, view)

    def bound_policies(self) -> Sequence[BoundPolicy]:
        """All policies that have bindings, by name."""
        return self._view.now().bound_policies

    def _read(self) -> Sequence[BoundPolicy]:
        entries = list(self._store.scan(POLICIES))
        if not entries:  # the language of expressions is only loaded where there are any
            self._known = {}
            return ()
        from simkit.logic.policy.decide import Binding, bind_policies
        from simkit.logic.policy.policy import Policy

        known: dict[str, Policy] = {}
        for entry in entries:
            name, found = name_of(entry.object), self._known.get(name_of(entry.object))
            same = found is not None and found.object.get("spec") == entry.object.get("spec")
            known[name] = found if found is not None and same else Policy(entry.object)
        self._known = known
        return bind_policies(known.values(), [Binding(entry.object) for entry in self._store.scan(BINDINGS)])

    def concerned(
        self, reader: ClusterReader, operation: str, resource: GroupVersionResource, subresource: str
    ) -> Sequence[BoundPolicy]:
        """The policies that could match such a write for some object and name."""
        view = self._view.now()
        return view.candidates(reader, (operation, resource, subresource)) if view.bound_policies else ()
