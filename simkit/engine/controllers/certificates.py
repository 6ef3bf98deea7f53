"""Controllers of certificate signing requests: they approve, sign and remove them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.client.controller import Client
from simkit.client.lister import Lister
from simkit.client.requests import expect, replace, replace_status
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import SIGNING_REQUESTS
from simkit.engine.controllers.certificate_authority import CertificateAuthority, SigningPolicy
from simkit.logic.workloads.status_conditions import is_true
from simkit.meta.clock import Clock, timestamp
from simkit.meta.domain import AUTHORIZATION_GROUP, CERTIFICATES_GROUP, label
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, at

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

# Signs approved certificate signing requests of the built-in signers.
# Upstream: pkg/controller/certificates/signer and pkg/apis/certificates/helpers.go, release 1.30.

CLIENT: Final = label("kube-apiserver-client")
KUBELET_CLIENT: Final = label("kube-apiserver-client-kubelet")
KUBELET_SERVING: Final = label("kubelet-serving")
_LEGACY: Final = label("legacy-unknown")
_LIFETIME: Final = 365 * 24 * 3600
_SHORTEST: Final = 600
_NODE: Final = "system:node:"
_NODES: Final = ["system:nodes"]
Rule = Callable[["CertificateSigningRequest", Sequence[str]], str]
"""The reason why a request is not one for the signer; empty where it is."""


class CSRSigningController(ResourceWatcher):
    """Signs an approved request, or writes the condition Failed with the reason."""

    name = "certificatesigningrequest-signing-controller"
    account = "certificate-controller"

    def __init__(self, authority: CertificateAuthority, clock: Clock) -> None:
        super().__init__(SIGNING_REQUESTS)
        self._authority, self._clock = authority, clock

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        request = lister.get(key)
        if request is None or at(request, "status", "certificate"):
            return
        conditions = at(request, "status", "conditions") or ()
        rule = _RULES.get(at(request, "spec", "signerName") or "")
        if rule is None or not is_true(conditions, "Approved"):
            return
        if is_true(conditions, "Denied") or is_true(conditions, "Failed"):
            return
        parsed, usages = parsed_request(request), at(request, "spec", "usages") or ()
        status = dict(request["status"])
        problem = rule(parsed, usages)
        if problem:
            failed = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": problem}
            status["conditions"] = [*conditions, {**failed, "lastUpdateTime": timestamp(self._clock.now())}]
        else:
            wish = SigningPolicy(tuple(usages), _seconds(at(request, "spec", "expirationSeconds")))
            certificate = self._authority.sign(parsed, wish)
            status["certificate"] = base64.b64encode(certificate.encode()).decode()
        replace_status(client, SIGNING_REQUESTS, request, status)


def parsed_request(request: Object) -> CertificateSigningRequest:
    """The certificate request inside an object."""
    from cryptography.x509 import load_pem_x509_csr

    return load_pem_x509_csr(base64.b64decode(at(request, "spec", "request") or ""))


def _seconds(asked: int | None) -> int:
    return _LIFETIME if asked is None else max(_SHORTEST, min(asked, _LIFETIME))


def _names(request: CertificateSigningRequest) -> dict[str, list[Any]]:
    """The alternative names of a request, by type."""
    from cryptography import x509

    try:
        found = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return {}
    return {
        "dns": found.get_values_for_type(x509.DNSName),
        "email": found.get_values_for_type(x509.RFC822Name),
        "ip": list(map(str, found.get_values_for_type(x509.IPAddress))),
        "uri": found.get_values_for_type(x509.UniformResourceIdentifier),
    }


def common_name(request: CertificateSigningRequest) -> str:
    """The common name of a request's subject: of several the last one, as who shows the certificate is called by it."""
    from cryptography.x509.oid import NameOID

    return "".join(str(each.value) for each in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1:])


