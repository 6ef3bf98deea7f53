"""Service account and bootstrap tokens: issued, verified, revoked, reviewed."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.engine.authn.bearer import InvalidToken
from simkit.engine.authn.jws import Malformed, Signer, parse
from simkit.engine.authn.serviceaccount import (
    BoundObject,
    Issuer,
    ServiceAccountTokens,
    bound_claims,
    discovery_document,
    key_set,
    legacy_claims,
)
from simkit.engine.authn.signing_keys import PrivateKey, load_private_key, load_verification_keys, verification_key
from simkit.engine.authn.token_sources import BootstrapTokens, StaticTokens
from simkit.engine.authn.union import TokenReviewer
from simkit.engine.http.keypair import make_authority
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.meta.names import GroupResource

AUDIENCE = "https://kubernetes.default.svc"
ACCOUNT = {"metadata": {"name": "robot", "namespace": "ns", "uid": "u1"}}
KEY = ec.generate_private_key(ec.SECP256R1())
KEYS: list[PrivateKey] = [
    KEY,
    ec.generate_private_key(ec.SECP384R1()),
    ec.generate_private_key(ec.SECP521R1()),
    rsa.generate_private_key(65537, 2048),
]


class World:
    """Objects that a test adds and removes, a clock, an issuer and a verifier over them."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.objects: dict[tuple[str, str, str], Mapping[str, Any]] = {("serviceaccounts", "ns", "robot"): ACCOUNT}
        self.issuer = Issuer(lambda: Signer(KEY))
        self.verifier = ServiceAccountTokens(lambda: [self.issuer.public], self.lookup, self.clock)

    def lookup(self, resource: GroupResource, namespace: str, name: str) -> Mapping[str, Any] | None:
        return self.objects.get((resource.resource, namespace, name))

    def token(self, audience: str = AUDIENCE, seconds: int = 3600, **more: Any) -> str:
        claims = bound_claims(
            ACCOUNT, audiences=[audience], seconds=seconds, now=self.clock.now(), identifier="id", **more
        )
        return self.issuer.issue(claims)

    def who(self, token: str) -> Identity | None:
        return self.verifier.authenticate(Credentials(token))

    def refusal_reason(self, token: str) -> str:
        """The reason for which a token is refused, with a 401."""
        with pytest.raises(StatusError):
            self.who(token)
        with pytest.raises(InvalidToken) as caught:
            self.verifier.verify(token)
        return str(caught.value)


@pytest.fixture
def world() -> World:
    return World()


def test_a_token_of_an_account(world: World) -> None:
    """A token gives the account's user, uid, groups and the token's own identifier."""
    identity = world.who(world.token())
    assert identity == Identity(
        "system:serviceaccount:ns:robot",
        ("system:serviceaccounts", "system:serviceaccounts:ns"),
        "u1",
        {"authentication.kubernetes.io/credential-id": ("JTI=id",)},
    )
    assert identity is not None
    assert identity.extra == {"authentication.kubernetes.io/credential-id": ("JTI=id",)}


def test_claims_of_a_bound_token() -> None:
    """The claims have kube-apiserver's names; a mounted token's usual lifetime becomes a year when asked to."""
    claims = bound_claims(
        ACCOUNT,
        audiences=["a"],
        seconds=3607,
        now=1000.9,
        identifier="id",
        bound=[BoundObject("pod", "p", "u2")],
        extend=True,
    )
    assert claims == {
        "aud": ["a"],
        "exp": 1000 + 31536000,
        "iat": 1000,
        "jti": "id",
        "kubernetes.io": {
            "namespace": "ns",
            "pod": {"name": "p", "uid": "u2"},
            "serviceaccount": {"name": "robot", "uid": "u1"},
            "warnafter": 4607,
        },
        "nbf": 1000,
        "sub": "system:serviceaccount:ns:robot",
    }


@pytest.mark.parametrize("key", KEYS, ids=["P-256", "P-384", "P-521", "RSA"])
def test_an_independent_library_agrees(key: PrivateKey) -> None:
    """Our tokens verify elsewhere, by the published key too, and theirs verify here."""
    signer = Signer(key)
    ours = signer.sign({"a": 1})
    algorithm = signer.public.algorithm
    assert jwt.decode(ours, key.public_key(), algorithms=[algorithm]) == {"a": 1}
    published = jwt.PyJWK.from_dict(key_set([signer.public])["keys"][0])
    assert jwt.decode(ours, published, algorithms=[algorithm]) == {"a": 1}
    theirs = parse(jwt.encode({"b": 2}, key, algorithm=algorithm))
    assert theirs.claims == {"b": 2}
    assert theirs.verified_by([signer.public])


