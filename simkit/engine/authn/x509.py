"""Client certificates: the common name is the user, each organization is a group.

References
----------
k8s.io/apiserver/pkg/authentication/request/x509/x509.go, release 1.30.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from simkit.engine.egress.files import DynamicFile
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.certificate_errors import unreadable
from simkit.meta.clock import Clock
from simkit.meta.domain import label
from simkit.meta.errors import SimkitError, unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from simkit.engine.authn.x509_chain import Untrusted

_REMEMBERED: Final = 1024
_UID: Final = "1.3.6.1.4.1.57683.2"
"""The attribute of a subject that holds a uid."""
_NO_UID: Final = "\0"
_IDENTIFIER: Final = label("credential-id", "authentication")


class ChainVerifier:
    """Verifies client chains against the authorities of a PEM bundle, on the given clock.

    Notes
    -----
    What was found of a chain is remembered until the clock leaves the span in which it holds, so that the second
    request of a connection costs a dictionary look-up, whether the chain was accepted or refused. cryptography is
    imported at the first certificate.
    """

    def __init__(self, authorities: bytes, clock: Clock) -> None:
        if b"-----BEGIN CERTIFICATE-----" not in authorities:
            raise SimkitError("the bundle of certificate authorities holds no certificate in PEM form")
        self._pem, self._clock = authorities, clock
        self._trusted: tuple[Certificate, ...] = ()
        self._verified: OrderedDict[tuple[bytes, ...], tuple[float, float, Identity | Untrusted | None]] = OrderedDict()
        self._lock = Lock()

    def trust(self, authorities: bytes) -> None:
        """Read a PEM bundle now, instead of at the first chain. Raises SimkitError if it is invalid."""
        from simkit.engine.authn.x509_chain import load_authorities

        try:
            self._trusted = tuple(load_authorities(authorities))
        except ValueError as error:
            raise SimkitError(f"the bundle of certificate authorities cannot be read: {error}") from error

    def verify(self, chain: tuple[bytes, ...]) -> Identity | None:
        """The subject of the leaf; None if it has no common name. Raises a 401 StatusError for an invalid chain."""
        now = self._clock.now()
        known = self._verified.get(chain)
        if known is not None and known[0] <= now <= known[1]:
            return _accepted(known[2])
        return _accepted(self._verify_anew(chain, now))

    def _verify_anew(self, chain: tuple[bytes, ...], now: float) -> Identity | Untrusted | None:
        from simkit.engine.authn.x509_chain import Untrusted, load_authorities, steady_span, verify_client

        if not self._trusted:
            self._trusted = tuple(load_authorities(self._pem))
        result: Identity | Untrusted | None
        try:
            path = verify_client(chain, self._trusted, now)
            result = _subject_of(path[0])
        except Untrusted as error:
            result = error.with_traceback(None)
            first, last = steady_span(chain, self._trusted, now)
        else:
            first = max(certificate.not_valid_before_utc.timestamp() for certificate in path)
            last = min(certificate.not_valid_after_utc.timestamp() for certificate in path)
        with self._lock:
            self._verified[chain] = (first, last, result)
            while len(self._verified) > _REMEMBERED:
                self._verified.popitem(last=False)
        return result


def _subject_of(certificate: Certificate) -> Identity | None:
    """The identity in a certificate. Raises Untrusted where its subject, read only now, is no list of texts."""
    from simkit.engine.authn.x509_chain import Untrusted

    try:
        return subject(certificate)
    except unreadable() as error:
        raise Untrusted(f"the subject of the certificate cannot be read: {error}") from error


def _accepted(result: Identity | Exception | None) -> Identity | None:
    """The identity of a verified chain. Raises the 401 of a refused one."""
    if isinstance(result, Exception):
        raise unauthorized() from result
    return result


class DynamicAuthorities:
    """Authorities in a file that is reloaded when it changes.

    Parameters
    ----------
    path
        A PEM bundle. A change that leaves no readable bundle counts for nothing, with a warning in the log.
    others
        A PEM bundle of further authorities, which stay.
    clock
        On which certificates begin and end, and the next look at the file is due.

    Raises
    ------
    SimkitError
        For a file that holds no bundle at the start.
    """

    def __init__(self, path: Path, others: bytes, clock: Clock) -> None:
        def made(content: bytes) -> ChainVerifier:
            verifier = ChainVerifier(content, clock)
            verifier.trust(content + b"\n" + others)
            return verifier

        self._file = DynamicFile(path, made, clock)

    def verify(self, chain: tuple[bytes, ...]) -> Identity | None:
        """The result of ``ChainVerifier.verify`` for the present authorities."""
        return self._file.current().verify(chain)


Authorities = bytes | DynamicAuthorities
"""A PEM bundle, or a file of one."""


def verifier_of(authorities: Authorities, clock: Clock) -> ChainVerifier | DynamicAuthorities:
    """A verifier of chains for some authorities. Raises SimkitError for a bundle without a certificate."""
    return ChainVerifier(authorities, clock) if isinstance(authorities, bytes) else authorities


class ClientCertificates:
    """Authenticates peers whose certificate chain leads to one of the client authorities.

    Parameters
    ----------
    authorities
        Those that vouch for users.
    clock
        On which certificates begin and end.
    """

    leaves_process: Final = False

    def __init__(self, behaviour: ServedBehaviour, authorities: Authorities, clock: Clock) -> None:
        self._behaviour, self._verifier = behaviour, verifier_of(authorities, clock)

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The subject as an identity; None without a certificate or without a common name. Raises 401."""
        found = self._verifier.verify(credentials.certificates) if credentials.certificates else None
        if found is None:
            return None
        told = found.extra if self._behaviour.applies("certificates-have-identifiers") else {}
        return Identity(found.user, found.groups, _own_uid(self._behaviour, found.uid), told)


def _own_uid(behaviour: ServedBehaviour, uid: str) -> str:
    """The uid of a subject, where the release reads it. Raises the 401 of several, and of an empty one."""
    if not uid or not behaviour.applies("uids-in-certificates"):
        return ""
    if uid == _NO_UID:
        raise unauthorized()
    return uid


def subject(certificate: Certificate) -> Identity | None:
    """The identity in a certificate's subject, with its uid and its digest; None if it has no common name."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import NameOID

    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if not names or not names[-1].value:
        return None
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return Identity(
        _text(names[-1].value),
        tuple(_text(group.value) for group in groups),
        _uid_of(certificate),
        {_IDENTIFIER: (f"X509SHA256={certificate.fingerprint(SHA256()).hex()}",)},
    )


def _uid_of(certificate: Certificate) -> str:
    """The uid in a subject; ``_NO_UID`` for several, for one that is empty, and for one that is no text."""
    from cryptography.x509 import ObjectIdentifier

    found = [uid.value for uid in certificate.subject.get_attributes_for_oid(ObjectIdentifier(_UID))]
    if not found:
        return ""
    return found[0] if len(found) == 1 and isinstance(found[0], str) and found[0] else _NO_UID


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
