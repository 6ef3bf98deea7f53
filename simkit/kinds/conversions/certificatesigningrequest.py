"""Conversions of CertificateSigningRequest: v1beta1 has defaults for signer, usages and condition status; v1 requires
them.

Follows ``pkg/apis/certificates/v1beta1/defaults.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.default_signer import default_signer
from simkit.kinds.conversions.family import Family, Spoke
from simkit.kinds.conversions.field_edits import entries, peek, section
from simkit.meta.domain import CERTIFICATES_GROUP
from simkit.meta.objects import Draft

_USAGES: Final = ("digital signature", "key encipherment")


def _default(draft: Draft) -> None:
    spec = section(draft, "spec")
    if spec.get("usages") is None:
        spec["usages"] = list(_USAGES)
    if not spec.get("signerName"):
        spec["signerName"] = default_signer(spec)
    for condition in entries(peek(draft, "status"), "conditions"):
        if not condition.get("status"):
            condition["status"] = "True"


FAMILIES: Final = {
    "CertificateSigningRequest": Family(
        "CertificateSigningRequest",
        f"{CERTIFICATES_GROUP}/v1",
        {f"{CERTIFICATES_GROUP}/v1beta1": Spoke(default=_default)},
    )
}
