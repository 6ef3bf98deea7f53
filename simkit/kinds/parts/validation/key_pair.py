"""Certificates with their private keys, checked as Go's TLS library loads them.

Follows ``X509KeyPair`` of ``crypto/tls/tls.go``, Go 1.22, whose words clients see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from simkit.kinds.parts.validation.pem import blocks
from simkit.meta.certificate_errors import unreadable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

_CERTIFICATE: Final = "CERTIFICATE"
_KEY: Final = "PRIVATE KEY"


def key_pair_error(certificates: bytes, key: bytes) -> str:
    """The reason why a certificate chain and a key, both PEM, are no pair; empty if they are one.

    Examples
    --------
    >>> key_pair_error(b"", b"")
    'tls: failed to find any PEM data in certificate input'
    """
    chain = list(blocks(certificates))
    first = next((der for kind, der in chain if kind == _CERTIFICATE), None)
    if first is None:
        return _no_certificate([kind for kind, _ in chain])
    skipped: list[str] = []
    for kind, der in blocks(key):
        if kind == _KEY or kind.endswith(f" {_KEY}"):
            return _mismatch(first, der)
        skipped.append(kind)
    return _no_key(skipped)


def _no_certificate(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith(_KEY):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
        f"types: [{' '.join(skipped)}]"
    )


def _no_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if skipped == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of '
        f"the following types: [{' '.join(skipped)}]"
    )


def _mismatch(certificate: bytes, key: bytes) -> str:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
    except UnsupportedAlgorithm:
        return "tls: unknown public key algorithm"
    except unreadable():
        return "x509: malformed certificate"
    try:
        private = load_der_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    return _against(public, private)


def _against(public: PublicKeyTypes, private: PrivateKeyTypes) -> str:
    kinds = list(_kinds())
    wanted = next((own for one, own in kinds if isinstance(public, one)), None)
    if not isinstance(private, tuple(own for _, own in kinds)):
        return "tls: found unknown private key type in PKCS#8 wrapping"
    if wanted is None:
        return "tls: unknown public key algorithm"
    if not isinstance(private, wanted):
        return "tls: private key type does not match public key type"
    return "" if private.public_key() == public else "tls: private key does not match public key"


def _kinds() -> Iterator[tuple[type, type]]:
    """The classes of public and private keys of each algorithm in TLS."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    yield rsa.RSAPublicKey, rsa.RSAPrivateKey
    yield ec.EllipticCurvePublicKey, ec.EllipticCurvePrivateKey
    yield ed25519.Ed25519PublicKey, ed25519.Ed25519PrivateKey
