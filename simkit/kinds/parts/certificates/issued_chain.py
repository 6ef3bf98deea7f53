"""Validation of the certificates that a signer issues for a pod.

Follows ``pkg/apis/certificates/validation/validation.go`` (``ValidatePodCertificateRequestStatusUpdate``),
release 1.36.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from simkit.kinds.parts.certificates.requested_key import KEY, NO_REQUEST, REQUEST
from simkit.kinds.parts.validation.pem import Entry, entries
from simkit.meta.certificate_errors import unreadable
from simkit.meta.fielderror import OMITTED, FieldError, invalid_value, required, too_long
from simkit.meta.objects import Object

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

_CHAIN: Final = "status.certificateChain"
_TIMES: Final = ("notBefore", "notAfter", "beginRefreshAt")
_LARGEST: Final = 100 * 1024
_MARGIN: Final = timedelta(minutes=10)
_CERTIFICATE: Final = "CERTIFICATE"


def validate_chain(spec: Object, status: Object) -> Iterator[FieldError]:
    """The errors of a chain of certificates, of its first one, and of the times that the status tells about it."""
    from cryptography import x509

    chain = status.get("certificateChain") or ""
    if len(chain.encode()) > _LARGEST:
        yield too_long(_CHAIN, _LARGEST)
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


def _validate_leaf(leaf: x509.Certificate, spec: Object, status: Object, chain: str) -> Iterator[FieldError]:
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
        yield from _first(_validate_times(leaf, spec, status))


def _validate_names(leaf: x509.Certificate) -> Iterator[FieldError]:
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


def _validate_presence(status: Object) -> Iterator[FieldError]:
    for name in _TIMES:
        if not status.get(name):
            last = name == "beginRefreshAt"
            text = (
                "in the range [notbefore+10min, notafter-10min]" if last else "consistent with the issued certificate"
            )
            yield required(f"status.{name}", f"must be present and {text}")


def _validate_times(leaf: x509.Certificate, spec: Object, status: Object) -> Iterator[FieldError]:
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
    if lifetime < timedelta(hours=1):
        yield invalid_value(_CHAIN, _nanoseconds(lifetime), "leaf certificate lifetime must be >= 1 hour")
    if lifetime > timedelta(seconds=most):
        text = f"leaf certificate lifetime must be <= spec.maxExpirationSeconds ({most})"
        yield invalid_value(_CHAIN, _nanoseconds(lifetime), text)
    if refresh - begin < _MARGIN:
        yield invalid_value("status.beginRefreshAt", status["beginRefreshAt"], _far("after status.notBefore"))
    if end - refresh < _MARGIN:
        yield invalid_value("status.beginRefreshAt", status["beginRefreshAt"], _far("before status.notAfter"))


def _far(place: str) -> str:
    return f"must be at least 10 minutes {place}"


def _nanoseconds(passed: timedelta) -> int:
    return passed // timedelta(microseconds=1) * 1000


def _first(errors: Iterator[FieldError]) -> Iterator[FieldError]:
    found = next(errors, None)
    if found is not None:
        yield found


def _validate_others(others: list[Entry], chain: str) -> Iterator[FieldError]:
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
