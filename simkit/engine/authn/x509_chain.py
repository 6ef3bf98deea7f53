"""Verification of client certificate chains: the path from a leaf to a trusted authority at a moment.

The library's own verifier (``cryptography.x509.verification``) refuses certificates of version 1, whatever its
extension policies allow. ``openssl x509 -req`` makes them by default, and kube-apiserver accepts them, both as leaves
and as trusted roots. So the path is built here, and the library checks each signature.

References
----------
Go's crypto/x509, ``Certificate.Verify`` with ``ExtKeyUsageClientAuth``, release 1.22, which kube-apiserver 1.30 is
built with; k8s.io/apiserver/pkg/authentication/request/x509/x509.go, release 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from simkit.meta.certificate_errors import unreadable

_LONGEST: Final = 10
MOST_SIGNATURE_CHECKS: Final = 100
"""The most signatures that are checked for one chain, as in Go's ``maxChainSignatureChecks``."""
_UNDERSTOOD: Final = {
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.KEY_USAGE,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.NAME_CONSTRAINTS,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    ExtensionOID.CERTIFICATE_POLICIES,
}
_ANY_USE: Final = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}


Path = tuple[x509.Certificate, ...]
"""Leaf first, trusted certificate last."""


class Untrusted(Exception):
    """A chain without a path to a trusted authority; the text is the reason."""


class TooManyChecks(Untrusted):
    """A chain with too many possible paths."""


def load_authorities(pem: bytes) -> list[x509.Certificate]:
    """The certificates of a PEM bundle. Raises ValueError if there are none, or one cannot be read."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except unreadable() as error:
        raise ValueError(str(error)) from error


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
    path, as kube-apiserver's library does. At most ``MOST_SIGNATURE_CHECKS`` signatures are checked. Name constraints
    are not weighed: a leaf that carries alternative names is refused under an authority with such constraints.
    """
    try:
        leaf, *others = (x509.load_der_x509_certificate(raw) for raw in chain)
        moment = datetime.fromtimestamp(now, UTC)
        _check(leaf, moment)
        return _PathBuilder(others, tuple(trusted), moment).climb((leaf,))
    except unreadable() as error:
        raise Untrusted(f"the certificate cannot be read: {error}") from error


def steady_span(chain: Sequence[bytes], trusted: Iterable[x509.Certificate], now: float) -> tuple[float, float]:
    """The seconds around a moment between which the validity of no certificate begins or ends.

    Whatever ``verify_client`` says at the moment, it says throughout the span.
    """
    try:
        involved = [*(x509.load_der_x509_certificate(raw) for raw in chain), *trusted]
    except unreadable():
        return float("-inf"), float("inf")
    begins = [certificate.not_valid_before_utc.timestamp() for certificate in involved]
    ends = [certificate.not_valid_after_utc.timestamp() for certificate in involved]
    earlier = [at for at in begins if at <= now] + [math.nextafter(at, math.inf) for at in ends if at < now]
    later = [math.nextafter(at, -math.inf) for at in begins if at > now] + [at for at in ends if at >= now]
    return max(earlier, default=float("-inf")), min(later, default=float("inf"))


class _PathBuilder:
    """Builds the path of one chain and counts the checked signatures."""

    def __init__(
        self, others: Sequence[x509.Certificate], trusted: Sequence[x509.Certificate], moment: datetime
    ) -> None:
        self._others, self._trusted, self._moment = others, trusted, moment
        self._checks = 0

    def climb(self, path: Path) -> Path:
        """The path, extended until it ends in a trusted certificate. Raises the last reason if none does."""
        current = path[-1]
        if current in self._trusted:
            return path
        if len(path) > _LONGEST:
            raise Untrusted("the chain of certificates is too long")
        reason = Untrusted("certificate signed by unknown authority")
        for issuer in (*self._trusted, *self._others):
            if issuer in path or issuer.subject != current.issuer or not self._issued(current, issuer):
                continue
            try:
                _check(issuer, self._moment)
                _check_authority(issuer, path, trusted=issuer in self._trusted)
                return self.climb((*path, issuer))
            except TooManyChecks:
                raise
            except Untrusted as error:
                reason = error
        raise reason

    def _issued(self, certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
        self._checks += 1
        if self._checks > MOST_SIGNATURE_CHECKS:
            raise TooManyChecks("signature check attempts limit reached while verifying certificate chain")
        return _issued(certificate, issuer)


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


def _check_authority(issuer: x509.Certificate, path: Sequence[x509.Certificate], *, trusted: bool) -> None:
    """Check that an authority may sign, within its path length, and without name constraints.

    Certificates of version 1 have no extensions that could say so: they sign where they are trusted themselves, as in
    Go's ``CheckSignatureFrom``.
    """
    if trusted and issuer.version is x509.Version.v1:
        return
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
