"""Certificate requests: approved for nodes, signed by the authority, cleared away."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import simkit
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.engine.controllers.worlds import obj, patch

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests/r"
CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"


def request(common: str, *organizations: str, dns: tuple[str, ...] = ()) -> str:
    """A signing request for a subject."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    builder = x509.CertificateSigningRequestBuilder()
    builder = builder.subject_name(x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common)]))
    if dns:
        listed = x509.SubjectAlternativeName([x509.DNSName(each) for each in dns])
        builder = builder.add_extension(listed, critical=False)
    made = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


def ask(
    cluster: simkit.Cluster, signer: str, text: str, *usages: str, identity: Identity | None = None, **spec: Any
) -> None:
    wanted = {"signerName": signer, "request": text, "usages": list(usages), **spec}
    cluster.create(obj("certificates.k8s.io/v1", "CertificateSigningRequest", "r", spec=wanted), identity=identity)


def approve(cluster: simkit.Cluster) -> None:
    approved = {"type": "Approved", "status": "True", "reason": "R", "message": "m"}
    patch(cluster, f"{PATH}/approval", {"status": {"conditions": [approved]}})


def issued(cluster: simkit.Cluster) -> x509.Certificate:
    text = cluster.get("csr", "r")["status"]["certificate"]
    return x509.load_pem_x509_certificate(base64.b64decode(text))


def test_an_approved_request_is_signed(cluster: simkit.Cluster, clock: simkit.SimulatedClock) -> None:
    """The certificate has the subject and usages that were asked for, and comes from the published authority."""
    ask(cluster, CLIENT, request("ann", "devs"), "client auth", "digital signature", expirationSeconds=3600)
    cluster.settle()
    assert "certificate" not in cluster.get("csr", "r")["status"]
    approve(cluster)
    cluster.settle()
    made = issued(cluster)
    authority = x509.load_pem_x509_certificate(cluster.get("cm", "kube-root-ca.crt")["data"]["ca.crt"].encode())
    made.verify_directly_issued_by(authority)
    assert made.subject.rfc4514_string() == "CN=ann,O=devs"
    assert made.not_valid_after_utc.timestamp() == clock.now() + 3600
    assert made.extensions.get_extension_for_class(x509.KeyUsage).value.digital_signature


def test_only_usages_that_there_are(cluster: simkit.Cluster) -> None:
    """A certificate for which no usage of the key was asked lists none: OpenSSL refuses an empty list."""
    ask(cluster, CLIENT, request("ann"), "client auth")
    cluster.settle()
    approve(cluster)
    cluster.settle()
    extensions = issued(cluster).extensions
    assert not [each for each in extensions if isinstance(each.value, x509.KeyUsage)]
    assert extensions.get_extension_for_class(x509.ExtendedKeyUsage)


@pytest.mark.parametrize(
    ("signer", "text", "usages", "problem"),
    [
        (CLIENT, ("ann",), ("server auth",), "invalid usage for client certificate: server auth"),
        (CLIENT, ("ann",), ("digital signature",), "missing required usage for client certificate: client auth"),
        (KUBELET, ("system:node:a",), ("client auth",), "subject organization is not system:nodes"),
        (KUBELET, ("a", "system:nodes"), ("client auth",), "subject common name does not begin with system:node:"),
        (SERVING, ("system:node:a", "system:nodes"), ("server auth",), "DNS or IP subjectAltName is required"),
        (
            KUBELET,
            ("system:node:a", "system:nodes"),
            ("client auth",),
            "usages did not match [client auth digital signature key encipherment]",
        ),
    ],
)
def test_requests_that_do_not_fit_their_signer_fail(
    cluster: simkit.Cluster, signer: str, text: tuple[str, ...], usages: tuple[str, ...], problem: str
) -> None:
    """The condition says what is wrong, and nothing is signed."""
    ask(cluster, signer, request(*text), *usages)
    approve(cluster)
    cluster.settle()
    status = cluster.get("csr", "r")["status"]
    assert "certificate" not in status
    assert (status["conditions"][1]["reason"], status["conditions"][1]["message"]) == (
        "SignerValidationFailure",
        problem,
    )


def test_nodes_get_their_own_certificates(cluster: simkit.Cluster) -> None:
    """A node that asks for itself, and may, needs nobody's approval."""
    rules = [
        {
            "apiGroups": ["certificates.k8s.io"],
            "resources": ["certificatesigningrequests/selfnodeclient"],
            "verbs": ["create"],
        }
    ]
    cluster.create(obj("rbac.authorization.k8s.io/v1", "ClusterRole", "self", rules=rules))
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "self"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}
    cluster.create(
        obj("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "self", roleRef=reference, subjects=[subject])
    )
    node = Identity("system:node:a", ("system:nodes", "system:masters"))
    usages = ("client auth", "digital signature")
    ask(cluster, KUBELET, request("system:node:a", "system:nodes"), *usages, identity=node)
    cluster.settle()
    assert issued(cluster).subject.rfc4514_string() == "CN=system:node:a,O=system:nodes"
    assert cluster.get("csr", "r")["status"]["conditions"][0]["message"].startswith("Auto approving self kubelet")


def test_files_may_hold_the_authority(making: Any, tmp_path: Any) -> None:
    """A given authority signs, and is what namespaces get."""
    from simkit.engine.http.certificates import ensure_certificates

    files = ensure_certificates(tmp_path)
    key = files.authority.with_suffix(".key")
    cluster = making(cluster_signing_cert_file=files.authority, cluster_signing_key_file=key)
    assert cluster.get("cm", "kube-root-ca.crt")["data"]["ca.crt"] == files.authority.read_text()
    ask(cluster, CLIENT, request("ann"), "client auth")
    approve(cluster)
    cluster.settle()
    issued(cluster).verify_directly_issued_by(x509.load_pem_x509_certificate(files.authority.read_bytes()))


@pytest.mark.parametrize(
    ("kind", "status", "listed"),
    [("Approved", "False", '"True"'), ("Late", "Maybe", '"False", "True", "Unknown"'), ("Late", "False", None)],
)
def test_statuses_of_conditions(cluster: simkit.Cluster, kind: str, status: str, listed: str | None) -> None:
    """A decision is true; any other condition may be false or unknown as well."""
    ask(cluster, CLIENT, request("ann"), "client auth")
    condition = {"type": kind, "status": status}
    body = {"status": {"conditions": [condition]}}
    answer = cluster.perform(Request.of("PATCH", f"{PATH}/approval", body, content_type="application/merge-patch+json"))
    if listed is None:
        assert answer.status == 200
    else:
        assert f'Unsupported value: "{status}": supported values: {listed}' in answer.object["message"]


def test_requests_of_a_dump_may_change() -> None:
    """A certificate that is no certificate, as in a dump whose values were taken out, does not stand in the way."""
    status = {"certificate": base64.b64encode(b"taken out").decode()}
    spec = {"signerName": CLIENT, "usages": ["client auth"], "request": request("ann")}
    stored = obj("certificates.k8s.io/v1", "CertificateSigningRequest", "r", spec=spec, status=status)
    loaded = simkit.load([stored])
    patch(loaded, PATH, {"metadata": {"labels": {"a": "b"}}})
    assert loaded.get("csr", "r")["metadata"]["labels"] == {"a": "b"}
