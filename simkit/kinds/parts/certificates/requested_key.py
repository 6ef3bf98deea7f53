"""Validation of the key for which a pod requests a certificate.

Follows ``pkg/apis/certificates/validation/validation.go`` (``validateDeprecatedPKIXPublicKey``,
``validateStubPKCS10Request``), release 1.36.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.certificate_errors import unreadable
from simkit.meta.fielderror import OMITTED, FieldError, invalid_value, too_long

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

KEY: Final = "spec.pkixPublicKey"
REQUEST: Final = "spec.stubPKCS10Request"
NO_REQUEST: Final = "must be a valid PKCS#10 CSR"
_PROOF: Final = "spec.proofOfPossession"
_LARGEST: Final = 10 * 1024
_MODULI: Final = (3072, 4096)
_CURVES: Final = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521", "secp224r1": "P-224"}
_UNKNOWN: Final = "unknown public key type; supported types are Ed25519, ECDSA, and RSA"


def validate_proven_key(uid: str, encoded: str, proof: str) -> Iterator[FieldError]:
    """The errors of a public key and of a signature with it over the uid of the pod, both in base64."""
    content, signature = base64.b64decode(encoded), base64.b64decode(proof)
    if len(content) > _LARGEST:
        yield too_long(KEY, _LARGEST)
    elif len(signature) > _LARGEST:
        yield too_long(_PROOF, _LARGEST)
    else:
        yield from _validate_content(uid, encoded, content, signature)


def _validate_content(uid: str, encoded: str, content: bytes, signature: bytes) -> Iterator[FieldError]:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        key = load_der_public_key(content)
    except unreadable():
        yield invalid_value(KEY, encoded or None, "must be a valid PKIX-serialized public key")
        return
    wrong = [*_validate_kind(KEY, key, encoded, "elliptic public keys must use curve P256 or P384")]
    yield from wrong
    if not wrong and not _is_signed(key, uid.encode(), signature):
        yield invalid_value(_PROOF, OMITTED, "could not verify proof-of-possession signature")


def validate_stub_request(content: bytes) -> Iterator[FieldError]:
    """The errors of a signing request whose key alone counts."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    if len(content) > _LARGEST:
        yield too_long(REQUEST, _LARGEST)
        return
    try:
        request = x509.load_der_x509_csr(content)
        key = request.public_key()
    except unreadable():
        yield invalid_value(REQUEST, OMITTED, NO_REQUEST)
        return
    wrong = [*_validate_kind(REQUEST, key, OMITTED, "elliptic public keys must use curve P256, P384, or P521")]
    yield from wrong
    try:
        signed = bool(wrong) or request.is_signature_valid
    except UnsupportedAlgorithm:
        signed = False
    if not signed:
        yield invalid_value(REQUEST, OMITTED, "invalid signature")


def _validate_kind(path: str, key: PublicKeyTypes, shown: Any, curves: str) -> Iterator[FieldError]:
    """The error of a key of another kind or size."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if isinstance(key, EllipticCurvePublicKey):
        curve = _CURVES.get(key.curve.name, key.curve.name)
        if curve not in ("P-256", "P-384", "P-521"):
            yield invalid_value(path, f"curve {curve}", curves)
    elif isinstance(key, RSAPublicKey):
        size = -(-key.key_size // 8) * 8
        if size not in _MODULI:
            yield invalid_value(path, f"{size}-bit modulus", "RSA keys must have modulus size 3072 or 4096")
    elif not isinstance(key, Ed25519PublicKey):
        yield invalid_value(path, shown, _UNKNOWN)


def _is_signed(key: PublicKeyTypes, text: bytes, signature: bytes) -> bool:
    """True if a text has a signature that belongs to a key; RSA and ECDSA sign its hash once more."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
    from cryptography.hazmat.primitives.hashes import SHA256

    digest, hashed = hashlib.sha256(text).digest(), Prehashed(SHA256())
    try:
        if isinstance(key, Ed25519PublicKey):
            key.verify(signature, text)
        elif isinstance(key, EllipticCurvePublicKey):
            key.verify(signature, digest, ECDSA(hashed))
        elif isinstance(key, RSAPublicKey):
            key.verify(signature, digest, PSS(MGF1(SHA256()), PSS.AUTO), hashed)
    except InvalidSignature:
        return False
    return True
