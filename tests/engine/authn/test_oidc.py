"""Tokens of identity providers, by flags and by a configuration file, and tokens that a service knows."""

from __future__ import annotations

import logging
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from simkit.engine.authn.oidc import OIDCOptions, Provider, over_https, tokens_by_flags
from simkit.engine.authn.signing_keys import ALGORITHMS, BadKeySet, read_key_set
from simkit.engine.egress.policy import Unreachable
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from tests.engine.authn.providers import CURVE_KEY, RSA_KEY, Issuer, published, who


def test_by_flags(issuer: Issuer) -> None:
    """Names get the issuer as prefix unless told otherwise; nothing is fetched before the first token, then once."""
    tokens = tokens_by_flags(issuer.flags(), issuer.clock)
    assert issuer.service.requests == []
    for _ in range(3):
        assert who(tokens, issuer.token()) == Identity(f"{issuer.url}#ann")
    assert (issuer.asked("/keys"), issuer.asked("/.well-known/openid-configuration")) == (1, 1)
    plain = tokens_by_flags(issuer.flags(username_prefix="-", groups_claim="roles", groups_prefix="p:"), issuer.clock)
    assert who(plain, issuer.token(roles=["a", "b"])) == Identity("ann", ("p:a", "p:b"))
    assert who(plain, issuer.token(roles="a")) == Identity("ann", ("p:a",))
    assert who(plain, issuer.token(roles={"a": 1})) == 401
    assert who(plain, issuer.token()) == Identity("ann")


def test_email_must_be_verified_where_it_says_so(issuer: Issuer) -> None:
    """An address as name has no prefix, and counts unless the token says that nobody verified it."""
    tokens = tokens_by_flags(issuer.flags(username_claim="email"), issuer.clock)
    assert who(tokens, issuer.token(email="a@b")) == Identity("a@b")
    assert who(tokens, issuer.token(email="a@b", email_verified=True)) == Identity("a@b")
    for verified in (False, "true"):
        assert who(tokens, issuer.token(email="a@b", email_verified=verified)) == 401


def test_required_claims(issuer: Issuer) -> None:
    """Claims that are required must be there, with that value."""
    tokens = tokens_by_flags(issuer.flags(required_claims={"hd": "example.org"}), issuer.clock)
    assert who(tokens, issuer.token()) == 401
    assert who(tokens, issuer.token(hd="example.com")) == 401
    assert isinstance(who(tokens, issuer.token(hd="example.org")), Identity)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": None},
        {"exp": None},
        {"exp": 0},
        {"nbf": 99999999999},
        {"sub": None},
        {"sub": ""},
    ],
)
def test_tokens_that_are_refused(issuer: Issuer, claims: dict[str, Any]) -> None:
    """A token for others, without an end, over, from the future, or of nobody."""
    tokens = tokens_by_flags(issuer.flags(), issuer.clock)
    assert who(tokens, issuer.token(**claims)) == 401


def test_other_credentials_are_not_its_business(issuer: Issuer) -> None:
    """Tokens of other issuers, and what is no token, are left to others."""
    tokens = tokens_by_flags(issuer.flags(), issuer.clock)
    for other in ("", "x", "a.b.c", issuer.token(iss="https://elsewhere.example")):
        assert who(tokens, other) is None
    assert issuer.service.requests == []


def test_groups_elsewhere(issuer: Issuer) -> None:
    """A token that says that its groups are elsewhere is refused; one that has them itself is not."""
    tokens = tokens_by_flags(issuer.flags(groups_claim="groups", groups_prefix="oidc:"), issuer.clock)
    named: dict[str, Any] = {"_claim_names": {"groups": "there"}}
    assert who(tokens, issuer.token(**named)) == 401
    found = who(tokens, issuer.token(**named, groups=["mine"]))
    assert isinstance(found, Identity)
    assert found.groups == ("oidc:mine",)


