"""Validation of keys for which pods request certificates, and of the certificates that are issued for them.

Follows ``pkg/apis/certificates/validation/validation.go`` (``validateDeprecatedPKIXPublicKey``,
``validateStubPKCS10Request``), release 1.36.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from simkit.kinds.parts.validation.pem import Entry, entries
from simkit.meta.certificate_errors import unreadable
from simkit.meta.fielderror import OMITTED, Errors, invalid_value, required, too_long
from simkit.meta.objects import Object

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes


KEY: Final = "spec.pkixPublicKey"
REQUEST: Final = "spec.stubPKCS10Request"
NO_REQUEST: Final = "must be a valid PKCS#10 CSR"
_PROOF: Final = "spec.proofOfPossession"
_REQUESTED_KEY_LARGEST: Final = 10 * 1024
_MODULI: Final = (3072, 4096)
_CURVES: Final = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521", "secp224r1": "P-224"}


def validate_proven_key(uid: str, encoded: str, proof: str) -> Errors:
    """The errors of a public key and of a signature with it over the uid of the pod, both in base64."""
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    content, signature = base64.b64decode(encoded), base64.b64decode(proof)
    if len(content) > _REQUESTED_KEY_LARGEST:
        yield too_long(KEY, _REQUESTED_KEY_LARGEST)
    elif len(signature) > _REQUESTED_KEY_LARGEST:
        yield too_long(_PROOF, _REQUESTED_KEY_LARGEST)
    else:
        try:
            key = load_der_public_key(content)
        except unreadable():
            yield invalid_value(KEY, encoded or None, "must be a valid PKIX-serialized public key")
            return
        wrong = [*_validate_kind(KEY, key, encoded, "elliptic public keys must use curve P256 or P384")]
        yield from wrong
        if not wrong and not _is_signed(key, uid.encode(), signature):
            yield invalid_value(_PROOF, OMITTED, "could not verify proof-of-possession signature")


def validate_stub_request(content: bytes) -> Errors:
    """The errors of a signing request whose key alone counts."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    if len(content) > _REQUESTED_KEY_LARGEST:
        yield too_long(REQUEST, _REQUESTED_KEY_LARGEST)
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


