"""Identity providers that publish strange keys, lie, are slow, or are asked for keys by strangers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from jwt.utils import base64url_encode, to_base64url_uint

from simkit.engine.authn.authentication_configuration import parse
from simkit.engine.authn.claim_mapping import BadExpression, Expression
from simkit.engine.authn.jws import Malformed, Parsed
from simkit.engine.authn.jws import parse as parse_token
from simkit.engine.authn.oidc import WAIT, Provider, tokens_by_flags
from simkit.engine.authn.signing_keys import MOST_KEYS, MOST_TRIED, BadKeySet, PublishedKey, read_key_set
from simkit.meta.deadline import Deadline, within
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import Identity
from tests.engine.authn.providers import CURVE_KEY, RSA_KEY, Issuer, issuing, published, who
from tests.security.places import places, put

ODD: tuple[Any, ...] = (None, 7, 1.5, True, "", "é", "\0", "A", [], ["A"], {}, {"a": 1})
MODULUS = RSA_KEY.public_key().public_numbers().n


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    """A provider over HTTPS."""
    with issuing(tmp_path) as made:
        yield made


def number(value: int) -> str:
    return to_base64url_uint(value).decode()


def rsa(modulus: int, exponent: int) -> dict[str, Any]:
    return {"kty": "RSA", "n": number(modulus), "e": number(exponent)}


def point(curve: str, x: int, y: int) -> dict[str, Any]:
    return {"kty": "EC", "crv": curve, "x": number(x), "y": number(y)}


STRANGE: dict[str, dict[str, Any]] = {
    "a modulus of 2^20 bits": rsa(2**2**20 - 1, 65537),
    "a modulus of 20,000 bits": rsa(2**20_000 - 1, 65537),
    "a modulus of 512 bits": rsa(2**512 - 1, 65537),
    "exponent 1": rsa(MODULUS, 1),
    "an even exponent": rsa(MODULUS, 2),
    "a large exponent": rsa(MODULUS, 2**31 + 1),
    "the exponent is the modulus": rsa(MODULUS, MODULUS),
    "nothing": rsa(0, 0),
    "beside P-256": point("P-256", 5, 7),
    "beside P-521": point("P-521", 5, 7),
    "a point of another curve": {**published(CURVE_KEY, ""), "crv": "P-384"},
    "coordinates of a megabyte": point("P-256", 2**8_000_000, 2**8_000_000),
    **{f"n {value!r}": {"kty": "RSA", "n": value, "e": "AQAB"} for value in ODD},
    **{f"e {value!r}": {**rsa(MODULUS, 3), "e": value} for value in ODD},
    **{f"x {value!r}": {**published(CURVE_KEY, ""), "x": value} for value in ODD},
    **{f"crv {value!r}": {**published(CURVE_KEY, ""), "crv": value} for value in ODD},
    **{f"kty {value!r}": {**rsa(MODULUS, 3), "kty": value} for value in ODD},
    **{f"kid {value!r}": {**rsa(MODULUS, 3), "kid": value} for value in ODD if value and not isinstance(value, str)},
    **{f"alg {value!r}": {**rsa(MODULUS, 3), "alg": value} for value in ODD if value and not isinstance(value, str)},
}


def test_strange_keys_are_skipped() -> None:
    """Keys that Go or OpenSSL would not use are none; the good one beside them is."""
    good = published(RSA_KEY, "good")
    for name, entry in STRANGE.items():
        found = read_key_set(orjson.dumps({"keys": [entry, good]}))
        assert [each.identifier for each in found] == ["good"], name


def test_no_key_fails_otherwise_than_by_saying_no() -> None:
    """Whatever can be read as a key, such as one with an even modulus, refuses a signature in the usual way."""
    entries = [rsa(MODULUS - 1, 3), rsa(2**2048, 65537), rsa(2**16_384 - 1, 2**31 - 1), published(CURVE_KEY, "")]
    for key in read_key_set(orjson.dumps({"keys": entries})):
        for signature in (b"", b"\0" * 64, b"\xff" * 256, b"x" * 100_000):
            for algorithm in ("RS256", "PS512", "ES256"):
                assert not key.fits(algorithm, "") or not key.verifies(algorithm, signature, b"signed")


def test_keys_without_number(issuer: Issuer) -> None:
    """A set of more than a thousand keys is none, however many a document could hold."""
    entry = published(CURVE_KEY, "e")
    assert len(read_key_set(orjson.dumps({"keys": [entry] * MOST_KEYS}))) == MOST_KEYS
    with pytest.raises(BadKeySet, match="more than 1,000 keys"):
        read_key_set(orjson.dumps({"keys": [entry] * 20_000}))
    issuer.keys = [published(RSA_KEY, "r1", x5c=["A" * 1000] * 10_000)]
    assert isinstance(who(tokens_by_flags(issuer.flags(), issuer.clock), issuer.token()), Identity)


def test_one_signature_is_checked_with_a_hundred_keys(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that anybody may send costs no more, whether all keys have its name or none has."""
    checked = list[str]()

    def verifies(key: PublishedKey, algorithm: str, signature: bytes, signed: bytes) -> bool:
        checked.append(algorithm)
        return False

    monkeypatch.setattr(PublishedKey, "verifies", verifies)
    issuer.keys = [published(RSA_KEY, "r1")] * MOST_KEYS
    assert who(tokens_by_flags(issuer.flags(), issuer.clock), issuer.token()) == 401
    assert len(checked) == MOST_TRIED


