"""Validation of PEM certificates and certificate requests in base64 fields.

Follows ``pkg/apis/certificates/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from simkit.meta.certificate_errors import unreadable
from simkit.meta.fielderror import Shown

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

_BEGIN: Final = re.compile(rb"^-----BEGIN ([^-\n]++)-----(\s*+)", re.MULTILINE)
_END: Final = re.compile(rb"^-----END ([^-\n]++)-----", re.MULTILINE)
_CERTIFICATE: Final = "CERTIFICATE"
_KEY: Final = "PRIVATE KEY"
_SEQUENCE: Final = 0x30


def octets(encoded: str | None) -> Shown:
    """Bytes as Go prints them."""
    if encoded is None:
        return Shown("[]byte(nil)", None)
    return Shown(f"[]byte{{{', '.join(hex(one) for one in base64.b64decode(encoded))}}}", encoded)


def blocks(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Each block of a PEM text: its type and its bytes. Other text and headers are skipped."""
    return ((entry.label, entry.der) for entry in entries(content))


class Entry(NamedTuple):
    """One block of a PEM text: its type, whether it has headers, and its bytes without these."""

    label: str
    headed: bool
    der: bytes


def entries(content: bytes) -> Iterator[Entry]:
    """Each block of a PEM text that can be decoded, with or without headers. Other text is skipped."""
    for label, body in _labelled(content):
        headed = b":" in body
        if headed:
            body = b"\n".join(line for line in body.splitlines() if b":" not in line)
        try:
            der = base64.b64decode(b"".join(body.split()), validate=True)
        except ValueError:
            continue
        yield Entry(label.decode("utf-8", "replace"), headed, der)


def _labelled(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The label and the text of each block, in one pass."""
    ends: dict[bytes, list[int]] = {}
    for end in _END.finditer(content):
        ends.setdefault(end[1], []).append(end.start())
    reached = 0
    for begin in _BEGIN.finditer(content):
        if begin.start() < reached or b"\n" not in begin[2]:
            continue
        known = ends.get(begin[1], ())
        place = bisect_left(known, begin.end())
        if place < len(known):
            reached = known[place]
            yield begin[1], content[begin.end() : reached].removesuffix(b"\n")


def request_error(encoded: str | None) -> str:
    """The reason why a text is no certificate request with a valid signature; empty if it is one.

    Other extensions than alternative names are read too, so that nothing later fails on them; Go passes them over.
    """
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    label, der = next(blocks(base64.b64decode(encoded or "")), ("", b""))
    if label != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        request = x509.load_der_x509_csr(der)
    except unreadable():
        return _not_asn1(der)
    try:
        if not request.is_signature_valid:
            return _unverified(request.public_key())
        request.extensions  # noqa: B018 - read here, and found broken or not
    except x509.DuplicateExtension:
        return "x509: certificate request contains duplicate requested extensions"
    except UnsupportedAlgorithm:
        return "x509: cannot verify signature: algorithm unimplemented"
    except unreadable():
        return "x509: invalid subject alternative names"
    return ""


def _unverified(key: PublicKeyTypes) -> str:
    """Go's error for a signature that does not match a key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if isinstance(key, RSAPublicKey):
        return "crypto/rsa: verification error"
    return f"x509: {'Ed25519' if isinstance(key, Ed25519PublicKey) else 'ECDSA'} verification failure"


def _not_asn1(der: bytes) -> str:
    """Go's error for bytes that are no ASN.1 sequence, or are truncated."""
    if not der:
        return "asn1: syntax error: sequence truncated"
    if der[0] != _SEQUENCE:
        kind, tag, compound = der[0] >> 6, der[0] & 0x1F, "true" if der[0] & 0x20 else "false"
        length = der[1] if len(der) > 1 else 0
        found = f"{{class:{kind} tag:{tag} length:{length} isCompound:{compound}}}"
        wanted = "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> "
        wanted += "stringType:0 timeType:0 set:false omitEmpty:false}"
        return f"asn1: structure error: tags don't match (16 vs {found}) {wanted} certificateRequest @2"
    return "asn1: syntax error: data truncated"


def certificates_error(encoded: str | None) -> str:
    """The reason why a text is no list of certificates; empty if it is one, or empty."""
    if not encoded:
        return ""
    from cryptography import x509

    found = list(entries(base64.b64decode(encoded)))
    for label, headed, der in found:
        if label != _CERTIFICATE:
            return f'only CERTIFICATE PEM blocks are allowed, found "{label}"'
        if headed:
            return "no PEM block headers are permitted"
        if not der:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            x509.load_der_x509_certificate(der)
        except unreadable():
            return "x509: malformed certificate"
    return "" if found else "must contain at least one CERTIFICATE PEM block"


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
