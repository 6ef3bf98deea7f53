"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy, and the index of their policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from simkit.engine.admission.candidates import CandidateView, CompiledObjects, LiveClusterReader, attributes_of
from simkit.engine.admission.plugin_attributes import Handler, name_in
from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import ADMISSION_GROUP, AUTHENTICATION_GROUP, AUTHORIZATION_GROUP
from simkit.meta.errors import StatusError, forbidden
from simkit.meta.names import GroupResource, GroupVersionResource, Key
from simkit.meta.objects import Object
from simkit.schema.catalogue import Resource
from simkit.seams import ListWatcher, Review

if TYPE_CHECKING:
    from simkit.logic.policy.binding import Binding, BoundPolicy
    from simkit.logic.policy.definition import PolicyDefinition
    from simkit.logic.policy.mutation import MutatingPolicy
    from simkit.logic.policy.policy import Policy

# An index of compiled policies with their bindings, kept up to date by the change log.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go, release 1.30.

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


class _View(CandidateView[Any], Generic[Compiled]):
    """The policies and the bindings at one revision. It never changes."""

    def __init__(self, source: PolicySource[Compiled], compiled: Mapping[Key, Any]) -> None:
        super().__init__()
        self._policies: list[Compiled] = [made for key, made in compiled.items() if key.resource == source.policies]
        self._bindings: list[Binding] = [made for key, made in compiled.items() if key.resource == source.bindings]
        self.any = bool(self._policies and self._bindings)

    @cached_property
    def bound_policies(self) -> Sequence[BoundPolicy[Compiled]]:
        """The policies with bindings, by name: put together when a write is looked at that they could match."""
        if not self.any:
            return ()
        from simkit.logic.policy.binding import bind_policies

        return bind_policies(self._policies, self._bindings)

    def candidates(self, reader: ClusterReader, kind: _Kind) -> Sequence[BoundPolicy[Compiled]]:
        def find() -> Sequence[BoundPolicy[Compiled]]:
            return [each for each in self.bound_policies if each.policy.constraints.may_match(reader, *kind)]

        return self.looked_up(reader.catalogue, kind, find)


class PolicySource(Generic[Compiled]):
    """The resources of one sort of policies, and how one is compiled."""

    def __init__(
        self,
        policies: GroupResource,
        bindings: GroupResource,
        read: Callable[[], Callable[[Object, ServedBehaviour], Compiled]],
    ) -> None:
        self.policies, self.bindings, self.read = policies, bindings, read


def _validating() -> Callable[[Object, ServedBehaviour], Policy]:
    from simkit.logic.policy.policy import Policy

    return Policy


def _mutating() -> Callable[[Object, ServedBehaviour], MutatingPolicy]:
    from simkit.logic.policy.mutation import MutatingPolicy

    return MutatingPolicy


VALIDATING: Final = PolicySource(POLICIES, BINDINGS, _validating)
MUTATING: Final = PolicySource(MUTATING_POLICIES, MUTATING_BINDINGS, _mutating)


class PolicyIndex(CompiledObjects[_View[Compiled]]):
    """Policies with their bindings, by the kinds of requests that they could match.

    Parameters
    ----------
    source
        The sort of policies.
    store
        The index hears of every change to it.
    behaviour
        That of the server.
    """

    def __init__(self, source: PolicySource[Compiled], store: ListWatcher, behaviour: ServedBehaviour) -> None:
        self._source = source
        super().__init__(store, behaviour, (source.policies, source.bindings), partial(_View[Compiled], source))

    def bound_policies(self) -> Sequence[BoundPolicy[Compiled]]:
        """All policies that have bindings, by name."""
        return self.now().bound_policies

    def _compiled(self, resource: GroupResource, obj: Object) -> Compiled | Binding:
        if resource == self._source.policies:
            return self._source.read()(obj, self._behaviour)
        from simkit.logic.policy.binding import Binding

        return Binding(obj)

    def concerned(
        self, reader: ClusterReader, operation: str, resource: GroupVersionResource, subresource: str
    ) -> Sequence[BoundPolicy[Compiled]]:
        """The policies that could match such a write for some object and name."""
        view = self.now()
        return view.candidates(reader, (operation, resource, subresource)) if view.any else ()


