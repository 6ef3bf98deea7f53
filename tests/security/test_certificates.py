"""Certificates of the wrong authority, and proxies that nobody trusts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.engine.authn.options import AuthenticationOptions, build
from simkit.engine.authn.union import Union
from simkit.engine.http.keypair import KeyPair, make_authority
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.message import Credentials
from tests.releases import BASE

pytestmark = pytest.mark.slow

START = datetime(2024, 4, 17, tzinfo=UTC)
SPAN = (START - timedelta(days=1), START + timedelta(days=30))
CLIENTS, PROXIES, STRANGERS = (make_authority(name, SPAN) for name in ("clients", "proxies", "strangers"))
SAYS = {"x-remote-user": ("ann",), "x-remote-group": ("system:masters",)}


def authenticator(**more: object) -> Union:
    settings = {"client_authorities": CLIENTS.certificate_pem(), "proxy_authorities": PROXIES.certificate_pem()}
    chosen = AuthenticationOptions(**{**settings, **more})  # type: ignore[arg-type]
    return build(BASE, chosen, lambda *_: None, SimulatedClock(START)).authenticator


def shown(pair: KeyPair, headers: Mapping[str, Sequence[str]] | None = None) -> Credentials:
    return Credentials(certificates=(pair.certificate.public_bytes(Encoding.DER),), headers=headers or {})


def who(union: Union, credentials: Credentials) -> tuple[str, tuple[str, ...]] | int:
    try:
        found = union.authenticate(credentials)
    except StatusError as error:
        return error.code
    return found.user, found.groups


def test_each_authority_for_its_own() -> None:
    """A client is who its certificate says, a proxy says who it speaks for."""
    union = authenticator()
    assert who(union, shown(CLIENTS.sign_client("eve", ("devs",), SPAN))) == ("eve", ("devs", "system:authenticated"))
    proxy = PROXIES.sign_client("front", (), SPAN)
    assert who(union, shown(proxy, SAYS)) == ("ann", ("system:masters", "system:authenticated"))


def test_a_client_is_no_proxy() -> None:
    """A client's certificate gives no weight to proxy headers: it stays who it is."""
    eve = CLIENTS.sign_client("front", ("devs",), SPAN)
    assert who(authenticator(), shown(eve, SAYS)) == ("front", ("devs", "system:authenticated"))


def test_a_proxy_is_no_client() -> None:
    """A certificate of the proxies' authority is no identity, even if it names an administrator."""
    admin = PROXIES.sign_client("admin", ("system:masters",), SPAN)
    assert who(authenticator(), shown(admin)) == 401


