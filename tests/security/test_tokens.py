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
from simkit.engine.authn.jws import PrivateKey, Signer
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request

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
        key = self.cluster._control_plane.token_key.made().public.key
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
    issuer = world.cluster._control_plane.token_key.made()
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
