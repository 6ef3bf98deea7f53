"""CertificateApproval requires the verb ``approve`` on the signer of a certificate signing request.

Upstream: plugin/pkg/admission/certificates/approval, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import SIGNING_REQUESTS, admission_forbidden, written
from simkit.engine.admission.signer_authorization import is_authorized_for_signer
from simkit.engine.seams import Authorizer, Operation, Review
from simkit.meta.fielderror import quoted
from simkit.meta.objects import at


class CertificateApproval:
    """Checks updates of the subresource approval."""

    name = "CertificateApproval"
    leaves_process: Final = False
    resources = frozenset({SIGNING_REQUESTS})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, operation: Operation) -> bool:
        return operation == "UPDATE"

    def validate(self, review: Review) -> None:
        """Raises 403 for a user who may not approve for the request's signer."""
        if review.subresource != "approval":
            return
        signer = at(written(review), "spec", "signerName") or ""
        if not is_authorized_for_signer(self._authorizer, review.identity, "approve", signer):
            raise admission_forbidden(
                review, f"user not permitted to approve requests with signerName {quoted(signer)}"
            )
