"""What a request offers as proof of identity, and the rules of the Authorization header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simkit.meta.message import Credentials, Request


def bearer_token(headers: Mapping[str, Sequence[str]]) -> str:
    """The bearer token of a request, empty where none is offered.

    The scheme is read in any case. Another scheme, or no token behind it, offers nothing: such a request is anonymous.
    What follows a second space is ignored.

    Examples
    --------
    >>> bearer_token({"authorization": ("bearer abc extra",)})
    'abc'
    >>> bearer_token({"authorization": ("Basic YTpi",)})
    ''
    """
    values = headers.get("authorization")
    if not values:
        return ""
    parts = values[0].strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


def credentials_of(request: Request) -> Credentials:
    """The bearer token, the client certificates and the headers of a request."""
    return Credentials(bearer_token(request.headers), request.certificates, request.headers)
