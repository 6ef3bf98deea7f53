"""The certificate authority of a cluster: read from files, or generated at first use.

Upstream: pkg/controller/certificates/authority, release 1.30.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.meta.clock import Clock, NameSource
from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from cryptography import x509

_NAME: Final = "simkit-ca"
_LIFETIME: Final = timedelta(days=3650)
_BACKDATED: Final = timedelta(minutes=5)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SigningPolicy:
    """The usages and the lifetime (seconds) of a certificate to be signed."""

    usages: tuple[str, ...]
    seconds: int


class CertificateAuthority:
    """A CA certificate with its key. Without files both are generated at first use; a seed makes them repeatable.

    Notes
    -----
    Using it imports cryptography.
    """

    def __init__(
        self,
        clock: Clock,
        name_source: NameSource,
        certificate: str | Path | None = None,
        key: str | Path | None = None,
        bundle: str | Path | None = None,
    ) -> None:
        self._clock, self._name_source = clock, name_source
        self._files = (certificate, key)
        self._bundle_file = bundle or certificate
        self._lock = threading.Lock()
        self._origin: CertificateAuthority | None = None

    def fork(self, clock: Clock) -> CertificateAuthority:
        """The same authority, its pair included, that signs by another clock."""
        forked = CertificateAuthority(clock, self._name_source, *self._files, self._bundle_file)
        forked._origin = self
        return forked

    @cached_property
    def bundle(self) -> str:
        """The certificate by which clients know the server, as PEM. Raises SimkitError for a file that is none."""
        if self._bundle_file is not None:
            return _read(self._bundle_file).decode()
        from cryptography.hazmat.primitives.serialization import Encoding

        pem: bytes = self._pair[0].public_bytes(Encoding.PEM)
        return pem.decode()

    @cached_property
    def _pair(self) -> tuple[x509.Certificate, Any]:
        if self._origin is not None:
            with self._origin._lock:
                return self._origin._pair
        certificate, key = self._files
        if certificate is None or key is None:
            return self._made()
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            return x509.load_pem_x509_certificate(_read(certificate)), load_pem_private_key(_read(key), None)
        except ValueError as error:
            raise SimkitError(f"{certificate} and {key} are no authority: {error}") from None

    def _made(self) -> tuple[x509.Certificate, Any]:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.x509.oid import NameOID

        seed = bytes.fromhex((self._name_source.uid() + self._name_source.uid()).replace("-", ""))
        key = Ed25519PrivateKey.from_private_bytes(seed)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
        now = datetime.fromtimestamp(int(self._clock.now()), UTC)
        builder = (
            x509.CertificateBuilder(name, name, key.public_key(), self._serial())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _LIFETIME)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(("digital signature", "cert sign", "crl sign")), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return builder.sign(key, None), key

    def _serial(self) -> int:
        return int(self._name_source.uid().replace("-", ""), 16) >> 1

    def sign(self, request: x509.CertificateSigningRequest, wish: SigningPolicy) -> str:
        """The certificate for a request, as PEM: its subject and names, valid for what is wished."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding

        with self._lock:
            own, key = self._pair
        now = datetime.fromtimestamp(int(self._clock.now()), UTC)
        end = min(now + timedelta(seconds=wish.seconds), own.not_valid_after_utc)
        builder = (
            x509.CertificateBuilder(own.subject, request.subject, request.public_key(), self._serial())
            .not_valid_before(now - _BACKDATED)
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        )
        if not _OF_KEYS.isdisjoint(wish.usages):  # OpenSSL refuses a certificate that lists none of them
            builder = builder.add_extension(_key_usage(wish.usages), critical=True)
        extended = [_EXTENDED[usage] for usage in wish.usages if usage in _EXTENDED]
        if extended:
            oids = [x509.ObjectIdentifier(oid) for oid in extended]
            builder = builder.add_extension(x509.ExtendedKeyUsage(oids), critical=False)
        try:
            names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
            builder = builder.add_extension(names.value, critical=names.critical)
        except x509.ExtensionNotFound:
            pass
        algorithm = None if isinstance(key, Ed25519PrivateKey) else hashes.SHA256()
        return builder.sign(key, algorithm).public_bytes(Encoding.PEM).decode()


_OF_KEYS: Final = frozenset(
    {
        *("digital signature", "signing", "content commitment", "key encipherment", "data encipherment"),
        *("key agreement", "cert sign", "crl sign"),
    }
)
"""Usages of the key itself."""
_EXTENDED: Final = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}
"""Extended usages by the words of signing requests."""


def _key_usage(usages: tuple[str, ...]) -> x509.KeyUsage:
    from cryptography import x509

    agreement = "key agreement" in usages
    return x509.KeyUsage(
        digital_signature="digital signature" in usages or "signing" in usages,
        content_commitment="content commitment" in usages,
        key_encipherment="key encipherment" in usages,
        data_encipherment="data encipherment" in usages,
        key_agreement=agreement,
        key_cert_sign="cert sign" in usages,
        crl_sign="crl sign" in usages,
        encipher_only=agreement and "encipher only" in usages,
        decipher_only=agreement and "decipher only" in usages,
    )


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SimkitError(f"cannot read {path}: {error}") from None
