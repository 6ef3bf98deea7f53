"""An identity provider as others make it, served over HTTPS: its tokens open a served cluster, and nothing else of it."""

from __future__ import annotations

import ssl
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from werkzeug.serving import make_server

from simkit.engine.authn.oidc import OIDCOptions
from simkit.engine.authn.options import AuthenticationOptions, build
from simkit.engine.http.keypair import make_authority
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.meta.clock import SystemClock
from simkit.meta.errors import StatusError
from simkit.meta.message import Credentials
from tests.releases import BASE

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the provider and what it stands on
SPAN = (datetime.now(UTC) - timedelta(days=1), datetime.now(UTC) + timedelta(days=1))
BACK = "https://app.example/back"


@dataclass
class Provider:
    """A running provider, with whom one logs in as anybody."""

    url: str
    authority: Path

    def tokens(self, user: str, client: str = "simkit") -> dict[str, str]:
        """The tokens of a login, by the whole way that a browser and a client go."""
        asked = {"client_id": client, "redirect_uri": BACK, "response_type": "code", "scope": "openid email"}
        with requests.Session() as session:
            session.verify, session.trust_env = str(self.authority), False
            form = {"sub": user}
            where = f"{self.url}/oauth2/authorize"
            answer = session.post(where, params=asked, data=form, allow_redirects=False, timeout=20)
            code = parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]
            exchange = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
            given = session.post(f"{self.url}/oauth2/token", data=exchange, auth=(client, "secret"), timeout=20)
        found: dict[str, str] = given.json()
        return found


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    """The provider of a package that others test their clients with."""
    # authlib warns of its module jose, which the newest release of the mock still imports, past every filter.
    with warnings.catch_warnings(record=True) as warned:
        from oidc_provider_mock import User, app
    assert all("authlib.jose" in str(each.message) for each in warned)

    made = app(user_claims=[User(sub="ann", claims={"email": "ann@example.com"})])
    folder = tmp_path_factory.mktemp("provider")
    authority = make_authority("provider", SPAN)
    pair = authority.sign_server("localhost", (["localhost"], ["127.0.0.1"]), SPAN)
    (folder / "ca.crt").write_bytes(authority.certificate_pem())
    (folder / "own.pem").write_bytes(pair.certificate_pem() + pair.key_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "own.pem")
    server = make_server("127.0.0.1", 0, made, threaded=True, ssl_context=context)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Provider(f"https://127.0.0.1:{server.server_port}", folder / "ca.crt")
    server.shutdown()
    server.server_close()
    thread.join()


def user(settings: AuthenticationOptions, token: str) -> str | int:
    """The identity that a server with these settings finds, or the status of its refusal."""
    authenticator = build(BASE, settings, lambda *_: None, SystemClock(), Metrics()).authenticator
    try:
        return authenticator.authenticate(Credentials(token)).user
    except StatusError as error:
        return error.code


def flags(provider: Provider, **more: str) -> AuthenticationOptions:
    known = {"issuer_url": provider.url, "client_id": "simkit", **more}
    return AuthenticationOptions(oidc=OIDCOptions(**known, authority=provider.authority.read_bytes()))  # type: ignore[arg-type]


def test_logging_in(provider: Provider) -> None:
    """The identity token of a login is a credential, by flags and by the configuration file."""
    token = provider.tokens("ann")["id_token"]
    assert user(flags(provider), token) == f"{provider.url}#ann"
    assert user(flags(provider, username_prefix="-"), token) == "ann"
    assert user(flags(provider, username_claim="email"), token) == "ann@example.com"


def test_the_configuration_file(provider: Provider, tmp_path: Path) -> None:
    """Claims become names and groups by expressions."""
    authority = provider.authority.read_text().replace("\n", "\n        ")
    path = tmp_path / "authentication.yaml"
    path.write_text(f"""
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
  - issuer:
      url: {provider.url}
      audiences: [simkit]
      certificateAuthority: |
        {authority}
    claimMappings:
      username: {{expression: "'oidc:' + claims.sub"}}
    userValidationRules:
      - expression: "!user.username.endsWith('eve')"
        message: not eve
""")
    settings = AuthenticationOptions(authentication_config=path)
    assert user(settings, provider.tokens("ann")["id_token"]) == "oidc:ann"
    assert user(settings, provider.tokens("eve")["id_token"]) == 401


def test_further_tokens_of_a_login(provider: Provider) -> None:
    """The access token is no credential here, nor is an identity token for another client, or a changed one."""
    given = provider.tokens("ann")
    assert user(flags(provider), given["access_token"]) == 401
    assert user(flags(provider), provider.tokens("ann", "another")["id_token"]) == 401
    head, body, mark = given["id_token"].split(".")
    assert user(flags(provider), f"{head}.{body}.{mark[:-8]}AAAAAAAA") == 401
    assert user(flags(provider, signing_algs=("ES256",)), given["id_token"]) == 401  # type: ignore[arg-type]


def test_a_provider_that_nobody_vouches_for(provider: Provider) -> None:
    """Without its authority the provider's keys are not believed."""
    stranger = make_authority("other", SPAN).certificate_pem()
    settings = AuthenticationOptions(oidc=OIDCOptions(provider.url, "simkit", authority=stranger))
    assert user(settings, provider.tokens("ann")["id_token"]) == 401
