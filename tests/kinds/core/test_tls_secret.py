"""Warnings about the key pairs of TLS secrets, in the words of Go's TLS library."""

from __future__ import annotations

import base64
from datetime import datetime
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import simkit
from simkit.kinds.parts.validation.pem import key_pair_error
from simkit.meta.message import Request

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
OWN: Key = ec.generate_private_key(ec.SECP256R1())
STRANGER: Key = ec.generate_private_key(ec.SECP256R1())
EDWARDS: Key = ed25519.Ed25519PrivateKey.generate()


def key_pem(key: Key | dsa.DSAPrivateKey, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


@cache
def certificate(key: Key) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2024, 1, 1))
    ended = builder.not_valid_after(datetime(2034, 1, 1))
    own_hash = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return ended.sign(key, own_hash).public_bytes(Encoding.PEM)


PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
BROKEN = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("certificates", "key", "why"),
    [
        (b"", b"", "tls: failed to find any PEM data in certificate input"),
        (certificate(OWN), b"x", "tls: failed to find any PEM data in key input"),
        (certificate(OWN), key_pem(STRANGER), "tls: private key does not match public key"),
        (certificate(OWN), key_pem(EDWARDS), "tls: private key type does not match public key type"),
        (BROKEN, key_pem(OWN), "x509: malformed certificate"),
        (certificate(OWN), BROKEN.replace(b"CERTIFICATE", b"RSA PRIVATE KEY"), "tls: failed to parse private key"),
        (
            certificate(OWN),
            key_pem(dsa.generate_private_key(1024)),
            "tls: found unknown private key type in PKCS#8 wrapping",
        ),
        (
            key_pem(OWN),
            certificate(OWN),
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched",
        ),
        (
            certificate(OWN),
            certificate(OWN),
            "tls: found a certificate rather than a key in the PEM for the private key",
        ),
        (
            PARAMETERS + PARAMETERS,
            b"",
            'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
            "following types: [EC PARAMETERS EC PARAMETERS]",
        ),
        (
            certificate(OWN),
            PARAMETERS,
            'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks '
            "of the following types: [EC PARAMETERS]",
        ),
    ],
)
def test_texts_that_are_no_key_pair(certificates: bytes, key: bytes, why: str) -> None:
    """The first error is told."""
    assert key_pair_error(certificates, key) == why


@pytest.mark.parametrize("key", [OWN, EDWARDS, rsa.generate_private_key(65537, 2048)])
def test_pairs(key: Key) -> None:
    """Keys of every algorithm and form that Go takes, with other blocks before them."""
    assert key_pair_error(b"text\n" + certificate(key) + certificate(STRANGER), PARAMETERS + key_pem(key)) == ""
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        assert key_pair_error(certificate(key), key_pem(key, PrivateFormat.TraditionalOpenSSL)) == ""


def test_a_tls_secret_warns_and_is_stored() -> None:
    """Creates and updates answer with one warning, and keep the secret; other types are not looked at."""
    cluster = simkit.Cluster(seed=1)
    data = {"tls.crt": base64.b64encode(certificate(OWN)).decode(), "tls.key": ""}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "kubernetes.io/tls"}
    path = "/api/v1/namespaces/default/secrets"
    warned = '299 - "tls: failed to find any PEM data in key input"'
    created = cluster.perform(Request.of("POST", path, {**secret, "data": data}))
    assert (created.status, [value for name, value in created.headers if name.lower() == "warning"]) == (201, [warned])
    whole = {**secret, "data": data, "stringData": {"tls.key": key_pem(OWN).decode()}}
    updated = cluster.perform(Request.of("PUT", f"{path}/s", whole))
    assert (updated.status, [name for name, _ in updated.headers if name.lower() == "warning"]) == (200, [])
    opaque = {**secret, "metadata": {"name": "o"}, "type": "Opaque", "data": {"tls.crt": ""}}
    answer = cluster.perform(Request.of("POST", path, opaque))
    assert not [name for name, _ in answer.headers if name.lower() == "warning"]