def test_authorities_change(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Files of authorities count as they are: who is taken out vouches for nobody, verified before or not."""
    clients, proxies = tmp_path / "clients.crt", tmp_path / "proxies.crt"
    clients.write_bytes(CLIENTS.certificate_pem())
    proxies.write_bytes(PROXIES.certificate_pem())
    clock = SimulatedClock(START)
    files = AuthenticationOptions(client_authorities_file=clients, proxy_authorities_file=proxies)
    union = build(BASE, files, lambda *_: None, clock).authenticator
    eve, ivy = (shown(pair.sign_client("eve", (), SPAN)) for pair in (CLIENTS, STRANGERS))
    front = shown(PROXIES.sign_client("front", (), SPAN), SAYS)

    def seen() -> list[str | int]:
        found = (who(union, each) for each in (eve, ivy, front))
        return [each if isinstance(each, int) else each[0] for each in found]

    assert seen() == ["eve", 401, "ann"]
    clients.write_bytes(STRANGERS.certificate_pem())
    assert seen() == ["eve", 401, "ann"]
    clock.advance(seconds=2)
    assert seen() == [401, "eve", "ann"]
    for broken in (b"", b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"):
        proxies.write_bytes(broken)
        clock.advance(seconds=2)
        assert seen() == [401, "eve", "ann"]
    assert "everything stays as it was" in caplog.text
    with pytest.raises(SimkitError, match="bundle of certificate authorities"):
        build(BASE, files, lambda *_: None, clock)


def test_only_named_proxies() -> None:
    """If names are listed, another certificate of the same authority is no proxy."""
    union = authenticator(proxy_names=("front",))
    assert who(union, shown(PROXIES.sign_client("other", (), SPAN), SAYS)) == 401
    assert who(union, shown(PROXIES.sign_client("front", (), SPAN), SAYS)) == (
        "ann",
        ("system:masters", "system:authenticated"),
    )


def test_headers_without_a_certificate() -> None:
    """Anybody can send headers."""
    assert who(authenticator(), Credentials(headers=SAYS)) == ("system:anonymous", ("system:unauthenticated",))
    assert who(authenticator(anonymous_auth=False), Credentials(headers=SAYS)) == 401


def test_strangers() -> None:
    """A certificate of nobody's authority is refused, and so is one made for servers."""
    assert who(authenticator(), shown(STRANGERS.sign_client("ann", ("system:masters",), SPAN))) == 401
    impostor = make_authority("clients", SPAN).sign_client("ann", (), SPAN)
    assert who(authenticator(), shown(impostor)) == 401
    server = CLIENTS.sign_server("server", (["localhost"], ["127.0.0.1"]), SPAN)
    assert who(authenticator(), shown(server)) == 401


@pytest.mark.parametrize("days", [(-10, -5), (5, 10)])
def test_out_of_time(days: tuple[int, int]) -> None:
    """A certificate counts in its own time alone."""
    span = (START + timedelta(days=days[0]), START + timedelta(days=days[1]))
    assert who(authenticator(), shown(CLIENTS.sign_client("eve", (), span))) == 401


def test_a_client_may_not_sign_others() -> None:
    """A client certificate is no authority."""
    eve = CLIENTS.sign_client("eve", (), SPAN)
    forged = eve.sign_client("admin", ("system:masters",), SPAN)
    chain = (forged.certificate.public_bytes(Encoding.DER), eve.certificate.public_bytes(Encoding.DER))
    assert who(authenticator(), Credentials(certificates=chain)) == 401


LEAF = CLIENTS.sign_client("eve", ("devs",), SPAN).certificate.public_bytes(Encoding.DER)
KNOWN = authenticator()


@settings(max_examples=600)
@given(st.lists(st.tuples(st.integers(0, len(LEAF) - 1), st.integers(0, 255)), min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::cryptography.utils.CryptographyDeprecationWarning")
def test_no_altered_certificate_is_good(changes: list[tuple[int, int]]) -> None:
    """A certificate in which any byte is another one is refused, however strange it has become."""
    altered = bytearray(LEAF)
    for place, value in changes:
        altered[place] = value
    expected: object = 401 if bytes(altered) != LEAF else ("eve", ("devs", "system:authenticated"))
    assert who(KNOWN, Credentials(certificates=(bytes(altered),))) == expected


@pytest.mark.parametrize("version", [1, 7, 43])
def test_versions_that_there_are_not(version: int) -> None:
    """A certificate of a version that does not exist is refused like any other that cannot be read."""
    place = LEAF.index(bytes.fromhex("a003020102")) + 4
    altered = LEAF[:place] + bytes([version]) + LEAF[place + 1 :]
    assert who(KNOWN, Credentials(certificates=(altered,))) == 401


def test_other_names_of_headers() -> None:
    """A server may be told which headers a proxy uses; the usual ones then mean nothing."""
    union = authenticator(
        proxy_user_headers=("X-User",), proxy_group_headers=("X-Team",), proxy_extra_prefixes=("X-More-",)
    )
    proxy = PROXIES.sign_client("front", (), SPAN)
    found = union.authenticate(
        shown(proxy, {"x-user": ("ann",), "x-team": ("devs",), "x-more-a%2fb": ("c",), "x-remote-group": ("root",)})
    )
    assert (found.user, found.groups, found.extra) == ("ann", ("devs", "system:authenticated"), {"a/b": ("c",)})
    assert who(union, shown(proxy, SAYS)) == 401