def test_other_keys_do_not_verify() -> None:
    """A signature holds with its own key only, and only with the algorithm that the key is for."""
    token = parse(Signer(KEY).sign({}))
    assert not token.verified_by([verification_key(key.public_key()) for key in KEYS[1:]])
    header = {**token.header, "alg": "none"}
    forged = f"{_encode(header)}.{_encode({})}."
    assert not parse(forged).verified_by([verification_key(KEY.public_key())])
    confused = jwt.encode({}, b"k" * 32, algorithm="HS256", headers={"kid": token.header["kid"]})
    assert not parse(confused).verified_by([verification_key(KEY.public_key())])


def _encode(value: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).rstrip(b"=").decode()


@given(st.text(alphabet="abcAB.-_= \n", max_size=40))
@settings(max_examples=200)
def test_texts_that_are_no_tokens(text: str) -> None:
    """Whatever is sent as a token is either taken apart or refused, and never crashes."""
    try:
        parse(text)
    except Malformed:
        assert World().who(text) is None


def test_other_peoples_tokens(world: World) -> None:
    """Texts that are no signed tokens, and tokens of other issuers, are left to others."""
    assert world.who("opaque") is None
    assert world.who("") is None
    assert world.who(Issuer(lambda: Signer(KEY), "https://elsewhere").issue({"sub": "x"})) is None


def test_times(world: World) -> None:
    """A token ends on the injected clock, with a minute of tolerance, and does not begin early."""
    token = world.token(seconds=600)
    world.clock.advance(seconds=660)
    assert world.who(token)
    world.clock.advance(seconds=1)
    assert world.refusal_reason(token) == "service account token has expired"
    early = world.issuer.issue({**_claims(world), "nbf": world.clock.now() + 120})
    assert world.refusal_reason(early) == "service account token is not valid yet"
    endless = {key: value for key, value in _claims(world).items() if key != "exp"}
    assert world.refusal_reason(world.issuer.issue(endless)) == "service account token claims could not be validated"


def _claims(world: World) -> dict[str, Any]:
    return dict(parse(world.token()).claims)


def test_signature_and_claims(world: World) -> None:
    """A touched token, and one whose claims contradict each other, are refused."""
    head, body, signature = world.token().split(".")
    touched = "A" if signature[10] != "A" else "B"
    assert "signature" in world.refusal_reason(f"{head}.{body}.{signature[:10]}{touched}{signature[11:]}")
    changes: list[dict[str, Any]] = [
        {"sub": "system:serviceaccount:ns:other"},
        {"kubernetes.io": {}},
        {"kubernetes.io": None},
    ]
    for change in changes:
        assert "claims" in world.refusal_reason(world.issuer.issue({**_claims(world), **change}))


def test_revoked_with_the_account(world: World) -> None:
    """A token dies with its account, and does not pass to a namesake; deletion that takes long leaves a minute."""
    token = world.token()
    deleting = {"metadata": {**ACCOUNT["metadata"], "deletionTimestamp": "2024-04-17T00:00:00Z"}}
    world.objects["serviceaccounts", "ns", "robot"] = deleting
    assert world.who(token)
    world.clock.advance(seconds=61)
    assert "being deleted" in world.refusal_reason(token)
    world.objects["serviceaccounts", "ns", "robot"] = {"metadata": {**ACCOUNT["metadata"], "uid": "u9"}}
    assert "service account is gone" in world.refusal_reason(token)
    del world.objects["serviceaccounts", "ns", "robot"]
    assert "service account is gone" in world.refusal_reason(token)
    assert ServiceAccountTokens(lambda: [world.issuer.public], None, world.clock).verify(token)


@pytest.mark.parametrize(("kind", "resource"), [("pod", "pods"), ("secret", "secrets")])
def test_revoked_with_what_it_is_bound_to(world: World, kind: str, resource: str) -> None:
    """A token bound to a pod or secret is good as long as that very object is there."""
    token = world.token(bound=[BoundObject(kind, "x", "u5"), BoundObject("node", "n", "u6")])
    assert f"{kind} is gone" in world.refusal_reason(token)
    world.objects[resource, "ns", "x"] = {"metadata": {"uid": "u5"}}
    identity = world.who(token)
    assert identity is not None
    prefix = "authentication.kubernetes.io/"
    assert identity.extra[f"{prefix}node-name"] == ("n",)
    assert identity.extra.get(f"{prefix}pod-name") == (("x",) if kind == "pod" else None)


def test_legacy_tokens(world: World) -> None:
    """A token from a secret has no end and needs no audience; it is good while its secret holds it."""
    token = world.issuer.issue(legacy_claims(ACCOUNT, "s"))
    assert "invalidated" in world.refusal_reason(token)
    world.objects["secrets", "ns", "s"] = {"data": {"token": base64.b64encode(token.encode()).decode()}}
    world.clock.advance(days=4000)
    identity = world.who(token)
    assert identity is not None
    assert (identity.user, identity.extra) == ("system:serviceaccount:ns:robot", {})


