"""CertificateSubjectRestriction refuses client certificates for the group system:masters.

Upstream: plugin/pkg/admission/certificates/subjectrestriction, release 1.30.
"""

from __future__ import annotations

import base64
from typing import Final

from simkit.engine.admission.plugin_attributes import SIGNING_REQUESTS, admission_forbidden, written
from simkit.engine.seams import Operation, Review
from simkit.meta.certificate_errors import unreadable
from simkit.meta.domain import label
from simkit.meta.identity import MASTERS
from simkit.meta.objects import at

_SIGNER: Final = label("kube-apiserver-client")


class CertificateSubjectRestriction:
    """Checks new requests to the signer kube-apiserver-client."""

    name = "CertificateSubjectRestriction"
    leaves_process: Final = False
    resources = frozenset({SIGNING_REQUESTS})

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def validate(self, review: Review) -> None:
        """Raises 403 for a request whose subject is in that group."""
        request = written(review)
        if review.subresource or at(request, "spec", "signerName") != _SIGNER:
            return
        try:
            groups = organizations(base64.b64decode(at(request, "spec", "request") or "", validate=True))
        except unreadable() as error:
            raise admission_forbidden(review, f"failed to parse CSR: {error}") from None
        if MASTERS in groups:
            raise admission_forbidden(review, f"use of {_SIGNER} signer with {MASTERS} group is not allowed")


def organizations(pem: bytes) -> list[str]:
    """The groups that the subject of a signing request is in. Raises one of ``unreadable`` for others."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    subject = x509.load_pem_x509_csr(pem).subject
    return [str(name.value) for name in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
