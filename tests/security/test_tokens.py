"""Forged, stretched and borrowed tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.jws import Signer
from simkit.engine.authn.serviceaccount import Issuer, ServiceAccountTokens
from simkit.engine.authn.signing_keys import PrivateKey
from simkit.engine.authn.token_sources import WebhookTokens
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request
from tests.releases import BASE
from tests.security.prices import LINEAR, growth

PATH = "/api/v1/namespaces/default/serviceaccounts/robot/token"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def encode(value: Any) -> str:
    raw = value if isinstance(value, bytes) else orjson.dumps(value)
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(part: str) -> Any:
    return orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class World:
    """A cluster, a good token, and its parts."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.cluster = Cluster(options=Options(seed=1, clock=self.clock))
        self.cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
        self.token = self.issue()
        head, claims, self.signature = self.token.split(".")
        self.header, self.claims = decode(head), decode(claims)

    def issue(self, **spec: Any) -> str:
        text: str = self.cluster.perform(Request.of("POST", PATH, {"spec": spec})).object["status"]["token"]
        return text

    def status(self, token: str) -> int:
        request = Request.of("POST", WHO, {}, headers={"authorization": f"Bearer {token}"})
        return serve_request(self.cluster.engine, request).status

    def public_pem(self) -> bytes:
        key = self.cluster._control_plane.token_key.public.key
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return key.public_bytes(serialization.Encoding.PEM, form)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_the_good_token_is_good(world: World) -> None:
    """The token from which all forgeries below are made is valid."""
    assert world.status(world.token) == 201


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", ""])
def test_algorithm_none(world: World, algorithm: str) -> None:
    """A token that says it needs no signature has none that counts."""
    header = {**world.header, "alg": algorithm}
    for signature in ("", world.signature, encode(b"x")):
        assert world.status(f"{encode(header)}.{encode(world.claims)}.{signature}") == 401


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_key_confusion(world: World, algorithm: str) -> None:
    """The public key is no shared secret, whatever the header says."""
    digest = getattr(hashlib, "sha" + algorithm[2:])
    signed = f"{encode({**world.header, 'alg': algorithm})}.{encode(world.claims)}"
    for secret in (world.public_pem(), world.public_pem().strip(), world.header["kid"].encode()):
        signature = hmac.new(secret, signed.encode(), digest).digest()
        assert world.status(f"{signed}.{encode(signature)}") == 401


@pytest.mark.parametrize("key", [ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048)])
def test_a_key_of_ones_own(world: World, key: PrivateKey) -> None:
    """A token signed by another key is refused, even under the right key's identifier, or with its own key inside."""
    signer = Signer(key)
    assert world.status(signer.sign(world.claims)) == 401
    for header in (
        {**world.header, "alg": signer.public.algorithm},
        {**world.header, "alg": signer.public.algorithm, "jwk": signer.public.jwk()},
        {**world.header, "kid": "../../dev/null"},
        {**world.header, "jku": "https://evil.example/keys", "x5u": "https://evil.example/chain"},
        {**world.header, "crit": ["b64"], "b64": False},
    ):
        signed = f"{encode(header)}.{encode(world.claims)}"
        assert world.status(f"{signed}.{encode(signer.signature(signed.encode()))}") == 401


@pytest.mark.parametrize(
    "change",
    [
        {"sub": "system:serviceaccount:kube-system:admin"},
        {"exp": 9999999999},
        {"aud": ["https://kubernetes.default.svc", "x"]},
        {"iss": "https://evil.example"},
    ],
)
def test_changed_claims(world: World, change: dict[str, Any]) -> None:
    """A signature belongs to the claims that it was made for."""
    head = world.token.split(".")[0]
    assert world.status(f"{head}.{encode({**world.claims, **change})}.{world.signature}") == 401


@pytest.mark.parametrize(
    "change",
    [
        {"sub": "system:serviceaccount:kube-system:admin"},
        {"exp": None},
        {"exp": "never"},
        {"exp": 0},
        {"nbf": 9999999999},
        {"aud": ["somebody-else"]},
        {"aud": []},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"kubernetes.io": None},
        {"kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "robot", "uid": "another"}}},
        {"kubernetes.io": {"namespace": "", "serviceaccount": {"name": "", "uid": ""}}},
    ],
)
def test_strange_claims_well_signed(world: World, change: dict[str, Any]) -> None:
    """Even our own signature does not help claims that contradict each other, are over, or are for others."""
    issuer = world.cluster._control_plane.token_key
    token = issuer.issue({name: value for name, value in {**world.claims, **change}.items() if value is not None})
    wanted = 201 if change == {"aud": []} else 401  # without an audience a token is for the server itself
    if change == {"iss": None}:
        wanted = 201  # the issuer puts its own name in
    assert world.status(token) == wanted


def test_expiry_by_the_clock() -> None:
    """A token ends with the lifetime it was given, at most a minute late."""
    world = World()
    token = world.issue(expirationSeconds=600)
    world.clock.advance(600)
    assert world.status(token) == 201
    world.clock.advance(61)
    assert world.status(token) == 401


def test_of_another_cluster(world: World) -> None:
    """Two clusters do not take each other's tokens, even for accounts with the same names and uids."""
    assert World().status(world.token) == 401


@settings(max_examples=150)
@given(st.data())
def test_no_altered_token_is_good(data: st.DataObject) -> None:
    """Changing any character of a token, or cutting it, makes it bad or leaves it the same token."""
    world = _shared()
    place = data.draw(st.integers(1, len(world.token) - 1))
    letter = data.draw(st.sampled_from("AZaz09-_.=+/ %"))
    altered = world.token[:place] + letter + world.token[place + 1 :]
    if data.draw(st.booleans()):
        altered = world.token[:place]
    if altered == world.token:
        return
    # The last letter holds bits that are not part of the value.
    equivalent = place == len(world.token) - 1 and letter not in ".=+/ %" and len(altered) == len(world.token)
    assert world.status(altered) == 401 or equivalent


