"""ValidatingAdmissionPolicy evaluates CEL policies that deny, warn or audit.

Upstream: k8s.io/apiserver/pkg/admission/plugin/policy/validating, release 1.30.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simkit.engine.admission.plugin_attributes import LOCAL_ACCESS_REVIEWS
from simkit.engine.admission.policy_index import BINDINGS, POLICIES, PolicyIndex
from simkit.engine.admission.review_attributes import LiveClusterReader, attributes_of
from simkit.engine.seams import Operation, Review
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.meta.domain import AUTHENTICATION_GROUP, AUTHORIZATION_GROUP
from simkit.meta.errors import StatusError, forbidden
from simkit.meta.names import GroupResource
from simkit.meta.objects import metadata

if TYPE_CHECKING:
    from simkit.logic.policy.decide import Denial

_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_UNPROCESSABLE: Final = 422
_ACCESS_REVIEWS: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews")
_EXEMPT: Final = frozenset(
    {
        POLICIES,
        BINDINGS,
        LOCAL_ACCESS_REVIEWS,
        *(GroupResource(AUTHENTICATION_GROUP, name) for name in ("selfsubjectreviews", "tokenreviews")),
        *(GroupResource(AUTHORIZATION_GROUP, name) for name in _ACCESS_REVIEWS),
    }
)


class ValidatingAdmissionPolicy:
    """Evaluates every policy whose binding matches the request.

    Policies are never judged by policies, nor are the questions about who somebody is and what she may do, without
    which nobody could put a policy right.
    """

    name = "ValidatingAdmissionPolicy"
    leaves_process: Final = False
    resources = None

    def __init__(self, reader: LiveClusterReader, index: PolicyIndex) -> None:
        self._reader, self._index = reader, index

    def handles(self, operation: Operation) -> bool:
        return True

    def validate(self, review: Review) -> None:
        """Raises the denial of the first policy: 422, 403 or 413 by its reason."""
        if not self._index.bound_policies() or review.resource in _EXEMPT:
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
        if outcome.denials:
            raise policy_denial(attributes, outcome.denials[0])


def policy_denial(attributes: AdmissionAttributes, denial: Denial) -> StatusError:
    """The denial as a Status."""
    given = metadata(attributes.object or {})
    name = attributes.name or given.get("name") or given.get("generateName") or "Unknown"
    error = forbidden(attributes.resource.group_resource, name, denial.text, causes=[{"message": denial.text}])
    code = _CODES.get(denial.reason, _UNPROCESSABLE)
    return StatusError(code, denial.reason, error.message, details=error.details)