def test_audiences(world: World) -> None:
    """A token for others is no credential here, but can be reviewed for them."""
    token = world.token("vault")
    assert (
        world.refusal_reason(token) == f'token audiences ["vault"] is invalid for the target audiences ["{AUDIENCE}"]'
    )
    verified = world.verifier.verify(token, ["vault", "x"])
    assert verified is not None
    assert verified.audiences == ("vault",)


def test_reviews(world: World) -> None:
    """A review tells whose token it is and for which of the asked audiences; unknown tokens have a reason."""
    static = StaticTokens({"alice-token": Identity("alice", ("devs",), "alice-uid")})
    reviewer = TokenReviewer([static], world.verifier, [AUDIENCE])
    alice = reviewer.review("alice-token")
    assert alice.identity == Identity("alice", ("devs", "system:authenticated"), "alice-uid")
    assert alice.audiences == (AUDIENCE,)
    for verdict in (reviewer.review("alice-token", ["elsewhere"]), reviewer.review("nonsense")):
        assert (verdict.identity, verdict.audiences, verdict.error) == (None, (), "invalid bearer token")
    own = reviewer.review(world.token())
    assert own.identity is not None
    assert own.identity.groups[-1] == "system:authenticated"
    assert own.audiences == (AUDIENCE,)
    assert reviewer.review(world.token("vault"), ["vault", "x"]).audiences == ("vault",)
    assert "is invalid for the target audiences" in reviewer.review(world.token("vault")).error


def test_key_files() -> None:
    """Key files hold public or private keys, several of them, and what is no key is said with the file's name."""
    private = KEY.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = (
        KEYS[3].public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    parameters = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    keys = load_verification_keys(parameters + private + public)
    assert [key.algorithm for key in keys] == ["ES256", "RS256"]
    assert discovery_document("https://i", keys, "https://i/jwks")["id_token_signing_alg_values_supported"] == [
        "ES256",
        "RS256",
    ]
    certificate = make_authority("sa-signer", (datetime(2020, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC)))
    (certified,), (own,) = map(load_verification_keys, (certificate.certificate_pem(), certificate.key_pem()))
    assert certified.identifier == own.identifier
    assert load_private_key(private).private_numbers() == KEY.private_numbers()
    edwards = ed25519.Ed25519PrivateKey.generate()
    other = edwards.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for wrong in (b"", b"nonsense", other, b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"):
        with pytest.raises(SimkitError, match=r"^sa\.pub holds"):
            load_verification_keys(wrong, "sa.pub")
    with pytest.raises(SimkitError, match="sign no tokens"):
        Signer(ec.generate_private_key(ec.SECP256K1()))


def secret(**changes: str | None) -> dict[str, Any]:
    """A bootstrap token secret, with entries of its data changed or (None) left out."""
    data: dict[str, str | None] = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        **{key.replace("_", "-"): value for key, value in changes.items()},
    }
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items() if value is not None}
    return {"metadata": {}, "type": "bootstrap.kubernetes.io/token", "data": encoded}


def bootstrapped(stored: Mapping[str, Any] | None, token: str = "abcdef.0123456789abcdef") -> Identity | None:
    objects = {("kube-system", "bootstrap-token-abcdef"): stored}
    clock = SimulatedClock(start=1_000_000)
    return BootstrapTokens(lambda _, namespace, name: objects.get((namespace, name)), clock).authenticate(
        Credentials(token)
    )


def test_bootstrap_tokens() -> None:
    """A bootstrap token is its own user, a bootstrapper, and whatever more the secret says."""
    assert bootstrapped(secret()) == Identity("system:bootstrap:abcdef", ("system:bootstrappers",))
    identity = bootstrapped(secret(auth_extra_groups="system:bootstrappers:b,system:bootstrappers:a"))
    assert identity is not None
    assert identity.groups == ("system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b")


@pytest.mark.parametrize("stored", [
    None,
    secret(token_secret="0123456789abcdeX"),
    secret(token_secret=None),
    secret(token_id="abcdeg"),
    secret(usage_bootstrap_authentication="yes"),
    secret(usage_bootstrap_authentication=None),
    secret(auth_extra_groups="system:masters"),
    secret(expiration="1970-01-12T13:46:40Z"),
    secret(expiration="soon"),
    {**secret(), "type": "Opaque"},
    {**secret(), "metadata": {"deletionTimestamp": "1970-01-01T00:00:00Z"}},
    {**secret(), "data": {"token-secret": "%%%"}},
])  # fmt: skip
def test_unusable_bootstrap_tokens(stored: Mapping[str, Any] | None) -> None:
    """A token without its secret, with a wrong one, out of time, not for authentication or for too much is unknown."""
    assert bootstrapped(stored) is None


def test_bootstrap_times_and_forms() -> None:
    """A token is good until its expiration; other forms of token are not looked up."""
    assert bootstrapped(secret(expiration="1970-01-12T13:46:41Z"))
    assert bootstrapped(secret(), "ABCDEF.0123456789abcdef") is None
    assert bootstrapped(secret(), "abcdef.0123456789abcde") is None
