"""Admission plugins of certificates and trust bundles, which require a verb on a signer."""

from __future__ import annotations

import base64
from typing import Final

from simkit.client.resources import SIGNING_REQUESTS
from simkit.engine.admission.plugin_attributes import (
    CREATION,
    POD_CERTIFICATES,
    TRUST_BUNDLES,
    UPDATES,
    WRITES,
    Handler,
    admission_forbidden,
    written,
)
from simkit.meta.attributes import Attributes
from simkit.meta.certificate_errors import unreadable
from simkit.meta.domain import CERTIFICATES_GROUP, label
from simkit.meta.errors import invalid
from simkit.meta.fielderror import forbidden_field, quoted
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.names import GroupKind
from simkit.meta.objects import Object, at, name_of
from simkit.seams import Authorizer, Review

# Authorization of a verb on a signer.
# Upstream: plugin/pkg/admission/certificates/util.go, release 1.30.


class _SignerHandler(Handler):
    """A plugin that asks for a verb on a signer."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def _may(self, identity: Identity, verb: str, signer: str) -> bool:
        """True if an identity has the verb on the signer: on its name, or on all signers of its domain."""
        names = (signer, f"{signer.split('/')[0]}/*")
        asked = (Attributes(identity, verb, CERTIFICATES_GROUP, "*", "signers", name=name) for name in names)
        return any(self._authorizer.authorize(ask).allowed for ask in asked)


# CertificateApproval requires the verb ``approve`` on the signer of a certificate signing request.
# Upstream: plugin/pkg/admission/certificates/approval, release 1.30.


class CertificateApproval(_SignerHandler, operations=UPDATES, resources={SIGNING_REQUESTS}):
    """Checks updates of the subresource approval."""

    def validate(self, review: Review) -> None:
        """Raises 403 for a user who may not approve for the request's signer."""
        if review.subresource != "approval":
            return
        signer = at(written(review), "spec", "signerName") or ""
        if not self._may(review.identity, "approve", signer):
            raise admission_forbidden(
                review, f"user not permitted to approve requests with signerName {quoted(signer)}"
            )


# CertificateSigning requires the verb ``sign`` on the signer of a request for a certificate.
# Requests for certificates of pods are checked by their strategy in kube-apiserver, which calls the authorizer itself,
# so that they are checked there with the plugin switched off, too.
# Upstream: plugin/pkg/admission/certificates/signing, release 1.30, and
# pkg/registry/certificates/podcertificaterequest/strategy.go, release 1.36.


class CertificateSigning(_SignerHandler, operations=UPDATES, resources={SIGNING_REQUESTS, POD_CERTIFICATES}):
    """Checks updates of the status of certificate signing requests, and of requests for certificates of pods."""

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
        if not self._may(review.identity, "sign", signer):
            raise admission_forbidden(review, f"user not permitted to sign requests with signerName {quoted(signer)}")

    def _check_pod_certificate(self, review: Review, old: Object, new: Object) -> None:
        if review.subresource != "status" or (old.get("status") or {}) == (new.get("status") or {}):
            return
        signer, user = at(old, "spec", "signerName") or "", review.identity
        if not self._may(user, "sign", signer):
            text = f'User {quoted(user.user)} is not permitted to "sign" for signer {quoted(signer)}'
            kind = GroupKind(CERTIFICATES_GROUP, "PodCertificateRequest")
            raise invalid(review.behaviour, kind, name_of(old), [forbidden_field("spec.signerName", text)])


# CertificateSubjectRestriction refuses client certificates for the group system:masters.
# Upstream: plugin/pkg/admission/certificates/subjectrestriction, release 1.30.

_SIGNER: Final = label("kube-apiserver-client")


class CertificateSubjectRestriction(Handler, operations=CREATION, resources={SIGNING_REQUESTS}):
    """Checks new requests to the signer kube-apiserver-client."""

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


# ClusterTrustBundleAttest requires the verb ``attest`` on the signer of a ClusterTrustBundle.
# Upstream: plugin/pkg/admission/certificates/ctbattest, release 1.30.


class ClusterTrustBundleAttest(_SignerHandler, operations=WRITES, resources={TRUST_BUNDLES}):
    """Checks bundles that belong to a signer."""

    def validate(self, review: Review) -> None:
        """Raises 403 for a user who may not attest."""
        signer = at(written(review), "spec", "signerName") or ""
        if signer and not self._may(review.identity, "attest", signer):
            raise admission_forbidden(review, f"user not permitted to attest for signerName {quoted(signer)}")
