"""Validation of PEM certificates and certificate requests in base64 fields.

Follows ``pkg/apis/certificates/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from simkit.meta.fielderror import Shown

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

_BLOCK: Final = re.compile(rb"-----BEGIN ([^-\n]+)-----\s*\n(.*?)\n?-----END \1-----", re.DOTALL)
_REQUEST: Final = b"CERTIFICATE REQUEST"
_CERTIFICATE: Final = b"CERTIFICATE"
_SEQUENCE: Final = 0x30


def octets(encoded: str | None) -> Shown:
    """Bytes as Go prints them."""
    if encoded is None:
        return Shown("[]byte(nil)")
    return Shown(f"[]byte{{{', '.join(hex(one) for one in base64.b64decode(encoded))}}}")


def blocks(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Each block of a PEM text: its type, and its bytes. What is no block is passed over, and so are headers."""
    for block in _BLOCK.finditer(content):
        body = block[2]
        if b":" in body:
            body = b"\n".join(line for line in body.splitlines() if b":" not in line)
        der = _decoded(body)
        if der is not None:
            yield block[1].decode("utf-8", "replace"), der


def request_fault(encoded: str | None) -> str:
    """Returns the reason why a text is no certificate request with a valid signature; empty where it is one."""
    from cryptography import x509

    block = _BLOCK.search(base64.b64decode(encoded or ""))
    if block is None or block[1] != _REQUEST:
        return "PEM block type must be CERTIFICATE REQUEST"
    der = _decoded(block[2])
    if der is None:
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        request = x509.load_der_x509_csr(der)
        signed = request.is_signature_valid
    except ValueError:
        return _not_asn1(der)
    return "" if signed else _unverified(request.public_key())


def _unverified(key: PublicKeyTypes) -> str:
    """Go's words for a signature that a key did not make."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if isinstance(key, RSAPublicKey):
        return "crypto/rsa: verification error"
    return f"x509: {'Ed25519' if isinstance(key, Ed25519PublicKey) else 'ECDSA'} verification failure"


def _decoded(text: bytes) -> bytes | None:
    try:
        return base64.b64decode(b"".join(text.split()), validate=True)
    except ValueError:
        return None


def _not_asn1(der: bytes) -> str:
    """Go's words for bytes that do not begin as a sequence, or end too early."""
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


def certificates_fault(encoded: str | None) -> str:
    """Returns the reason why a text is no list of certificates; empty where it is one, or empty."""
    if not encoded:
        return ""
    from cryptography import x509

    content = base64.b64decode(encoded)
    found = False
    for block in _BLOCK.finditer(content):
        headed = b":" in block[2]
        der = b"" if headed else _decoded(block[2])
        if der is None:
            continue
        found = True
        if block[1] != _CERTIFICATE:
            return f'only CERTIFICATE PEM blocks are allowed, found "{block[1].decode()}"'
        if headed:
            return "no PEM block headers are permitted"
        if not der:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            x509.load_der_x509_certificate(der)
        except ValueError:
            return "x509: malformed certificate"
    return "" if found else "must contain at least one CERTIFICATE PEM block"
