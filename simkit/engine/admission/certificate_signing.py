"""CertificateSigning requires the verb ``sign`` on the signer of a certificate signing request.

Upstream: plugin/pkg/admission/certificates/signing, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import SIGNING_REQUESTS, admission_forbidden, written
from simkit.engine.admission.signer_authorization import is_authorized_for_signer
from simkit.engine.seams import Authorizer, Operation, Review
from simkit.meta.fielderror import quoted
from simkit.meta.objects import at


class CertificateSigning:
    """Checks updates of the status of certificate signing requests."""

    name = "CertificateSigning"
    leaves_process: Final = False
    resources = frozenset({SIGNING_REQUESTS})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, operation: Operation) -> bool:
        return operation == "UPDATE"

    def validate(self, review: Review) -> None:
        """Raises 403 for a changed certificate or condition by a user who may not sign."""
        old, new = review.old or {}, written(review)
        parts = ("certificate", "conditions")
        if review.subresource != "status" or all(at(old, "status", one) == at(new, "status", one) for one in parts):
            return
        signer = at(old, "spec", "signerName") or ""
        if not is_authorized_for_signer(self._authorizer, review.identity, "sign", signer):
            raise admission_forbidden(review, f"user not permitted to sign requests with signerName {quoted(signer)}")
