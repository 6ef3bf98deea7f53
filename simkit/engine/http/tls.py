"""The TLS side of a listener: own certificate, and how client certificates are asked for."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from simkit.engine.http.anypeer import accept_any
from simkit.meta.errors import SimkitError

_NO_CHECK_TIME: Final = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which the ssl module does not name."""


def server_context(certificate: Path, key: Path, authorities: Sequence[bytes] = ()) -> ssl.SSLContext:
    """A context that serves with a certificate and, given authorities (PEM), asks clients for theirs.

    Raises SimkitError where certificate and key cannot be used together.

    Notes
    -----
    A client may come without a certificate. One that it sends is judged by the authenticators, on the cluster's clock
    and for each authority apart; the handshake takes any. Where that cannot be had (see ``anypeer``), a certificate of
    an authority that is in none of the bundles, or one not made for clients, ends the connection in the handshake.
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
        accept_any(context)
    return context
