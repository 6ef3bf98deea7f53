"""CertificateApproval: only who may approve for a signer approves or denies."""

from __future__ import annotations

from simkit.engine.admission.asked import SIGNING_REQUESTS, refusal, written
from simkit.engine.admission.signers import may_with_signer
from simkit.engine.seams import Authorizer, Operation, Review
from simkit.meta.objects import at


class CertificateApproval:
    """Looks at approvals of signing requests."""

    name = "CertificateApproval"
    resources = frozenset({SIGNING_REQUESTS})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, operation: Operation) -> bool:
        return operation == "UPDATE"

    def validate(self, review: Review) -> None:
        """Raises 403 for somebody who may not approve for the request's signer."""
        if review.subresource != "approval":
            return
        signer = at(written(review), "spec", "signerName") or ""
        if not may_with_signer(self._authorizer, review.identity, "approve", signer):
            raise refusal(review, f'user not permitted to approve requests with signerName "{signer}"')
