"""Compression of large answers.

References
----------
k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go, release 1.30.
"""

from __future__ import annotations

import zlib
from typing import Final

from simkit.meta.message import Request, Response

THRESHOLD: Final = 128 * 1024
"""Bytes above which a body is compressed for those who accept it."""
INLINE: Final = 256 * 1024
"""Bytes up to which compressing is too short a work to be worth another thread."""
_LEVEL: Final = 1
_GZIP_WRAPPER: Final = 16 + zlib.MAX_WBITS


def wanted(request: Request, response: Response) -> bool:
    """True if the answer is large enough, the client accepts gzip, and the body is not encoded already.

    Notes
    -----
    As on kube-apiserver, ``gzip`` must stand in the list as it is: ``gzip;q=1`` does not count.
    """
    if len(response.body) <= THRESHOLD:
        return False
    accepted = (token.strip() for value in request.headers.get("accept-encoding", ()) for token in value.split(","))
    return "gzip" in accepted and not any(name.lower() == "content-encoding" for name, _ in response.headers)


def compressed(body: bytes) -> bytes:
    """The body in gzip form, at the fastest level. Releases the interpreter's lock while it works."""
    worker = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WRAPPER)
    return worker.compress(body) + worker.flush()


def replace_body(response: Response, body: bytes) -> Response:
    """The response with its body in gzip form."""
    headers = [*response.headers, ("content-encoding", "gzip"), ("vary", "Accept-Encoding")]
    return Response(response.status, body, response.content_type, headers)
