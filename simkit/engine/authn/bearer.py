"""Bearer tokens of requests, and the protocol of authenticators of tokens."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from simkit.meta.domain import AUTHORIZATION_GROUP
from simkit.meta.errors import unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials, Request

# The outer form of a signed token, by which other bearer tokens are told from it without reading one

_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")


def looks_signed(token: str) -> bool:
    """True for three parts of letters, digits, '-' and '_' with dots between them (RFC 7515, compact form).

    Examples
    --------
    >>> looks_signed("e30.e30.c2ln"), looks_signed("admin-token")
    (True, False)
    """
    return _COMPACT.fullmatch(token) is not None


# Bearer tokens of requests: in the Authorization header, and among WebSocket protocols.
# References: k8s.io/apiserver/pkg/authentication/request/bearertoken and authentication/request/websocket, release
# 1.30.

SPACED: Final = "the provided Authorization header contains extra space before the bearer token, and is ignored"
"""The warning for clients whose Authorization header holds no token."""
IN_PROTOCOL: Final = f"base64url.bearer.{AUTHORIZATION_GROUP}."
"""The beginning of a token among the protocols of a WebSocket client."""
_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]*")
Headers = Mapping[str, Sequence[str]]


def bearer_token(headers: Headers) -> str:
    """The bearer token of a request; empty if there is none.

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


def has_extra_space(headers: Headers) -> bool:
    """True if a bearer token is not seen because it stands behind two spaces.

    Examples
    --------
    >>> has_extra_space({"authorization": ("Bearer  abc",)}), has_extra_space({"authorization": ("Bearer abc  d",)})
    (True, False)
    """
    values = headers.get("authorization")
    return bool(values) and values[0].strip()[:8].lower() == "bearer  "  # type: ignore[index]


def protocol_token(headers: Headers) -> str:
    """The bearer token among the protocols of a WebSocket client, since browsers can send no other header.

    Empty where none is offered, or no WebSocket is asked for. Raises the 401 of a token that cannot be read, of two of
    them, or of one without another protocol beside it that could be answered.

    Examples
    --------
    >>> upgrade = {"upgrade": ("websocket",), "connection": ("Upgrade",)}
    >>> protocol_token({**upgrade, "sec-websocket-protocol": ("base64url.bearer.authorization.k8s.io.YWJj, v1",)})
    'abc'
    """
    offered = offered_protocols(headers)
    if not offered or not asks_for_websocket(headers):
        return ""
    tokens = [protocol.removeprefix(IN_PROTOCOL) for protocol in offered if protocol.startswith(IN_PROTOCOL)]
    if len(tokens) > 1:
        raise unauthorized()
    token = _decoded(tokens[0]) if tokens else ""
    if token and len(offered) == 1:
        raise unauthorized()
    return token


def offered_protocols(headers: Headers) -> list[str]:
    """The protocols that a WebSocket client offers, in its order."""
    return [protocol.strip() for text in headers.get("sec-websocket-protocol", ()) for protocol in text.split(",")]


def asks_for_websocket(headers: Headers) -> bool:
    """True if a request wants to go on as a WebSocket."""
    upgrade, connection = headers.get("upgrade"), headers.get("connection")
    if not upgrade or not connection or upgrade[0].lower() != "websocket":
        return False
    return "upgrade" in (part.strip() for part in connection[0].lower().split(","))


def _decoded(text: str) -> str:
    if not _ALPHABET.fullmatch(text) or len(text) % 4 == 1:
        raise unauthorized()
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        raise unauthorized() from None


def credentials_of(request: Request) -> Credentials:
    """The bearer token, the client certificates and the headers of a request."""
    return Credentials(bearer_token(request.headers), request.certificates, request.headers)


def offers(credentials: Credentials) -> Iterator[Credentials]:
    """The credentials, followed by a token from another place by itself. Raises 401 if it is malformed."""
    yield credentials
    token = protocol_token(credentials.headers)
    if token:
        yield Credentials(token)


# The protocol and the response of authenticators of tokens with audiences.
# References: k8s.io/apiserver/pkg/authentication/authenticator/interfaces.go (``Token``, ``Response``), release 1.30.


class InvalidToken(Exception):
    """A token that is invalid, or not for this audience; the text is the reason."""


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """The identity of a token, and those of the requested audiences that it is for."""

    identity: Identity
    audiences: tuple[str, ...]


@runtime_checkable
class TokenAuthenticator(Protocol):
    """An authenticator that knows the audiences of tokens."""

    def verify(self, token: str, audiences: Sequence[str] = ()) -> TokenResponse | None:
        """The identity of a token and its audiences among the given ones (default: this server's own).

        None where it is not my kind of token. Raises InvalidToken where it is, and bad.
        """
        ...
