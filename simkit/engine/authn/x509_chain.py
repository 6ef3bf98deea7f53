"""Whether a certificate chain leads to a trusted authority at a moment, for the use as a client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

_LONGEST: Final = 10
_UNDERSTOOD: Final = {
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.KEY_USAGE,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.NAME_CONSTRAINTS,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    ExtensionOID.CERTIFICATE_POLICIES,
}
_UNREADABLE: Final = (
    ValueError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What the library raises for certificates that somebody made up."""
_ANY_USE: Final = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}


Path = tuple[x509.Certificate, ...]
"""Leaf first, trusted certificate last."""


class Untrusted(Exception):
    """A chain that leads nowhere; the text says why."""


def load_authorities(pem: bytes) -> list[x509.Certificate]:
    """The certificates of a PEM bundle. Raises ValueError where it holds none."""
    return x509.load_pem_x509_certificates(pem)


def verify_client(chain: Sequence[bytes], trusted: Iterable[x509.Certificate], now: float) -> Path:
    """The path from the leaf of a DER chain to a trusted certificate, both included.

    Parameters
    ----------
    chain
        What the peer sent, leaf first; the rest may help to build the path, in any order.
    trusted
        Certificates that end a path, whether or not they are self-signed.
    now
        Seconds since the epoch at which everything on the path must be valid.

    Raises
    ------
    Untrusted
        Says what is wrong with the leaf, or that no path leads from it.

    Notes
    -----
    Checks signatures, validity, critical extensions, the uses for which certificates were made and the length of the
    path, as the real server's library does. Name constraints are not weighed: a leaf that carries alternative names
    is refused under an authority with such constraints.
    """
    try:
        leaf, *others = (x509.load_der_x509_certificate(raw) for raw in chain)
        moment = datetime.fromtimestamp(now, UTC)
        _check(leaf, moment)
        return _climb((leaf,), others, tuple(trusted), moment)
    except _UNREADABLE as error:
        raise Untrusted(f"the certificate cannot be read: {error}") from error


def _climb(
    path: Path, others: Sequence[x509.Certificate], trusted: Sequence[x509.Certificate], moment: datetime
) -> Path:
    """The path, lengthened until it ends in a trusted certificate; raises the last reason where none does."""
    current = path[-1]
    if current in trusted:
        return path
    if len(path) > _LONGEST:
        raise Untrusted("the chain of certificates is too long")
    reason = Untrusted("certificate signed by unknown authority")
    for issuer in (*trusted, *others):
        if issuer in path or not _issued(current, issuer):
            continue
        try:
            _check(issuer, moment)
            _check_authority(issuer, path)
            return _climb((*path, issuer), others, trusted, moment)
        except Untrusted as error:
            reason = error
    raise reason


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _check(certificate: x509.Certificate, moment: datetime) -> None:
    if moment < certificate.not_valid_before_utc:
        raise Untrusted(f"certificate is not yet valid: it starts at {certificate.not_valid_before_utc.isoformat()}")
    if moment > certificate.not_valid_after_utc:
        raise Untrusted(f"certificate has expired at {certificate.not_valid_after_utc.isoformat()}")
    for extension in certificate.extensions:
        if extension.critical and extension.oid not in _UNDERSTOOD:
            raise Untrusted(f"unhandled critical extension {extension.oid.dotted_string}")
        if isinstance(extension.value, x509.ExtendedKeyUsage) and _ANY_USE.isdisjoint(extension.value):
            raise Untrusted("certificate specifies an incompatible key usage")


def _check_authority(issuer: x509.Certificate, path: Sequence[x509.Certificate]) -> None:
    """An authority may sign, may have this many authorities below it, and says nothing about the leaf's names."""
    values = {type(extension.value): extension.value for extension in issuer.extensions}
    constraints = values.get(x509.BasicConstraints)
    if not isinstance(constraints, x509.BasicConstraints) or not constraints.ca:
        raise Untrusted("the issuer is not a certificate authority")
    if constraints.path_length is not None and len(path) - 1 > constraints.path_length:
        raise Untrusted("too many intermediates for the path length")
    usage = values.get(x509.KeyUsage)
    if isinstance(usage, x509.KeyUsage) and not usage.key_cert_sign:
        raise Untrusted("the issuer may not sign certificates")
    if x509.NameConstraints in values and _has_names(path[0]):
        raise Untrusted("the issuer constrains names, and the certificate has alternative names")


def _has_names(certificate: x509.Certificate) -> bool:
    return any(isinstance(extension.value, x509.SubjectAlternativeName) for extension in certificate.extensions)
