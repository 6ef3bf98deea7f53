"""The headers and letters of a proxied request that do not go on as they came.

Source: ``hopHeaders`` of Go's net/http/httputil.
"""

from __future__ import annotations

from typing import Final

HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers about one connection."""
UNQUOTED: Final = "/:@!$&'()*+,;=~"
"""Letters of paths that stay as they are."""