class _Policies(Handler, Generic[Compiled]):
    """The common part of both plugins: the policies for a write."""

    def __init__(self, reader: LiveClusterReader, index: PolicyIndex[Compiled]) -> None:
        self._reader, self._index = reader, index

    def _concerned(
        self, review: Review
    ) -> tuple[AdmissionAttributes, Sequence[BoundPolicy[Compiled]]] | tuple[None, tuple[()]]:
        """The attributes of a write, and the policies that could match it; None if there are none."""
        if not self._index.any() or review.resource in EXEMPT:
            return None, ()
        attributes = attributes_of(review, self._reader.catalogue)
        kind = (attributes.operation, attributes.resource, attributes.subresource)
        policies = self._index.concerned(self._reader, *kind)
        return (attributes, policies) if policies else (None, ())


def _forbidden(attributes: AdmissionAttributes, review: Review, texts: Sequence[str]) -> StatusError:
    """The 403 of policies that said something, with all of it among the causes."""
    causes = [{"message": text} for text in texts]
    return forbidden(attributes.resource.group_resource, name_in(review), texts[0], causes=causes)


# ValidatingAdmissionPolicy evaluates CEL policies that deny, warn or audit.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/validating, release 1.30.

_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_UNPROCESSABLE: Final = 422


class ValidatingAdmissionPolicy(_Policies["Policy"]):
    """Evaluates every policy whose binding matches the request."""

    def validate(self, review: Review) -> None:
        """Raises the denial of the first policy: 422, 403 or 413 by its reason."""
        attributes, policies = self._concerned(review)
        if attributes is None:
            return
        from simkit.logic.policy.decide import decide

        outcome = decide(attributes, policies, self._reader)
        review.warnings.extend(outcome.warnings)
        for key, value in outcome.annotations.items():
            review.annotations.setdefault(key, value)
        if outcome.denials:
            denial = outcome.denials[0]
            error = _forbidden(attributes, review, [denial.text])
            code = _CODES.get(denial.reason, _UNPROCESSABLE)
            raise StatusError(code, denial.reason, error.message, details=error.details)


# MutatingAdmissionPolicy changes objects by CEL expressions.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/mutating, release 1.36.

_FORBIDDEN: Final = 403


class MutatingAdmissionPolicy(_Policies["MutatingPolicy"], operations={"CREATE", "UPDATE", "CONNECT"}):
    """Makes the mutations of every policy whose binding matches the request, by the names of policies and bindings.

    Where one changed the object, all plugins are asked again; of the policies those with reinvocation.
    """

    def __init__(
        self,
        reader: LiveClusterReader,
        index: PolicyIndex[MutatingPolicy],
        restore: Callable[[Mapping[str, Any], Resource], Object],
    ) -> None:
        super().__init__(reader, index)
        self._restore = restore

    def mutate(self, review: Review) -> Object:
        """The object after all policies. Raises 403 where one fails that has failurePolicy Fail."""
        attributes, policies = self._concerned(review)
        if attributes is None:
            return review.object or {}
        from simkit.logic.policy.mutate import mutate

        known = review.reinvocation.begin(self.name, review.object)
        found = mutate(attributes, policies, self._reader, self._restore, known)
        if found.errors:
            details = _forbidden(attributes, review, [error.text for error in found.errors]).details
            first = found.errors[0]
            raise StatusError(_FORBIDDEN, first.reason or "Forbidden", first.text, details=details)
        if found.written:  # even a mutation that changes nothing has those asked again that want it, as upstream
            known.changed()
        known.output = found.object if review.object is not None else None
        return found.object
