"""The certificates that a client sent in the TLS handshake."""

from __future__ import annotations

import ssl
from typing import Any, Final

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
