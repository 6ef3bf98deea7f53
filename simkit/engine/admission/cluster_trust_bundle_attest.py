"""ClusterTrustBundleAttest requires the verb ``attest`` on the signer of a ClusterTrustBundle.

Upstream: plugin/pkg/admission/certificates/ctbattest, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.plugin_attributes import TRUST_BUNDLES, WRITES, admission_forbidden, written
from simkit.engine.admission.signer_authorization import is_authorized_for_signer
from simkit.engine.seams import Authorizer, Operation, Review
from simkit.meta.fielderror import quoted
from simkit.meta.objects import at


class ClusterTrustBundleAttest:
    """Checks bundles that belong to a signer."""

    name = "ClusterTrustBundleAttest"
    leaves_process: Final = False
    resources = frozenset({TRUST_BUNDLES})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def handles(self, operation: Operation) -> bool:
        return operation in WRITES

    def validate(self, review: Review) -> None:
        """Raises 403 for a user who may not attest."""
        signer = at(written(review), "spec", "signerName") or ""
        if signer and not is_authorized_for_signer(self._authorizer, review.identity, "attest", signer):
            raise admission_forbidden(review, f"user not permitted to attest for signerName {quoted(signer)}")