def _organizations(request: CertificateSigningRequest) -> list[str]:
    from cryptography.x509.oid import NameOID

    return [str(each.value) for each in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def _client(request: CertificateSigningRequest, usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in ("digital signature", "key encipherment", "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def kubelet_client(request: CertificateSigningRequest, usages: Sequence[str]) -> str:
    """The reason why a request is not one for the client certificate of a node; empty where it is."""
    if _organizations(request) != _NODES:
        return "subject organization is not system:nodes"
    names = _names(request)
    for kind, word in (("dns", "DNS"), ("email", "Email"), ("ip", "IP"), ("uri", "URI")):
        if names.get(kind):
            return f"{word} subjectAltNames are not allowed"
    if not common_name(request).startswith(_NODE):
        return f"subject common name does not begin with {_NODE}"
    return _exactly(usages, "client auth")


def _kubelet_serving(request: CertificateSigningRequest, usages: Sequence[str]) -> str:
    if _organizations(request) != _NODES:
        return "subject organization is not system:nodes"
    names = _names(request)
    if not names.get("dns") and not names.get("ip"):
        return "DNS or IP subjectAltName is required"
    for kind, word in (("email", "Email"), ("uri", "URI")):
        if names.get(kind):
            return f"{word} subjectAltNames are not allowed"
    problem = _exactly(usages, "server auth")
    if not problem and not common_name(request).startswith(_NODE):
        return f"subject common name does not begin with {_NODE}"
    return problem


def _exactly(usages: Sequence[str], purpose: str) -> str:
    wanted = {purpose, "digital signature", "key encipherment"}
    if set(usages) in (wanted, wanted - {"key encipherment"}):
        return ""
    return f"usages did not match [{' '.join(sorted(wanted))}]"


_RULES: Final[dict[str, Rule]] = {
    CLIENT: _client,
    KUBELET_CLIENT: kubelet_client,
    KUBELET_SERVING: _kubelet_serving,
    _LEGACY: lambda *_: "",
}


# Approves client certificate requests of kubelets that a SubjectAccessReview allows.
# Upstream: pkg/controller/certificates/approver, release 1.30.

_REVIEWS: Final = f"/apis/{AUTHORIZATION_GROUP}/v1/subjectaccessreviews"
_SELF: Final = "Auto approving self kubelet client certificate after SubjectAccessReview."
_OTHER: Final = "Auto approving kubelet client certificate after SubjectAccessReview."


class CSRApprovingController(ResourceWatcher):
    """Approves certificate signing requests that are neither approved nor denied yet."""

    name = "certificatesigningrequest-approving-controller"
    account = "certificate-controller"

    def __init__(self) -> None:
        super().__init__(SIGNING_REQUESTS)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        request = lister.get(key)
        if request is None or at(request, "spec", "signerName") != KUBELET_CLIENT:
            return
        if at(request, "status", "certificate") or at(request, "status", "conditions"):
            return
        parsed = parsed_request(request)
        if kubelet_client(parsed, at(request, "spec", "usages") or ()):
            return
        own = at(request, "spec", "username") == common_name(parsed)
        for right, message in ((("selfnodeclient", _SELF),) if own else ()) + (("nodeclient", _OTHER),):
            if self._may(client, request, right):
                self._approve(client, request, message)
                return

    def _may(self, client: Client, request: Object, right: str) -> bool:
        asked = {
            "verb": "create",
            "group": CERTIFICATES_GROUP,
            "version": "*",
            "resource": "certificatesigningrequests",
            "subresource": right,
        }
        spec: dict[str, Any] = {"resourceAttributes": asked, "user": at(request, "spec", "username") or ""}
        for name in ("uid", "groups", "extra"):
            if at(request, "spec", name):
                spec[name] = request["spec"][name]
        review = {"apiVersion": f"{AUTHORIZATION_GROUP}/v1", "kind": "SubjectAccessReview", "spec": spec}
        return bool(at(expect(client.perform(Request.of("POST", _REVIEWS, review))).object, "status", "allowed"))

    def _approve(self, client: Client, request: Object, message: str) -> None:
        approved = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
        wanted = {**request, "status": {**(request.get("status") or {}), "conditions": [approved]}}
        expect(replace(client, SIGNING_REQUESTS, wanted, "approval"), 404, 409)
