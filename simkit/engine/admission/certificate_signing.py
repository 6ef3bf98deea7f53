"""CertificateSigning requires the verb ``sign`` on the signer of a request for a certificate.

Requests for certificates of pods are checked by their strategy in kube-apiserver, which calls the authorizer itself. So
they are checked there with the plugin switched off, too.

Upstream: plugin/pkg/admission/certificates/signing, release 1.30, and
pkg/registry/certificates/podcertificaterequest/strategy.go, release 1.36.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import (
    POD_CERTIFICATES,
    SIGNING_REQUESTS,
    admission_forbidden,
    written,
)
from simkit.engine.admission.signer_authorization import is_authorized_for_signer
from simkit.engine.seams import Authorizer, Operation, Review
from simkit.meta.domain import CERTIFICATES_GROUP
from simkit.meta.errors import invalid
from simkit.meta.fielderror import forbidden_field, quoted
from simkit.meta.names import GroupKind
from simkit.meta.objects import Object, at, name_of


class CertificateSigning:
    """Checks updates of the status of certificate signing requests, and of requests for certificates of pods."""

    name = "CertificateSigning"
    leaves_process: Final = False
    resources = frozenset({SIGNING_REQUESTS, POD_CERTIFICATES})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, operation: Operation) -> bool:
        return operation == "UPDATE"

    def validate(self, review: Review) -> None:
        """Raises 403 for a changed certificate or condition by a user who may not sign, 422 for one of a pod."""
        old, new = review.old or {}, written(review)
        if review.resource == POD_CERTIFICATES:
            self._check_pod_certificate(review, old, new)
            return
        parts = ("certificate", "conditions")
        if review.subresource != "status" or all(at(old, "status", one) == at(new, "status", one) for one in parts):
            return
        signer = at(old, "spec", "signerName") or ""
        if not is_authorized_for_signer(self._authorizer, review.identity, "sign", signer):
            raise admission_forbidden(review, f"user not permitted to sign requests with signerName {quoted(signer)}")

    def _check_pod_certificate(self, review: Review, old: Object, new: Object) -> None:
        if review.subresource != "status" or (old.get("status") or {}) == (new.get("status") or {}):
            return
        signer, user = at(old, "spec", "signerName") or "", review.identity
        if not is_authorized_for_signer(self._authorizer, user, "sign", signer):
            text = f'User {quoted(user.user)} is not permitted to "sign" for signer {quoted(signer)}'
            kind = GroupKind(CERTIFICATES_GROUP, "PodCertificateRequest")
            raise invalid(kind, name_of(old), [forbidden_field("spec.signerName", text)])