def test_tokens_of_unknown_keys_do_not_have_the_keys_fetched_each_time(issuer: Issuer) -> None:
    """Ten thousand of them cost the provider one answer in ten seconds."""
    tokens = tokens_by_flags(issuer.flags(), issuer.clock)
    claims = issuer.token().split(".")[1]

    def named(identifier: str) -> str:
        header = base64url_encode(orjson.dumps({"alg": "RS256", "kid": identifier})).decode()
        return f"{header}.{claims}.AAAA"

    for count in range(10_000):
        assert who(tokens, named(f"k{count}")) == 401
    assert issuer.asked("/keys") == 1
    issuer.clock.advance(WAIT)
    assert [who(tokens, named("again")) for _ in range(3)] == [401] * 3
    assert issuer.asked("/keys") == 2
    assert isinstance(who(tokens, issuer.token()), Identity)


class Slow:
    """Fetches the documents of a provider, when it is told to go on."""

    def __init__(self, issuer: Issuer) -> None:
        self.go_on, self.asked, self._issuer = threading.Event(), list[str](), issuer

    def __call__(self, url: str) -> bytes:
        self.asked.append(url)
        assert self.go_on.wait(60)
        return orjson.dumps(self._issuer.reply(url.removeprefix(self._issuer.url), None)[1])


def test_a_slow_provider_is_asked_once_for_all_who_wait(issuer: Issuer) -> None:
    """Requests waited for each other's turn to ask, each for the whole time limit of a call."""
    slow, token = Slow(issuer), parse_token(issuer.token())
    provider = Provider(issuer.url, slow, issuer.clock)
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(provider.verifies, token, ["RS256"]) for _ in range(20)]
        slow.go_on.set()
        assert all(each.result() for each in waiting)
    assert len(slow.asked) == 2, "the discovery document and the keys"


class Late(Parsed):
    """A token at whose signature one looks while another one has the provider's new keys fetched."""

    def __init__(self, token: Parsed, meanwhile: Callable[[], object]) -> None:
        super().__init__(token.header, token.claims, token.signature, token.signed)
        self.__dict__["meanwhile"] = meanwhile

    def __getattribute__(self, name: str) -> Any:
        if name == "signature" and (step := self.__dict__.pop("meanwhile", None)) is not None:
            step()
        return super().__getattribute__(name)


def test_keys_that_come_while_somebody_looks_count(issuer: Issuer) -> None:
    """A request that found no key, just before others had the new ones fetched, was refused."""
    slow, token = Slow(issuer), parse_token(issuer.token())
    slow.go_on.set()
    provider = Provider(issuer.url, slow, issuer.clock)
    issuer.keys = [published(generate_private_key(65537, 2048), "r1")]
    assert not provider.verifies(token, ["RS256"])
    issuer.keys = [published(RSA_KEY, "r1")]
    issuer.clock.advance(seconds=60)
    assert provider.verifies(Late(token, partial(provider.verifies, token, ["RS256"])), ["RS256"])
    assert len(slow.asked) == 3, "the keys were fetched twice"


