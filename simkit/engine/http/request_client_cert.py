"""Requests client certificates in the handshake without verifying them: authenticators do that, as in kube-apiserver.

Go calls this ``tls.RequestClientCert``.

The ssl module can ask for a certificate only together with OpenSSL's own verification, which ends the handshake where a
certificate is of no known authority; kube-apiserver goes on and answers 401, or finds a good token beside it. OpenSSL
has a switch for that, ``SSL_CTX_set_cert_verify_callback``, which the ssl module does not offer. It is reached here in
the very library that the module itself has loaded.
"""

from __future__ import annotations

import _ssl
import ctypes
import ssl
import sys
from typing import Final

_OLDEST_UNTRIED: Final = (3, 15)
_OPTIONAL: Final = 1  # SSL_VERIFY_PEER
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def _accept(store: int | None, argument: int | None) -> int:
    """OpenSSL asks whether a chain is good; whoever sent it is found out later."""
    return 1


_ACCEPT: Final = _Callback(_accept)
"""Held for as long as the process lives: OpenSSL keeps its address."""


def request_client_cert(context: ssl.SSLContext) -> bool:
    """Have a server's context take every client certificate unseen; gives back whether that can be done here.

    The context must ask for certificates already (``CERT_OPTIONAL``). It cannot be done where Python is not CPython, is
    a later version than this was tried with, or holds OpenSSL without its names: then nothing is changed.

    Notes
    -----
    A context object is a Python head and then the address of OpenSSL's own object, in every CPython since 3.2. That
    this is what stands there is checked by a value which only OpenSSL's object has.
    """
    if sys.implementation.name != "cpython" or sys.version_info >= _OLDEST_UNTRIED:
        return False
    try:
        library = ctypes.CDLL(_ssl.__file__)
        mode, install = library.SSL_CTX_get_verify_mode, library.SSL_CTX_set_cert_verify_callback
    except (AttributeError, OSError):
        return False
    mode.argtypes, mode.restype = [ctypes.c_void_p], ctypes.c_int
    install.argtypes, install.restype = [ctypes.c_void_p, _Callback, ctypes.c_void_p], None
    address = ctypes.c_void_p.from_address(id(context) + object.__basicsize__).value
    if address is None or mode(address) != _OPTIONAL:
        return False
    install(address, _ACCEPT, None)
    return True
