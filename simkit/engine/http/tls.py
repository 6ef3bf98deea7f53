"""TLS settings of a listener: its own certificate, and the request for client certificates.

References
----------
k8s.io/apiserver/pkg/server/secure_serving.go, release 1.30.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simkit.engine.http.request_client_cert import name_authorities, request_client_cert
from simkit.meta.errors import SimkitError

_NO_CHECK_TIME: Final = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which the ssl module does not name."""


_VERSIONS: Final = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
_OF_TLS13: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Cipher suites that TLS 1.3 always has; listing them has no effect."""


@dataclass(frozen=True, slots=True)
class TLSOptions:
    """The settings of TLS. Names are those of kube-apiserver's flags: ``VersionTLS13``, ``TLS_ECDHE_RSA_...``."""

    minimum: str = ""
    """The minimum version; 1.2 by default."""
    suites: Sequence[str] = ()
    """The cipher suites of TLS 1.2; the library's by default."""
    named: Sequence[tuple[Path, Path, Sequence[str]]] = ()
    """Further certificates with their keys, for the server names given or those in the certificate."""


def server_context(
    certificate: Path, key: Path, authorities: Sequence[bytes] = (), settings: TLSOptions | None = None
) -> ssl.SSLContext:
    """A TLS context with a server certificate, which requests client certificates of the given authorities (PEM).

    Raises SimkitError where certificate and key cannot be used together, or for a setting that OpenSSL does not know.

    Notes
    -----
    A client may come without a certificate. One that it sends is judged by the authenticators, on the cluster's clock
    and for each authority apart; the handshake takes any, and names those of the bundles as acceptable. Where that
    cannot be had (see ``request_client_cert``), a certificate of an authority that is in none of the bundles, or one
    not made for clients, ends the connection in the handshake.
    Sessions are not resumed, since a resumed one would come without the intermediate certificates.
    """
    settings = settings or TLSOptions()
    context = _context(certificate, key, authorities, settings)
    if settings.named:
        others = [
            (_context(each, its_key, authorities, settings), names or _names_in(each))
            for each, its_key, names in settings.named
        ]
        by_name = {name.lower(): other for other, names in reversed(others) for name in names}

        def choose(connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
            wanted = (name or "").lower()
            found = by_name.get(wanted) or by_name.get("*." + wanted.partition(".")[2])
            if found is not None:
                connection.context = found

        context.sni_callback = choose
    return context


def _context(certificate: Path, key: Path, authorities: Sequence[bytes], settings: TLSOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if settings.minimum not in _VERSIONS:
        known = ", ".join(name for name in _VERSIONS if name)
        raise SimkitError(f'--tls-min-version: unknown tls version "{settings.minimum}"; known are {known}')
    context.minimum_version = _VERSIONS[settings.minimum]
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise SimkitError(f"cannot serve with certificate {certificate} and key {key}: {error}") from error
    _choose_suites(context, settings.suites)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_COMPRESSION
    context.num_tickets = 0
    for bundle in authorities:
        context.load_verify_locations(cadata=bundle.decode("ascii", "ignore"))
    if authorities:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME) | ssl.VERIFY_X509_PARTIAL_CHAIN
        request_client_cert(context)
        name_authorities(context, authorities)
    return context


def _choose_suites(context: ssl.SSLContext, suites: Sequence[str]) -> None:
    chosen = [suite for suite in suites if suite not in _OF_TLS13]
    for suite in chosen:
        try:
            context.set_ciphers(openssl_name(suite))
        except ssl.SSLError:
            raise SimkitError(f"--tls-cipher-suites: Cipher suite {suite} not supported or doesn't exist") from None
    if chosen:
        context.set_ciphers(":".join(map(openssl_name, chosen)))


def openssl_name(suite: str) -> str:
    """OpenSSL's name of a cipher suite.

    Examples
    --------
    >>> openssl_name("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    'ECDHE-RSA-AES128-GCM-SHA256'
    >>> openssl_name("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256")
    'ECDHE-ECDSA-CHACHA20-POLY1305'
    >>> openssl_name("TLS_RSA_WITH_AES_256_CBC_SHA")
    'AES256-SHA'
    """
    name = suite.removeprefix("TLS_").replace("_WITH_", "_").removeprefix("RSA_").replace("AES_", "AES")
    return name.replace("_", "-").replace("-CBC-", "-").replace("POLY1305-SHA256", "POLY1305")


def _names_in(certificate: Path) -> Sequence[str]:
    """The host names of a certificate."""
    from cryptography import x509

    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    try:
        found = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return found.get_values_for_type(x509.DNSName)
