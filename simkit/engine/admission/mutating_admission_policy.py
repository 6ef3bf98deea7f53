"""MutatingAdmissionPolicy changes objects by CEL expressions.

Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/mutating, release 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.engine.admission.policy_index import EXEMPT, PolicyIndex
from simkit.engine.admission.review_attributes import LiveClusterReader, attributes_of
from simkit.engine.seams import Meter, Operation, Review, Unmetered
from simkit.engine.seams.reinvocation import PluginReinvocation, ReinvocationContext
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.meta.errors import StatusError, forbidden
from simkit.meta.objects import Object, metadata
from simkit.schema.catalogue import Resource

if TYPE_CHECKING:
    from simkit.logic.policy.mutate import PolicyError
    from simkit.logic.policy.mutation import MutatingPolicy

_CHECKS: Final = "apiserver_mutating_admission_policy_check"
_FORBIDDEN: Final = 403


class MutatingAdmissionPolicy:
    """Makes the mutations of every policy whose binding matches the request, by the names of policies and bindings.

    Where one changed the object, all plugins are asked again; of the policies those with reinvocation.
    """

    name = "MutatingAdmissionPolicy"
    leaves_process: Final = False
    resources = None

    def __init__(
        self,
        reader: LiveClusterReader,
        index: PolicyIndex[MutatingPolicy],
        restore: Callable[[Mapping[str, Any], Resource], Object],
        meter: Meter | None = None,
    ) -> None:
        self._reader, self._index, self._restore = reader, index, restore
        self._meter: Meter = meter or Unmetered()

    def handles(self, operation: Operation) -> bool:
        return operation != "DELETE"

    def mutate(self, review: Review) -> Object:
        """The object after all policies. Raises 403 where one fails that has failurePolicy Fail."""
        given = review.object or {}
        if not self._index.any() or review.resource in EXEMPT:
            return given
        attributes = attributes_of(review, self._reader.catalogue)
        kind = (attributes.operation, attributes.resource, attributes.subresource)
        policies = self._index.concerned(self._reader, *kind)
        if not policies:
            return given
        from simkit.logic.policy.mutate import mutate

        context = review.reinvocation
        known = context.begin(self.name, review.object)
        found = mutate(attributes, policies, self._reader, self._restore, _Rounds(context, known))
        for *labels, seconds in found.checks:
            self._meter.count(f"{_CHECKS}_total", *labels)
            self._meter.record(f"{_CHECKS}_duration_seconds", *labels, value=seconds)
        if found.errors:
            raise policy_refusal(attributes, found.errors)
        if found.written:  # even a mutation that changes nothing has those asked again that want it, as upstream
            known.changed()
            context.should_reinvoke = True
        known.output = found.object if review.object is not None else None
        return found.object


class _Rounds:
    """The rounds of one write, as its reinvocation context has them."""

    def __init__(self, context: ReinvocationContext, known: PluginReinvocation) -> None:
        self._context, self._known = context, known

    def asks(self, key: str) -> bool:
        return not self._context.is_reinvoke or self._known.wants(key)

    def made(self, key: str, *, changed: bool, again: bool) -> None:
        if changed:
            self._known.changed()
            self._context.should_reinvoke = True
        if again:
            self._known.invoked(key)


def policy_refusal(attributes: AdmissionAttributes, errors: Sequence[PolicyError]) -> StatusError:
    """The errors as a Status: message and reason of the first, all of them among the causes."""
    given = metadata(attributes.object or {})
    name = attributes.name or given.get("name") or given.get("generateName") or "Unknown"
    causes = [{"message": each.text} for each in errors]
    details = forbidden(attributes.resource.group_resource, name, "", causes=causes).details
    return StatusError(_FORBIDDEN, errors[0].reason or "Forbidden", errors[0].text, details=details)
