"""Identities by credentials, with all kinds of authenticators together."""

from __future__ import annotations

import pytest

from simkit.cluster.cluster import Cluster
from simkit.engine.authn.bearer import SPACED, bearer_token, credentials_of
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.authn.union import Union, authenticated
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.errors import StatusError, unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials, Request

TOKENS = StaticTokens({"good": Identity("ann", ("devs",), "7")})


class Suspicious:
    """Refuses every certificate."""

    leaves_process = False

    def authenticate(self, credentials: Credentials) -> Identity | None:
        if credentials.certificates:
            raise unauthorized()
        return None


@pytest.mark.parametrize(("header", "token"), [
    ("Bearer abc", "abc"),
    ("bearer abc", "abc"),
    ("BEARER abc extra", "abc"),
    ("  Bearer abc  ", "abc"),
    ("Bearer ", ""),
    ("Bearer", ""),
    ("Bearer  abc", ""),
    ("Basic YWRtaW46YWRtaW4=", ""),
    ("abc", ""),
    ("", ""),
])  # fmt: skip
def test_the_authorization_header(header: str, token: str) -> None:
    """Only a bearer scheme, in any case, with a token right behind it offers a token."""
    assert bearer_token({"authorization": (header,)}) == token


def test_a_space_too_many() -> None:
    """Whoever is anonymous because of a second space is told so; others are not."""
    engine = Cluster(seed=1).engine
    told = []
    for header in ("Bearer  abc", "bearer   ", "Basic  abc"):
        response = serve_request(engine, Request.of("GET", "/version", headers={"Authorization": header}))
        told.append([value for name, value in response.headers if name == "Warning"])
    assert told == [[f'299 - "{SPACED}"'], [], []]


def test_credentials_of_a_request() -> None:
    """A request offers its token, its certificates and its headers."""
    request = Request("GET", "/", headers={"authorization": ("Bearer t",)}, certificates=(b"der",))
    assert credentials_of(request) == Credentials("t", (b"der",), request.headers)
    assert bearer_token({}) == ""


PREFIX = "base64url.bearer.authorization.k8s.io."
GOOD = f"{PREFIX}Z29vZA"


def upgrade(*protocols: str, **more: str) -> Credentials:
    """The request of a WebSocket client with these protocols."""
    headers = {"upgrade": "WebSocket", "connection": "keep-alive, Upgrade", **more}
    sent = {name: (value,) for name, value in headers.items()}
    return credentials_of(Request("GET", "/", headers={**sent, "sec-websocket-protocol": protocols}))


@pytest.mark.parametrize(
    "credentials",
    [
        upgrade(f"{GOOD}, v4.channel.k8s.io"),
        upgrade("v4.channel.k8s.io", GOOD),
        upgrade(f"v1,{GOOD}", authorization="Bearer bad"),
    ],
)
def test_tokens_of_websockets(credentials: Credentials) -> None:
    """A browser offers its token as a protocol, beside another one; a bad header is no reason to refuse it."""
    assert Union([TOKENS]).authenticate(credentials).user == "ann"


@pytest.mark.parametrize(
    "credentials",
    [
        upgrade(GOOD),
        upgrade(f"v1,{GOOD},{GOOD}"),
        upgrade(f"v1,{PREFIX}YmFk"),
        upgrade(f"v1,{PREFIX}Z29vZA=="),
        upgrade(f"v1,{PREFIX}Z29v+A"),
        upgrade(f"v1,{PREFIX}Z29vZ"),
        upgrade(f"v1,{PREFIX}_w"),
    ],
)
def test_bad_tokens_of_websockets(credentials: Credentials) -> None:
    """Without another protocol, twice, unknown, padded, of another alphabet, cut, no text: 401, not anonymous."""
    with pytest.raises(StatusError, match="Unauthorized"):
        Union([TOKENS]).authenticate(credentials)


@pytest.mark.parametrize(
    "credentials", [upgrade("v1", PREFIX), upgrade(f"v1,{GOOD}", upgrade="h2c"), upgrade(GOOD, connection="close")]
)
def test_no_tokens_of_websockets(credentials: Credentials) -> None:
    """An empty token, or no WebSocket: nothing is offered."""
    assert Union([TOKENS]).authenticate(credentials).user == "system:anonymous"


def test_a_known_token() -> None:
    """Whoever is authenticated belongs to system:authenticated, last of the groups."""
    identity = Union([Suspicious(), TOKENS]).authenticate(Credentials("good"))
    assert identity == Identity("ann", ("devs", "system:authenticated"), "7")


def test_requests_without_credentials() -> None:
    """Without credentials a request is anonymous, or refused where that is off."""
    assert Union([TOKENS]).authenticate(Credentials()) == Identity("system:anonymous", ("system:unauthenticated",))
    with pytest.raises(StatusError, match="Unauthorized"):
        Union([TOKENS], anonymous=False).authenticate(Credentials())


@pytest.mark.parametrize("credentials", [Credentials("bad"), Credentials("", (b"x",)), Credentials("bad", (b"x",))])
def test_wrong_credentials_are_never_anonymous(credentials: Credentials) -> None:
    """A token that nobody knows, or a refused certificate, is 401 though anonymous requests are allowed."""
    with pytest.raises(StatusError) as caught:
        Union([Suspicious(), TOKENS]).authenticate(credentials)
    assert caught.value.code == 401


def test_one_good_credential_is_enough() -> None:
    """A refused certificate beside a good token does not matter."""
    assert Union([Suspicious(), TOKENS]).authenticate(Credentials("good", (b"x",))).user == "ann"


def test_one_more_in_front() -> None:
    """A union can be given one more member, asked first, and keeps its rules."""
    first = StaticTokens({"good": Identity("bob")})
    assert Union([TOKENS]).preceded_by(first).authenticate(Credentials("good")).user == "bob"
    with pytest.raises(StatusError):
        Union([TOKENS], anonymous=False).preceded_by(first).authenticate(Credentials())


@pytest.mark.parametrize("groups", [("system:authenticated", "a"), ("system:unauthenticated",)])
def test_groups_that_are_there_are_not_added(groups: tuple[str, ...]) -> None:
    """An authenticator that says itself whether it knows the user is believed."""
    assert authenticated(Identity("ann", groups)).groups == groups
