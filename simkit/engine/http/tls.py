"""TLS settings of a listener, and the client certificates of a handshake."""

from __future__ import annotations

import _ssl
import ctypes
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from simkit.meta.errors import SimkitError

# The OpenSSL object behind an ssl context, for settings that the ssl module does not offer

_OLDEST_UNTRIED: Final = (3, 15)
_OPTIONAL: Final = 1  # SSL_VERIFY_PEER


def openssl_library() -> ctypes.CDLL | None:
    """The OpenSSL library that the ssl module has loaded; None if it cannot be reached.

    It cannot where Python is not CPython, or is a later version than this was tried with.
    """
    if sys.implementation.name != "cpython" or sys.version_info >= _OLDEST_UNTRIED:
        return None
    try:
        return ctypes.CDLL(_ssl.__file__)
    except (AttributeError, OSError):
        return None


def context_address(library: ctypes.CDLL, context: ssl.SSLContext) -> int | None:
    """The address of the ``SSL_CTX`` of a context that requests certificates (``CERT_OPTIONAL``); None if not found.

    Notes
    -----
    A context object is a Python head and then the address of OpenSSL's own object, in every CPython since 3.2. That
    this is what stands there is checked by a value which only OpenSSL's object has.
    """
    try:
        mode = library.SSL_CTX_get_verify_mode
    except AttributeError:
        return None
    mode.argtypes, mode.restype = [ctypes.c_void_p], ctypes.c_int
    address = ctypes.c_void_p.from_address(id(context) + object.__basicsize__).value
    return address if address is not None and mode(address) == _OPTIONAL else None


# Requests client certificates in the handshake without verifying them: authenticators do that, as in kube-apiserver.
# Go calls this ``tls.RequestClientCert``, and names the acceptable authorities as ``ClientCAs``.
# The ssl module can ask for a certificate only together with OpenSSL's own verification, which ends the handshake where
# a certificate is of no known authority; kube-apiserver goes on and answers 401, or finds a good token beside it.
# OpenSSL has switches for that and for the names of authorities, ``SSL_CTX_set_cert_verify_callback`` and
# ``SSL_CTX_add_client_CA``, which the ssl module does not offer. They are reached in the library that it has loaded.
# References: k8s.io/apiserver/pkg/server/secure_serving.go and dynamiccertificates/tlsconfig.go beside it, release
# 1.30.

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def _accept(store: int | None, argument: int | None) -> int:
    """OpenSSL's verification callback, which accepts every chain; authenticators verify it later."""
    return 1


_ACCEPT: Final = _Callback(_accept)
"""The callback, kept alive as long as the process, because OpenSSL keeps its address."""


def request_client_cert(context: ssl.SSLContext) -> bool:
    """Make a server's context accept every client certificate; True if that is possible here.

    The context must ask for certificates already (``CERT_OPTIONAL``). Where OpenSSL's own object is out of reach,
    nothing is changed.
    """
    library = openssl_library()
    address = context_address(library, context) if library is not None else None
    try:
        install = library.SSL_CTX_set_cert_verify_callback if library is not None else None
    except AttributeError:
        return False
    if address is None or install is None:
        return False
    install.argtypes, install.restype = [ctypes.c_void_p, _Callback, ctypes.c_void_p], None
    install(address, _ACCEPT, None)
    return True


# TLS settings of a listener: its own certificate, and the request for client certificates.
# References: k8s.io/apiserver/pkg/server/secure_serving.go, release 1.30.

_NO_CHECK_TIME: Final = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which the ssl module does not name."""


def server_context(certificate: Path, key: Path, authorities: Sequence[bytes] = ()) -> ssl.SSLContext:
    """A TLS context with a server certificate, which requests client certificates of the given authorities (PEM).

    Raises SimkitError where certificate and key cannot be used together.

    Notes
    -----
    A client may come without a certificate. One that it sends is judged by the authenticators, on the cluster's clock
    and for each authority apart; the handshake takes any. Where that cannot be had (see ``request_client_cert``), a
    certificate of an authority that is in none of the bundles, or one not made for clients, ends the connection in the
    handshake.

    Sessions are not resumed, since a resumed one would come without the intermediate certificates.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise SimkitError(f"cannot serve with certificate {certificate} and key {key}: {error}") from error
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_COMPRESSION
    context.num_tickets = 0
    for bundle in authorities:
        context.load_verify_locations(cadata=bundle.decode("ascii", "ignore"))
    if authorities:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME) | ssl.VERIFY_X509_PARTIAL_CHAIN
        request_client_cert(context)
    return context


# The certificates that a client sent in the TLS handshake

_DER_ENCODING: Final = 2  # _ssl.ENCODING_DER


def peer_chain(tls: ssl.SSLObject) -> tuple[bytes, ...]:
    """The certificates of the peer, DER, leaf first; empty if it sent none."""
    leaf = tls.getpeercert(binary_form=True)
    if not leaf:
        return ()
    if hasattr(tls, "get_unverified_chain"):  # since Python 3.13
        return tuple(tls.get_unverified_chain())
    # Until then the method exists on the inner object only, and gives objects instead of bytes.
    inner: Any = getattr(tls, "_sslobj", None)
    if not hasattr(inner, "get_unverified_chain"):
        return (leaf,)
    return tuple(_der(certificate) for certificate in inner.get_unverified_chain() or ())


def _der(certificate: Any) -> bytes:
    encoded: bytes | str = certificate.public_bytes(_DER_ENCODING)
    assert isinstance(encoded, bytes)
    return encoded
