"""The OpenSSL object behind an ssl context, for settings that the ssl module does not offer."""

from __future__ import annotations

import _ssl
import ctypes
import ssl
import sys
from typing import Final

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