_WORLDS: list[World] = []


def _shared() -> World:
    if not _WORLDS:
        _WORLDS.append(World())
    return _WORLDS[0]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer", 201),
        ("Bearer ", 201),
        ("bearer x", 401),
        ("BEARER x", 401),
        ("Bearer x y", 401),
        ("Basic eDp5", 201),
        ("Bearer\tx", 201),
    ],
)
def test_other_headers(world: World, header: str, status: int) -> None:
    """A scheme without a token is no credential: such a request is anonymous, as on kube-apiserver."""
    request = Request.of("POST", WHO, {}, headers={"authorization": header})
    found = serve_request(world.cluster.engine, request).status
    assert found == (403 if status == 201 else 401)


def test_tokens_are_not_told(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Neither answers nor logs repeat a token that was refused."""
    bad = world.token[:-4] + "AAAA"
    with caplog.at_level(logging.DEBUG):
        request = Request.of("GET", "/api/v1/pods", headers={"authorization": f"Bearer {bad}"})
        response = serve_request(world.cluster.engine, request)
        review = world.cluster.perform(
            Request.of("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": bad}})
        )
    assert bad not in caplog.text
    assert bad not in response.body.decode()
    assert bad not in review.object["status"]["error"]


def signed(world: World, claims: bytes) -> str:
    """A token with exactly these bytes as claims, signed by the server's own key."""
    issuer: Any = world.cluster._control_plane.token_key
    text = f"{encode(world.header)}.{encode(claims)}"
    return f"{text}.{encode(issuer._signer.signature(text.encode()))}"


ODD = (b"[]", b"{}", b"7", b"true", b"null", b"[7]", b'[["x"]]', b'{"a": 1}')


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "exp", "nbf", "kubernetes.io"])
def test_claims_of_other_types(world: World, claim: str) -> None:
    """Nobody makes an error of ours with them: without a signature, and with one, such a token is 401."""
    rest = {name: value for name, value in world.claims.items() if name != claim}
    for odd in ODD:
        claims = orjson.dumps(rest)[:-1] + b',"%b":%b}' % (claim.encode(), odd)
        assert world.status(f"{encode(world.header)}.{encode(claims)}.{encode(b'x' * 64)}") == 401
        harmless = {"aud": (b"[]", b"null"), "nbf": (b"true", b"7")}.get(claim, ())
        assert world.status(signed(world, claims)) == (201 if odd in harmless else 401)


def test_references_of_other_types(world: World) -> None:
    """A token that is bound to something, nobody knows to what, is not a token that is bound to nothing."""
    own, strange = world.claims["kubernetes.io"], list[Any]((7, [], "x", True))
    for kind in ("pod", "secret", "node", "serviceaccount"):
        for odd in strange:
            private = {**own, kind: odd}
            assert world.status(signed(world, orjson.dumps({**world.claims, "kubernetes.io": private}))) == 401


@pytest.mark.parametrize("part", ["audiences of the token", "audiences of the review"])
def test_reviews_of_tokens_for_a_great_many_audiences(world: World, part: str) -> None:
    """Each audience that is asked for is looked up among those of the token."""
    path = "/apis/authentication.k8s.io/v1/tokenreviews"

    def made(count: int) -> dict[str, Any]:
        few, many = 3_000, [f"audience-{number}" for number in range(count)]
        token = world.issue(audiences=many if part.endswith("token") else many[:few])
        asked = [f"other-{number}" for number in range(few if part.endswith("token") else count)]
        return {"spec": {"token": token, "audiences": asked}}

    def reviewed(body: dict[str, Any]) -> None:
        answer = world.cluster.perform(Request.of("POST", path, body)).object["status"]
        assert "is invalid for the target audiences" in answer["error"]

    assert growth(reviewed, made, 1000) < LINEAR


def test_long_tokens_are_not_remembered() -> None:
    """Whoever may ask for tokens may ask for long ones: they are verified anew each time, and fill no memory."""
    issuer = Issuer()
    accounts = ServiceAccountTokens(lambda: [issuer.public], None, SimulatedClock())
    private = {"namespace": "default", "serviceaccount": {"name": "robot", "uid": "1"}}
    claims = {"sub": "system:serviceaccount:default:robot", "kubernetes.io": private, "exp": 9999999999}
    short, long = (str(issuer.issue({**claims, "jti": "x" * size})) for size in (10, 10_000))
    for token in (short, long):
        assert accounts.verify(token) is not None
    assert list(accounts._claims) == [short]


class _Service:
    """A service for token reviews that knows one token, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def post(self, body: bytes) -> bytes:
        spec = orjson.loads(body)["spec"]
        self.asked.append(spec)
        good = spec["token"] == "t"
        status = {"authenticated": good, "user": {"username": "ann"}, "audiences": spec.get("audiences")}
        return orjson.dumps({"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "status": status})


def test_what_is_remembered_of_one_token_is_not_known_of_another() -> None:
    """A token with a line break in it, as a WebSocket client may send one, is no shorter token for other audiences."""
    service = _Service()
    tokens = WebhookTokens(BASE, service, SimulatedClock(), version="v1")
    found = tokens.verify("t", ["vault", "shop"])
    assert found is not None
    assert found.audiences == ("vault", "shop")
    assert tokens.verify("t\nvault", ["shop"]) is None
    assert len(service.asked) == 2