def _validate_kind(path: str, key: PublicKeyTypes, shown: Any, curves: str) -> Errors:
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
        yield invalid_value(path, shown, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")


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


_CHAIN: Final = "status.certificateChain"
_TIMES: Final = ("notBefore", "notAfter", "beginRefreshAt")
_ISSUED_CHAIN_LARGEST: Final = 100 * 1024
_MARGIN: Final = timedelta(minutes=10)
_CERTIFICATE: Final = "CERTIFICATE"


def validate_chain(spec: Object, status: Object) -> Errors:
    """The errors of a chain of certificates, of its first one, and of the times that the status tells about it."""
    from cryptography import x509

    chain = status.get("certificateChain") or ""
    if len(chain.encode()) > _ISSUED_CHAIN_LARGEST:
        yield too_long(_CHAIN, _ISSUED_CHAIN_LARGEST)
        return
    found = list(entries(chain.encode()))
    if not found:
        yield invalid_value(_CHAIN, chain, "issued certificate chain must contain at least one certificate")
        return
    leaf, *others = found
    if leaf.label != _CERTIFICATE:
        text = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
        yield invalid_value(_CHAIN, chain, text)
    else:
        try:
            certificate = x509.load_der_x509_certificate(leaf.der)
            _ = certificate.extensions  # read when they are asked for, and Go reads all at once
        except unreadable():
            yield invalid_value(_CHAIN, chain, "leaf certificate does not parse as valid X.509")
            return
        wrong = [*_validate_leaf(certificate, spec, status, chain)]
        yield from wrong or _validate_others(others, chain)


def _validate_leaf(leaf: x509.Certificate, spec: Object, status: Object, chain: str) -> Errors:
    wrong = [*_validate_names(leaf)]
    yield from wrong
    try:
        wanted = _requested(spec)
    except unreadable():
        stub = spec.get("stubPKCS10Request")
        text = NO_REQUEST if stub else "must be a valid PKIX-serialized public key"
        yield invalid_value(REQUEST if stub else KEY, OMITTED, text)
        return
    if wanted != _key_of(leaf):
        yield invalid_value(_CHAIN, chain, "leaf certificate was not issued to the requested public key")
        return
    missing = [*_validate_presence(status)]
    yield from missing
    if not wrong and not missing:
        yield from islice(_validate_times(leaf, spec, status), 1)


def _validate_names(leaf: x509.Certificate) -> Errors:
    """The errors of alternative names that no host can have."""
    from cryptography import x509

    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    for name in names.get_values_for_type(x509.DNSName):
        if not name:
            yield invalid_value(_CHAIN, name, "leaf certificate should not contain empty DNSName")
        if ".." in name:
            yield invalid_value(_CHAIN, name, "leaf certificate's DNSName should not contain '..'")
        if name.startswith(".") or name.endswith("."):
            yield invalid_value(_CHAIN, name, "leaf certificate's DNSName should not start or end with '.'")


def _requested(spec: Object) -> bytes:
    """The public key that a request names, in one form."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    if spec.get("stubPKCS10Request"):
        return _written(x509.load_der_x509_csr(base64.b64decode(spec["stubPKCS10Request"])).public_key())
    return _written(load_der_public_key(base64.b64decode(spec.get("pkixPublicKey") or "")))


def _key_of(leaf: x509.Certificate) -> bytes:
    """The public key of a certificate in one form; empty for one of an unknown kind."""
    try:
        return _written(leaf.public_key())
    except unreadable():
        return b""


def _written(key: PublicKeyTypes) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _validate_presence(status: Object) -> Errors:
    for name in _TIMES:
        if not status.get(name):
            last = name == "beginRefreshAt"
            text = (
                "in the range [notbefore+10min, notafter-10min]" if last else "consistent with the issued certificate"
            )
            yield required(f"status.{name}", f"must be present and {text}")


def _validate_times(leaf: x509.Certificate, spec: Object, status: Object) -> Errors:
    """The errors of the times, of which the first is told."""
    begin, end, refresh = (datetime.fromisoformat(status[name]).astimezone(UTC) for name in _TIMES)
    for name, told, real in (
        ("notBefore", begin, leaf.not_valid_before_utc),
        ("notAfter", end, leaf.not_valid_after_utc),
    ):
        if told != real:
            text = f"must be set to the N{name[1:]} time encoded in the leaf certificate"
            yield invalid_value(f"status.{name}", status[name], text)
    lifetime = leaf.not_valid_after_utc - leaf.not_valid_before_utc
    most = spec.get("maxExpirationSeconds") or 0
    nanoseconds = lifetime // timedelta(microseconds=1) * 1000
    if lifetime < timedelta(hours=1):
        yield invalid_value(_CHAIN, nanoseconds, "leaf certificate lifetime must be >= 1 hour")
    if lifetime > timedelta(seconds=most):
        yield invalid_value(
            _CHAIN, nanoseconds, f"leaf certificate lifetime must be <= spec.maxExpirationSeconds ({most})"
        )
    for passed, place in ((refresh - begin, "after status.notBefore"), (end - refresh, "before status.notAfter")):
        if passed < _MARGIN:
            text = f"must be at least 10 minutes {place}"
            yield invalid_value("status.beginRefreshAt", status["beginRefreshAt"], text)


def _validate_others(others: list[Entry], chain: str) -> Errors:
    from cryptography import x509

    for entry in others:
        if entry.label != _CERTIFICATE:
            text = "issued certificate chain must consist entirely of CERTFICATE PEM blocks"
            yield invalid_value(_CHAIN, chain, text)
            return
        try:
            x509.load_der_x509_certificate(entry.der)
        except unreadable():
            yield invalid_value(_CHAIN, chain, "intermediate certificate does not parse as valid X.509")
            return
