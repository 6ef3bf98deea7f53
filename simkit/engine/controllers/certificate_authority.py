"""The certificate authority of a cluster, and the config maps that publish it."""

from __future__ import annotations

import ssl
import threading
from base64 import encodebytes
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.client.controller import Client
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import create, expect, replace
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import CONFIG_MAPS, NAMESPACES
from simkit.kinds.parts.validation.pem import blocks
from simkit.meta import datasets
from simkit.meta.clock import Clock, NameSource
from simkit.meta.domain import API_SERVER, SYSTEM_NAMESPACE, label
from simkit.meta.errors import SimkitError
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import annotations_of, with_metadata
from simkit.meta.unreadable import UnreadableObject
from simkit.seams import Change, Store

if TYPE_CHECKING:
    from cryptography import x509

# The certificate authority of a cluster: read from files, or generated at first use.
# Upstream: pkg/controller/certificates/authority, release 1.30.

_NAME: Final = "simkit-ca"
_KEYLESS: Final = "bootstrap/authority.pem"
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
        """The certificate by which clients know the server, as PEM. Raises SimkitError for a file that is none.

        Where cryptography is not installed, as in browsers, it is one whose key does not exist.
        """
        if self._bundle_file is not None:
            return _read(self._bundle_file).decode()
        try:
            from cryptography.hazmat.primitives.serialization import Encoding
        except ModuleNotFoundError:
            return datasets.path(_KEYLESS).read_text()

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


# Publishes the CA certificate in the config map kube-root-ca.crt of every namespace.
# Upstream: pkg/controller/certificates/rootcacertpublisher, release 1.30.

_CONFIG_MAP: Final = "kube-root-ca.crt"
_NOTE: Final = label("description")
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class RootCACertPublisher(ResourceWatcher):
    """Creates and repairs the config map of each namespace."""

    name = "root-ca-certificate-publisher-controller"
    account = "root-ca-cert-publisher"

    def __init__(self, bundle: Callable[[], str]) -> None:
        super().__init__(NAMESPACES, CONFIG_MAPS)
        self._bundle = bundle

    def concerns(self, change: Change) -> bool:
        key = change.entry.key
        return key.resource == NAMESPACES or (key.resource == CONFIG_MAPS and key.name == _CONFIG_MAP)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        return [Key(NAMESPACES, "", key.namespace or key.name)]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        namespace = lister.get(key)
        if namespace is None or is_terminating(namespace):
            return
        data, present = {"ca.crt": self._bundle()}, lister.get(Key(CONFIG_MAPS, key.name, _CONFIG_MAP))
        if present is None:
            meta = {"name": _CONFIG_MAP, "annotations": {_NOTE: _DESCRIPTION}}
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
            expect(create(client, CONFIG_MAPS, key.name, made), 403, 404, 409)
        elif present.get("data") != data or not annotations_of(present).get(_NOTE):
            notes = {**annotations_of(present), _NOTE: _DESCRIPTION}
            expect(replace(client, CONFIG_MAPS, {**with_metadata(present, annotations=notes), "data": data}), 404, 409)


# Keeps what other servers of the cluster must know of this one in its config map, whoever else writes there.
# Upstream: pkg/controlplane/controller/clusterauthenticationtrust, release 1.30.

AUTHENTICATION: Final = Key(GroupResource("", "configmaps"), SYSTEM_NAMESPACE, "extension-apiserver-authentication")
"""The config map that tells other servers of the cluster whom to believe."""
_PROXIES: Final = "requestheader-client-ca-file"
_BUNDLES: Final = ("client-ca-file", _PROXIES)
_LISTS: Final = tuple(
    f"requestheader-{name}"
    for name in ("username-headers", "uid-headers", "group-headers", "extra-headers-prefix", "allowed-names")
)
_SLACK: Final = 300.0
"""Seconds after its end for which a certificate is still told."""