def test_signatures(issuer: Issuer) -> None:
    """Only the provider's keys count, with algorithms that are accepted and that fit them."""
    tokens = tokens_by_flags(issuer.flags(), issuer.clock)
    stranger = rsa.generate_private_key(65537, 2048)
    assert who(tokens, issuer.token(stranger, header={"alg": "RS256", "kid": "r1"})) == 401
    assert who(tokens, issuer.token(CURVE_KEY)) == 401, "only RS256 is accepted by default"
    wider = tokens_by_flags(issuer.flags(signing_algs=("RS256", "ES256", "PS256")), issuer.clock)
    assert isinstance(who(wider, issuer.token(CURVE_KEY)), Identity)
    assert isinstance(who(wider, issuer.token(header={"alg": "PS256"})), Identity)
    head, claims, signature = issuer.token().split(".")
    assert who(wider, f"{head}.{claims}.{signature[:-4]}AAAA") == 401


def test_new_keys_are_found(issuer: Issuer) -> None:
    """A token by an unknown key has the keys fetched again, at most every ten seconds."""
    tokens = tokens_by_flags(issuer.flags(), issuer.clock)
    assert isinstance(who(tokens, issuer.token()), Identity)
    newer = rsa.generate_private_key(65537, 2048)
    token = issuer.token(newer, header={"alg": "RS256", "kid": "r2"})
    for _ in range(3):
        assert who(tokens, token) == 401
    assert issuer.asked("/keys") == 1
    issuer.keys.append(published(newer, "r2"))
    issuer.clock.advance(10)
    assert isinstance(who(tokens, token), Identity)
    assert issuer.asked("/keys") == 2


@pytest.mark.parametrize(
    "changes", [{"issuer": "https://evil.example"}, {"jwks_uri": "http://evil.example/keys"}, {"jwks_uri": None}]
)
def test_discovery_documents_of_others(issuer: Issuer, changes: dict[str, Any], caplog: Any) -> None:
    """A document that calls itself otherwise, or keeps its keys without TLS, is not believed."""
    issuer.changes = changes
    with caplog.at_level(logging.WARNING):
        assert who(tokens_by_flags(issuer.flags(), issuer.clock), issuer.token()) == 401
    assert "cannot be had" in caplog.text


def test_unreachable_providers_are_tried_again(issuer: Issuer) -> None:
    """Until its keys can be had nobody of the issuer is known; attempts are ten seconds apart."""
    tokens = tokens_by_flags(issuer.flags(authority=b""), issuer.clock)
    assert who(tokens, issuer.token()) == 401
    tried: list[str] = []

    def fetch(url: str) -> bytes:
        tried.append(url)
        if len(tried) == 1:
            raise Unreachable("down")
        return over_https(issuer.authority)(url)

    tokens.provider = Provider(issuer.url, fetch, issuer.clock)
    assert who(tokens, issuer.token()) == 401
    assert who(tokens, issuer.token()) == 401
    assert len(tried) == 1
    issuer.clock.advance(10)
    assert isinstance(who(tokens, issuer.token()), Identity)


def test_flags_that_do_not_go_together(issuer: Issuer) -> None:
    """Issuer and client belong together, and the issuer speaks https."""
    for flags, why in (
        (OIDCOptions(issuer_url="https://x"), "must be specified together"),
        (OIDCOptions(issuer_url="http://x", client_id="c"), "scheme must be https"),
        (issuer.flags(signing_algs=("HS256",)), "'HS256' is not an accepted algorithm"),
    ):
        with pytest.raises(SimkitError, match=why):
            tokens_by_flags(flags, issuer.clock)


def test_key_sets() -> None:
    """Keys for encryption, unknown kinds and broken numbers are passed over; what is no key set is told."""
    entries = [
        published(RSA_KEY, "a"),
        published(RSA_KEY, "b", use="enc"),
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        "nonsense",
    ]
    assert [key.identifier for key in read_key_set(orjson.dumps({"keys": entries}))] == ["a"]
    for broken in (b"x", b"[]", b"{}", b'{"keys": 1}'):
        with pytest.raises(BadKeySet):
            read_key_set(broken)
    bound = read_key_set(orjson.dumps({"keys": [published(RSA_KEY, "a", alg="RS256")]}))[0]
    assert [algorithm for algorithm in ALGORITHMS if bound.fits(algorithm, "a")] == ["RS256"]
