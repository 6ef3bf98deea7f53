"""ValidatingAdmissionPolicy evaluates CEL policies that deny, warn or audit.

Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/validating, release 1.30.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simkit.engine.admission.policy_index import EXEMPT, PolicyIndex
from simkit.engine.admission.review_attributes import LiveClusterReader, attributes_of
from simkit.engine.seams import Meter, Operation, Review, Unmetered
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.meta.errors import StatusError, forbidden
from simkit.meta.objects import metadata

if TYPE_CHECKING:
    from simkit.logic.policy.decide import Denial
    from simkit.logic.policy.policy import Policy

_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_CHECKS: Final = "apiserver_validating_admission_policy_check"
_UNPROCESSABLE: Final = 422


class ValidatingAdmissionPolicy:
    """Evaluates every policy whose binding matches the request."""

    name = "ValidatingAdmissionPolicy"
    leaves_process: Final = False
    resources = None

    def __init__(self, reader: LiveClusterReader, index: PolicyIndex[Policy], meter: Meter | None = None) -> None:
        self._reader, self._index, self._meter = reader, index, meter or Unmetered()

    def handles(self, operation: Operation) -> bool:
        return True

    def validate(self, review: Review) -> None:
        """Raises the denial of the first policy: 422, 403 or 413 by its reason."""
        if not self._index.any() or review.resource in EXEMPT:
            return
        attributes = attributes_of(review, self._reader.catalogue)
        kind = (attributes.operation, attributes.resource, attributes.subresource)
        policies = self._index.concerned(self._reader, *kind)
        if not policies:
            return
        from simkit.logic.policy.decide import decide

        outcome = decide(attributes, policies, self._reader)
        review.warnings.extend(outcome.warnings)
        for key, value in outcome.annotations.items():
            review.annotations.setdefault(key, value)
        for *labels, seconds in outcome.checks:
            self._meter.count(f"{_CHECKS}_total", *labels)
            self._meter.record(f"{_CHECKS}_duration_seconds", *labels, value=seconds)
        if outcome.denials:
            raise policy_denial(attributes, outcome.denials[0])


def policy_denial(attributes: AdmissionAttributes, denial: Denial) -> StatusError:
    """The denial as a Status."""
    given = metadata(attributes.object or {})
    name = attributes.name or given.get("name") or given.get("generateName") or "Unknown"
    error = forbidden(attributes.resource.group_resource, name, denial.text, causes=[{"message": denial.text}])
    code = _CODES.get(denial.reason, _UNPROCESSABLE)
    return StatusError(code, denial.reason, error.message, details=error.details)