def test_whoever_does_not_wait_keeps_nobody_from_the_keys(issuer: Issuer) -> None:
    """A stranger's request with a short time began the fetch, and ended it for everybody, every ten seconds."""
    slow, token = Slow(issuer), parse_token(issuer.token())
    provider = Provider(issuer.url, slow, issuer.clock)
    with pytest.raises(StatusError, match="within the allotted timeout"):
        within(Deadline(0.05), partial(provider.verifies, token, ["RS256"]))
    slow.go_on.set()
    assert provider.verifies(token, ["RS256"])


@pytest.mark.parametrize(
    "address",
    [
        "https://[",
        "https://127.0.0.1:99999999/",
        "https://127.0.0.1:-1/",
        "https://127.0.0.1:1/\u00e9",
        "https://127.0.0.1:1/\r\nx: y",
        "https://a..b/",
        "https://" + "a" * 70 + ".example/",
        "https://\0/",
    ],
)
def test_addresses_that_are_none(issuer: Issuer, address: str) -> None:
    """Of keys: such a token is refused, and nothing fails."""
    issuer.changes = {"jwks_uri": address}
    assert who(tokens_by_flags(issuer.flags(), issuer.clock), issuer.token()) == 401


def test_claims_that_nest_deeply_are_no_claims(issuer: Issuer) -> None:
    """Expressions compare and print claims level by level."""
    nested: Any = "a"
    for _ in range(400):
        nested = [nested]
    with pytest.raises(Malformed, match="too deeply"):
        parse_token(issuer.token(nested=nested))
    tokens = tokens_by_flags(issuer.flags(), issuer.clock)
    assert who(tokens, issuer.token(nested=nested)) is None


_RULES = {"username": {"expression": "claims.sub"}, "groups": {"claim": "g", "prefix": ""}}
_ISSUER = {
    "url": "https://a.example",
    "audiences": ["a"],
    "certificateAuthority": "",
    "discoveryURL": "https://b.example",
}
CONFIGURATION: dict[str, Any] = {
    "apiVersion": "apiserver.config.k8s.io/v1beta1",
    "kind": "AuthenticationConfiguration",
    "jwt": [
        {
            "issuer": {**_ISSUER, "audienceMatchPolicy": ""},
            "claimValidationRules": [{"claim": "a", "requiredValue": "b"}, {"expression": "true", "message": "m"}],
            "claimMappings": {**_RULES, "extra": [{"key": "a.example/b", "valueExpression": "claims.x"}]},
            "userValidationRules": [{"expression": "true", "message": "m"}],
        }
    ],
}
HOSTILE: tuple[Any, ...] = (
    *ODD,
    "https://[",
    "https://a:99999999",
    "x" * 100_000,
    "9" * 5000,
    "0x" + "f" * 5000,
    "(" * 3000,
    "[" * 3000,
    "!" * 3000 + "true",
    "a." * 3000 + "a",
    "true||" * 3000 + "true",
    "[1].map(x," * 100 + "1" + ")" * 100,
)


@pytest.mark.slow
def test_a_hostile_configuration_is_read_or_refused() -> None:
    """Each field of the file with what nobody would write there."""
    for place in places(CONFIGURATION):
        for value in HOSTILE:
            try:
                parse(orjson.dumps(put(CONFIGURATION, place, value)))
            except SimkitError:
                continue


def test_numbers_of_any_length_in_expressions() -> None:
    """Python reads no more than 4,300 digits, leading zeros among them."""
    long = "9" * 5000
    for text in (long, f"-{long}", f"{long}u"):
        with pytest.raises(BadExpression, match=r"invalid u?int literal"):
            Expression(text)
    assert [Expression(f"{sign}{'0' * 5000}7").value({}) for sign in ("", "-")] == [7, -7]
