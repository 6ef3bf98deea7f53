"""Conversions of CertificateSigningRequest: v1beta1 has defaults for signer, usages and condition status; v1 requires
them.

Follows ``pkg/apis/certificates/v1beta1/defaults.go``, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from simkit.kinds.conversions.family import Family, Spoke, entries, peek, section
from simkit.meta.certificate_errors import unreadable
from simkit.meta.domain import CERTIFICATES_GROUP, label
from simkit.meta.objects import Draft

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

NODE_CLIENT: Final = label("kube-apiserver-client-kubelet")
NODE_SERVING: Final = label("kubelet-serving")
UNKNOWN: Final = label("legacy-unknown")
_NODE_GROUP: Final = "system:nodes"
_NODE_PREFIX: Final = "system:node:"
_SIGNS: Final = "digital signature"
_KEYS: Final = "key encipherment"


def default_signer(spec: Mapping[str, Any]) -> str:
    """The signer for the request's content: of kubelet clients, of kubelet servers, or the legacy one."""
    from cryptography.x509 import load_pem_x509_csr

    try:
        request = load_pem_x509_csr(base64.b64decode(spec.get("request") or "", validate=True))
        is_node, names = _is_node(request), _names(request)
    except unreadable():  # validation tells why
        return UNKNOWN
    usages = frozenset(spec.get("usages") or ())
    if not is_node or names.get("email") or names.get("uri"):
        return UNKNOWN
    serves = bool(names.get("dns") or names.get("ip"))
    purpose = "server auth" if serves else "client auth"
    if usages not in ({_SIGNS, purpose}, {_SIGNS, _KEYS, purpose}):
        return UNKNOWN
    return NODE_SERVING if serves else NODE_CLIENT


def _is_node(request: CertificateSigningRequest) -> bool:
    from cryptography.x509.oid import NameOID

    groups = [each.value for each in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    names = [str(each.value) for each in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return groups == [_NODE_GROUP] and bool(names) and names[-1].startswith(_NODE_PREFIX)


def _names(request: CertificateSigningRequest) -> Mapping[str, int]:
    """The number of alternative names of each sort in the request."""
    from cryptography import x509

    try:
        found = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return {}
    return {
        "dns": len(found.get_values_for_type(x509.DNSName)),
        "ip": len(found.get_values_for_type(x509.IPAddress)),
        "email": len(found.get_values_for_type(x509.RFC822Name)),
        "uri": len(found.get_values_for_type(x509.UniformResourceIdentifier)),
    }


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
