"""Certificates and requests in objects: what is wrong with one, in kube-apiserver's words."""

from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from simkit.kinds.parts.validation.pem import certificates_error, request_error


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def block(kind: str, body: str) -> str:
    return f"-----BEGIN {kind}-----\n{body}-----END {kind}-----\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", ""),
        ("nothing", "must contain at least one CERTIFICATE PEM block"),
        (block("CERTIFICATE", "####\n"), "must contain at least one CERTIFICATE PEM block"),
        (block("CERTIFICATE", ""), "found CERTIFICATE PEM block containing 0 certificates"),
        (block("CERTIFICATE", "eHl6\n"), "x509: malformed certificate"),
        (block("CERTIFICATE", "A: b\n\neHl6\n"), "no PEM block headers are permitted"),
        (block("PRIVATE KEY", "eHl6\n"), 'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"'),
    ],
)
def test_certificates(content: str, why: str) -> None:
    """Blocks that cannot be read are passed over; the first wrong one is told."""
    assert certificates_error(encoded(content)) == why


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (ec.generate_private_key(ec.SECP256R1()), "x509: ECDSA verification failure"),
        (rsa.generate_private_key(65537, 2048), "crypto/rsa: verification error"),
        (ed25519.Ed25519PrivateKey.generate(), "x509: Ed25519 verification failure"),
    ],
    ids=["ecdsa", "rsa", "ed25519"],
)
def test_requests(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey, why: str) -> None:
    """A request is signed with the key that it names; if it is not, the words depend on the key."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else SHA256()
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, algorithm)
    der = request.public_bytes(Encoding.DER)
    changed = der.replace(b"ann", b"bob")

    def written(octets: bytes) -> str:
        return encoded(block("CERTIFICATE REQUEST", base64.b64encode(octets).decode() + "\n"))

    assert request_error(written(der)) == ""
    assert request_error(written(changed)) == why
