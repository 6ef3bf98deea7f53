"""The authenticators' common promises, checked for each implementation."""

from __future__ import annotations

import base64
from pathlib import Path

import orjson
import pytest

from simkit.engine.authn.authentication_configuration import StructuredTokens
from simkit.engine.authn.oidc import OIDCOptions, tokens_by_flags
from simkit.engine.authn.token_sources import SECRET_TYPE, BootstrapTokens, StaticTokens, WebhookTokens
from simkit.engine.authn.union import RequestHeaders, Union
from simkit.engine.authn.x509 import ClientCertificates
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.testing.suites.authenticators import AuthenticatorSuite, Case
from tests.engine.authn.providers import CURVE_KEY, Issuer
from tests.engine.authn.test_serviceaccount import World
from tests.engine.authn.test_x509 import START, chain, constraints, make, pem
from tests.releases import BASE

ANN = Identity("ann")
ROBOT = "system:serviceaccount:ns:robot"


class TestTokenFile(AuthenticatorSuite):
    @pytest.fixture
    def case(self) -> Case:
        return Case(StaticTokens({"s3cret": ANN}), Credentials("s3cret"), ANN, unknown=(Credentials("other"),))


class TestServiceAccountTokens(AuthenticatorSuite):
    @pytest.fixture
    def case(self) -> Case:
        world = World()
        good = Credentials(world.token())
        identity = world.who(good.bearer)
        assert identity is not None
        assert identity.user == ROBOT
        bad = (Credentials(world.token("elsewhere")), Credentials(good.bearer[:-8] + "AAAAAAAA"))
        return Case(world.verifier, good, identity, bad, (Credentials("a.b.c"),))


class TestBootstrapTokens(AuthenticatorSuite):
    @pytest.fixture
    def case(self) -> Case:
        data = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
        secret = {"metadata": {"name": "bootstrap-token-abcdef"}, "type": SECRET_TYPE, "data": encoded}
        tokens = BootstrapTokens(
            lambda _, __, name: secret if name == "bootstrap-token-abcdef" else None, SimulatedClock()
        )
        identity = Identity("system:bootstrap:abcdef", ("system:bootstrappers",))
        wrong = (Credentials("abcdef.0000000000000000"), Credentials("fedcba.0123456789abcdef"))
        return Case(tokens, Credentials("abcdef.0123456789abcdef"), identity, unknown=wrong)


ROOT = make("root", extensions=[constraints()])


class TestClientCertificates(AuthenticatorSuite):
    @pytest.fixture
    def case(self) -> Case:
        strangers = (chain(make("ann")), Credentials(certificates=(b"nonsense",)))
        return Case(
            ClientCertificates(BASE, pem(ROOT), SimulatedClock(START)), chain(make("ann", ROOT)), ANN, strangers
        )


class TestRequestHeaders(AuthenticatorSuite):
    @pytest.fixture
    def case(self) -> Case:
        proxy, stranger = chain(make("proxy", ROOT)).certificates, chain(make("proxy")).certificates
        good, bad = (Credentials("", certificates, {"x-remote-user": ("ann",)}) for certificates in (proxy, stranger))
        tokens = RequestHeaders(pem(ROOT), SimulatedClock(START))
        return Case(tokens, good, ANN, (bad,), (Credentials("", proxy),))


class TestProviderTokens(AuthenticatorSuite):
    @pytest.fixture
    def case(self, issuer: Issuer) -> Case:
        options = OIDCOptions(issuer.url, "simkit", authority=issuer.authority, username_prefix="-")
        tokens = tokens_by_flags(options, issuer.clock)
        bad = (Credentials(issuer.token(aud="other")), Credentials(issuer.token(CURVE_KEY)))
        unknown = (Credentials("opaque"), Credentials(issuer.token(iss="https://elsewhere.example")))
        return Case(tokens, Credentials(issuer.token()), ANN, bad, unknown, leaves_process=True)


class TestStructuredTokens(AuthenticatorSuite):
    @pytest.fixture
    def case(self, issuer: Issuer, tmp_path: Path) -> Case:
        entry = {
            "issuer": {
                "url": issuer.url,
                "audiences": ["simkit"],
                "certificateAuthority": issuer.authority.decode(),
            },
            "claimMappings": {"username": {"claim": "sub", "prefix": ""}},
        }
        head = {"apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "AuthenticationConfiguration"}
        path = tmp_path / "authentication.json"
        path.write_bytes(orjson.dumps({**head, "jwt": [entry]}))
        tokens = StructuredTokens(path, issuer.clock, Metrics())
        bad = (Credentials(issuer.token(aud="other")),)
        return Case(tokens, Credentials(issuer.token()), ANN, bad, (Credentials("opaque"),), leaves_process=True)


class _Knows:
    """A token service that knows one token."""

    def post(self, body: bytes) -> bytes:
        known = orjson.loads(body)["spec"]["token"] == "known"
        user = {"username": "ann"} if known else {}
        return orjson.dumps({"kind": "TokenReview", "status": {"authenticated": known, "user": user}})


class TestWebhookTokens(AuthenticatorSuite):
    @pytest.fixture
    def case(self) -> Case:
        tokens = WebhookTokens(BASE, _Knows(), SimulatedClock())
        return Case(tokens, Credentials("known"), ANN, unknown=(Credentials("other"),), leaves_process=True)


def test_a_union_leaves_the_process_where_a_member_does() -> None:
    """The declaration of a union follows from its members."""
    inside, outside = StaticTokens({}), WebhookTokens(BASE, _Knows(), SimulatedClock())
    assert not Union([inside]).leaves_process
    assert Union([inside, outside]).leaves_process