class ClusterAuthenticationTrust:
    """Merges what this server requires into the config map after every write to it.

    Parameters
    ----------
    required
        Gives the content that must be there; empty where this server asks for nothing.
    perform
        Sends a request as the server itself.
    """

    def __init__(
        self,
        store: Store,
        required: Callable[[], Mapping[str, str]],
        perform: Callable[[Request], object],
        clock: Clock,
    ) -> None:
        self._store, self._required, self._perform, self._clock = store, required, perform, clock
        self._news = False

    def follow(self, changes: Sequence[Change]) -> None:
        """Hear what was written."""
        for change in changes:
            if change.entry.key == AUTHENTICATION:
                self._news = True

    def publish(self) -> None:
        """Write the config map, as a server does when it starts."""
        self._news = True
        self.settle()

    def settle(self) -> None:
        """Put back what is missing, if the config map was written or deleted. What cannot be read is left as it is."""
        required = self._required() if self._news else {}
        self._news = False
        if not required:
            return
        try:
            entry = self._store.get(AUTHENTICATION)
            present: Mapping[str, str] = (entry.object.get("data") or {}) if entry is not None else {}
            combined = combine(present, required, self._clock.now())
        except (ValueError, UnreadableObject):
            return
        if entry is None or combined != present:
            self._perform(_written(combined, None if entry is None else entry.object))


def _written(content: Mapping[str, str], present: Mapping[str, Any] | None) -> Request:
    path, headers = f"/api/v1/namespaces/{AUTHENTICATION.namespace}/configmaps", {"user-agent": API_SERVER}
    if present is not None:
        return Request.of("PUT", f"{path}/{AUTHENTICATION.name}", {**present, "data": content}, headers=headers)
    named = {"name": AUTHENTICATION.name, "namespace": AUTHENTICATION.namespace}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": content}
    return Request.of("POST", path, body, headers=headers)


def combine(present: Mapping[str, str], required: Mapping[str, str], now: float) -> dict[str, str]:
    """Both contents in one: each certificate and each name once, certificates that have ended left out.

    Raises
    ------
    ValueError
        For lists and certificates that cannot be read.
    """
    bundles = {name: _bundle(present.get(name, ""), required.get(name, ""), now) for name in _BUNDLES}
    lists = {name: _names(present.get(name, ""), required.get(name, "")) for name in _LISTS}
    if not bundles[_PROXIES]:
        lists = {}
    return {name: text for name, text in {**bundles, **lists}.items() if text}


def _names(*texts: str) -> str:
    lists = [orjson.loads(text) for text in texts if text]
    if not all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists):
        raise ValueError("data contains what is no list of names")
    return orjson.dumps(list(dict.fromkeys(chain.from_iterable(lists)))).decode()


def _bundle(present: str, required: str, now: float) -> str:
    found: dict[bytes, None] = {}
    for text in (present, required):
        certificates = [der for kind, der in blocks(text.encode()) if kind == "CERTIFICATE"]
        if text and not certificates:
            raise ValueError("data does not contain any certificates")
        found |= dict.fromkeys(der for der in certificates if _end(der) > now - _SLACK)
    return "".join(map(_pem, found))


def _end(der: bytes) -> float:
    """The moment until which a certificate is valid, as OpenSSL tells it of authorities. Others are parsed.

    Raises ValueError for bytes that are no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=der)
    except ssl.SSLError as error:
        raise ValueError("data contains a certificate that cannot be parsed") from error
    told = context.get_ca_certs()
    if told:
        return ssl.cert_time_to_seconds(str(told[0]["notAfter"]))
    from cryptography.x509 import load_der_x509_certificate  # costs a server an eighth of its memory at rest

    return load_der_x509_certificate(der).not_valid_after_utc.timestamp()


def _pem(der: bytes) -> str:
    encoded = encodebytes(der).replace(b"\n", b"").decode()
    lines = (encoded[start : start + 64] for start in range(0, len(encoded), 64))
    return "\n".join(("-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""))
