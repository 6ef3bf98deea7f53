"""Requests client certificates in the handshake without verifying them: authenticators do that, as in kube-apiserver.

Go calls this ``tls.RequestClientCert``, and names the acceptable authorities as ``ClientCAs``.

The ssl module can ask for a certificate only together with OpenSSL's own verification, which ends the handshake where a
certificate is of no known authority; kube-apiserver goes on and answers 401, or finds a good token beside it. OpenSSL
has switches for that and for the names of authorities, ``SSL_CTX_set_cert_verify_callback`` and
``SSL_CTX_add_client_CA``, which the ssl module does not offer. They are reached in the library that it has loaded.

References
----------
k8s.io/apiserver/pkg/server/secure_serving.go and dynamiccertificates/tlsconfig.go beside it, release 1.30.
"""

from __future__ import annotations

import ctypes
import re
import ssl
from collections.abc import Sequence
from typing import Final

from simkit.engine.http.openssl_context import context_address, openssl_library

_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
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


def name_authorities(context: ssl.SSLContext, bundles: Sequence[bytes]) -> bool:
    """Name the authorities of PEM bundles as acceptable in the handshake; True if that is possible here.

    Clients that have several certificates choose by these names: browsers, and kubectl with an exec plugin. The context
    must ask for certificates already (``CERT_OPTIONAL``).
    """
    library = openssl_library()
    address = context_address(library, context) if library is not None else None
    if library is None or address is None:
        return False
    try:
        read, add, free = library.d2i_X509, library.SSL_CTX_add_client_CA, library.X509_free
    except AttributeError:
        return False
    read.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_long]
    read.restype = ctypes.c_void_p
    add.argtypes, add.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int
    free.argtypes, free.restype = [ctypes.c_void_p], None
    for der in _certificates(bundles):
        certificate = read(None, ctypes.byref(ctypes.c_char_p(der)), len(der))
        if certificate is not None:
            add(address, certificate)  # takes a copy of the name
            free(certificate)
    return True


def _certificates(bundles: Sequence[bytes]) -> list[bytes]:
    """The distinct certificates of PEM bundles in DER form, in order."""
    blocks = _CERTIFICATE.findall(b"\n".join(bundles))
    return list(dict.fromkeys(ssl.PEM_cert_to_DER_cert(block.decode("ascii")) for block in blocks))
