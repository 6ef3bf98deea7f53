"""Tokens of identity providers, by flags and by a configuration file, and tokens that a service knows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from simkit.engine.authn.config import Settings, build
from simkit.engine.authn.jwk import ALGORITHMS, BadKeySet, read_key_set
from simkit.engine.authn.oidc import Provider, over_https
from simkit.engine.authn.oidcflags import Flags, tokens_by_flags
from simkit.engine.authn.review import TokenReviewer
from simkit.engine.authn.structured import StructuredTokens, parse
from simkit.engine.authn.tokenwebhook import WebhookTokens
from simkit.engine.outside.call import Caller, CallFailed
from simkit.engine.outside.clientfile import read
from simkit.engine.outside.watchedfile import SERVER_HASH
from simkit.engine.pipeline.metrics import Metrics
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from tests.engine.outside.service import Service, serving

RSA_KEY = rsa.generate_private_key(65537, 2048)
CURVE_KEY = ec.generate_private_key(ec.SECP256R1())


def published(key: Any, identifier: str, **more: Any) -> dict[str, Any]:
    maker = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    entry: dict[str, Any] = maker.to_jwk(key.public_key(), as_dict=True)
    return {**entry, "kid": identifier, "use": "sig", **more}


class Issuer:
    """A small identity provider over HTTPS."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.keys = [published(RSA_KEY, "r1"), published(CURVE_KEY, "e1")]
        self.service: Service
        self.changes: dict[str, Any] = {}
        self.elsewhere: Any = b""
        """What is answered where tokens say that their groups are."""

    @property
    def url(self) -> str:
        return self.service.url

    @property
    def authority(self) -> bytes:
        return self.service.authority.certificate_pem()

    def reply(self, path: str, body: Any) -> tuple[int, Any]:
        if path == "/keys":
            return 200, {"keys": self.keys}
        if path == "/groups":
            return 200, self.elsewhere
        return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.changes}

    def token(self, key: Any = RSA_KEY, *, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        now = int(self.clock.now())
        given = {"iss": self.url, "aud": "simkit", "sub": "ann", "exp": now + 600, "iat": now, **claims}
        algorithm = (header or {}).get("alg") or ("RS256" if key is RSA_KEY else "ES256")
        named = {"kid": "r1" if key is RSA_KEY else "e1", **(header or {})}
        return jwt.encode({k: v for k, v in given.items() if v is not None}, key, algorithm, headers=named)

    def flags(self, **more: Any) -> Flags:
        settings = {"issuer_url": self.url, "client_id": "simkit", "authority": self.authority, **more}
        return Flags(**settings)

    def asked(self, path: str) -> int:
        return sum(where == path for where, _, _ in self.service.requests)


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    made = Issuer()
    with serving(tmp_path, made.reply) as service:
        made.service = service
        yield made


def who(authenticator: Any, token: str) -> Identity | int | None:
    try:
        found: Identity | None = authenticator.authenticate(Credentials(token))
    except StatusError as error:
        return error.code
    return found


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
    """A token may say where its groups are; they are believed if they come in a token that is good itself."""
    tokens = tokens_by_flags(issuer.flags(groups_claim="groups", groups_prefix="oidc:"), issuer.clock)
    named = {"_claim_names": {"groups": "there"}, "_claim_sources": {"there": {"endpoint": f"{issuer.url}/groups"}}}

    def groups_of(elsewhere: str, **claims: Any) -> Any:
        issuer.elsewhere = elsewhere.encode()
        found = who(tokens, issuer.token(**{**named, **claims}))
        return found.groups if isinstance(found, Identity) else found

    assert groups_of(issuer.token(groups=["devs", "ops"])) == ("oidc:devs", "oidc:ops")
    assert groups_of(issuer.token(groups=["devs"]), groups=["mine"]) == ("oidc:mine",)
    assert groups_of("", _claim_names={"other": "there"}) == ()
    assert groups_of("", _claim_sources={"there": {"JWT": "x"}}) == ()
    own = rsa.generate_private_key(65537, 2048)
    for bad in (
        "",
        "no token",
        issuer.token(other=["devs"]),
        issuer.token(groups=["devs"], aud="another"),
        issuer.token(groups=["devs"], exp=int(issuer.clock.now()) - 1),
        issuer.token(groups=["devs"], iss="http://127.0.0.1"),
        issuer.token(own, groups=["devs"], header={"alg": "RS256", "kid": "r1"}),
        issuer.token(groups={"devs": 1}),
    ):
        assert groups_of(bad) == 401
    good = issuer.token(groups=["devs"])
    for sources in ({}, {"there": 7}, {"there": {"endpoint": "http://127.0.0.1/"}}, {"there": {"endpoint": 7}}):
        assert groups_of(good, _claim_sources=sources) == 401
    before = issuer.asked("/groups")
    assert groups_of(good, _claim_sources={"there": {"endpoint": f"{issuer.url}/absent"}}) == 401
    assert issuer.asked("/groups") == before


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

    def fetch(url: str, token: str = "") -> bytes:
        tried.append(url)
        if len(tried) == 1:
            raise CallFailed("down")
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
        (Flags(issuer_url="https://x"), "must be specified together"),
        (Flags(issuer_url="http://x", client_id="c"), "scheme must be https"),
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


# The configuration file


def entry(of: Issuer | None = None, **changes: Any) -> dict[str, Any]:
    url = of.url if of else "https://issuer.example"
    where: dict[str, Any] = {"url": url, "audiences": ["simkit"]}
    if of:
        where["certificateAuthority"] = of.authority.decode()
    given = {"issuer": where, "claimMappings": {"username": {"claim": "sub", "prefix": ""}}}
    for name, change in changes.items():
        given[name] = {**given.get(name, {}), **change} if isinstance(change, dict) else change
    return given


def document(*entries: Mapping[str, Any]) -> bytes:
    head = {"apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "AuthenticationConfiguration"}
    return orjson.dumps({**head, "jwt": list(entries)})


def test_expressions(issuer: Issuer, tmp_path: Path) -> None:
    """Claims become user, groups, uid and extra by expressions; rules over claims and user must hold."""
    mappings = {
        "username": {"expression": "'oidc:' + claims.sub"},
        "groups": {"expression": "claims.roles.split(',')"},
        "uid": {"expression": "claims.oid"},
        "extra": [
            {"key": "example.org/tenant", "valueExpression": "claims.tenant"},
            {"key": "example.org/none", "valueExpression": "''"},
        ],
    }
    given = entry(issuer)
    given["claimMappings"] = mappings
    given["claimValidationRules"] = [
        {"claim": "tenant", "requiredValue": "t1"},
        {"expression": "claims.exp - claims.iat <= 3600", "message": "too long"},
    ]
    given["userValidationRules"] = [{"expression": "!user.username.startsWith('oidc:system:')", "message": "reserved"}]
    path = tmp_path / "authentication.json"
    path.write_bytes(document(given))
    tokens = StructuredTokens(path, issuer.clock, Metrics())
    good: dict[str, Any] = {"roles": "a,b", "oid": "7", "tenant": "t1"}
    assert who(tokens, issuer.token(**good)) == Identity("oidc:ann", ("a", "b"), "7", {"example.org/tenant": ("t1",)})
    for bad in (
        {**good, "tenant": "t2"},
        {"roles": "a", "oid": "7"},
        {**good, "exp": int(issuer.clock.now()) + 7200},
        {**good, "sub": "system:admin"},
        {**good, "oid": 7},
        {"oid": "7", "tenant": "t1"},
    ):
        assert who(tokens, issuer.token(**bad)) == 401


def test_discovery_at_another_address(issuer: Issuer, tmp_path: Path) -> None:
    """The first document may be elsewhere; it still has to be the issuer's."""
    given = entry(issuer)
    given["issuer"]["discoveryURL"] = f"{issuer.url}/elsewhere"
    path = tmp_path / "authentication.json"
    path.write_bytes(document(given))
    assert isinstance(who(StructuredTokens(path, issuer.clock, Metrics()), issuer.token()), Identity)
    assert issuer.asked("/elsewhere") == 1


def test_reloading(issuer: Issuer, tmp_path: Path) -> None:
    """A changed file counts soon, a broken one changes nothing; the gauge tells when."""
    path, metrics = tmp_path / "authentication.json", Metrics()
    path.write_bytes(document())
    tokens = StructuredTokens(path, issuer.clock, metrics)
    assert who(tokens, issuer.token()) is None
    path.write_bytes(document(entry(issuer)))
    issuer.clock.advance(1)
    assert who(tokens, issuer.token()) == Identity("ann")
    path.write_bytes(b"broken")
    issuer.clock.advance(1)
    assert who(tokens, issuer.token()) == Identity("ann")
    gauge = metrics.gauges["apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds"]
    now = issuer.clock.now()
    assert gauge == {(SERVER_HASH, "success"): now - 1, (SERVER_HASH, "failure"): now}


USERNAME = {"username": {"claim": "sub", "prefix": ""}}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"issuer": {"url": ""}}, "jwt[0].issuer.url: Required value"),
        ({"issuer": {"url": "http://x"}}, "URL scheme must be https"),
        ({"issuer": {"url": "https://u:p@x"}}, "URL must not contain a username or password"),
        ({"issuer": {"url": "https://x?y=z"}}, "URL must not contain a query"),
        ({"issuer": {"url": "https://x#y"}}, "URL must not contain a fragment"),
        (
            {"issuer": {"url": "https://kubernetes.default.svc"}},
            "URL must not overlap with disallowed issuers: [https://kubernetes.default.svc]",
        ),
        ({"issuer": {"discoveryURL": "https://issuer.example/"}}, "discoveryURL must be different from URL"),
        ({"issuer": {"audiences": []}}, "jwt[0].issuer.audiences: Required value: at least one"),
        ({"issuer": {"audiences": ["a", "a"], "audienceMatchPolicy": "MatchAny"}}, 'Duplicate value: "a"'),
        ({"issuer": {"audiences": ["a", "b"]}}, "audienceMatchPolicy must be MatchAny for multiple audiences"),
        ({"issuer": {"audienceMatchPolicy": "All"}}, "audienceMatchPolicy must be empty or MatchAny for single"),
        ({"issuer": {"certificateAuthority": "x"}}, "jwt[0].issuer.certificateAuthority: Invalid value"),
        ({"issuer": {"colour": "red"}}, "strict decoding error"),
        ({"claimMappings": {"username": {}}}, "jwt[0].claimMappings.username: Required value: claim or expression"),
        ({"claimMappings": {"username": {"claim": "sub"}}}, "prefix is required when claim is set"),
        (
            {"claimMappings": {"username": {"claim": "sub", "expression": "claims.sub"}}},
            "claim and expression can't both be set",
        ),
        (
            {"claimMappings": {"username": {"expression": "claims.sub", "prefix": "x"}}},
            "may not be specified when expression is set",
        ),
        ({"claimMappings": {"username": {"expression": "claims."}}}, "compilation failed"),
        (
            {"claimMappings": {"username": {"expression": "claims.email"}}},
            "claims.email_verified must be used",
        ),
        ({"claimMappings": {**USERNAME, "uid": {"claim": "a", "expression": "b"}}}, "claimMappings.uid: Invalid value"),
        (
            {"claimMappings": {**USERNAME, "extra": [{"key": "x", "valueExpression": "'a'"}]}},
            "must be a domain-prefixed path",
        ),
        (
            {"claimMappings": {**USERNAME, "extra": [{"key": "x.kubernetes.io/a", "valueExpression": "'a'"}]}},
            "reserved for Kubernetes use",
        ),
        (
            {"claimMappings": {**USERNAME, "extra": [{"key": "x.org/A", "valueExpression": "'a'"}]}},
            "must be lowercase",
        ),
        ({"claimMappings": {**USERNAME, "extra": [{"key": "x.org/a"}]}}, "valueExpression: Required value"),
        ({"claimValidationRules": [{}]}, "claimValidationRules[0]: Required value: claim or expression is required"),
        ({"claimValidationRules": [{"claim": "a", "message": "m"}]}, "may not be specified when claim is set"),
        ({"claimValidationRules": [{"claim": "a"}, {"claim": "a"}]}, "claimValidationRules[1].claim: Duplicate value"),
        ({"claimValidationRules": [{"expression": "claims.a == 'x'", "requiredValue": "v"}]}, "requiredValue"),
        ({"claimValidationRules": [{"expression": "'text'"}]}, "must evaluate to bool"),
        ({"userValidationRules": [{"expression": "user.nothing == 'x'"}]}, "undefined field 'nothing'"),
        ({"userValidationRules": [{}]}, "userValidationRules[0].expression: Required value"),
    ],
)
def test_files_that_are_wrong(changes: dict[str, Any], why: str) -> None:
    """Everything that is wrong is told, in the real server's words."""
    with pytest.raises(SimkitError) as caught:
        parse(document(entry(**changes)), ("https://kubernetes.default.svc",))
    assert why in str(caught.value)


def test_several_issuers() -> None:
    """Issuers and their discovery addresses differ; there are at most 64."""
    for entries, why in (
        ([entry(), entry()], 'jwt[1].issuer.url: Duplicate value: "https://issuer.example"'),
        ([entry() for _ in range(65)], "jwt: Too many: 65: must have at most 64 items"),
    ):
        with pytest.raises(SimkitError) as caught:
            parse(document(*entries))
        assert why in str(caught.value)
    for content, why in ((b"{", "is no YAML"), (b"[]", "holds no configuration"), (b"{kind: Pod}", 'no kind "Pod"')):
        with pytest.raises(SimkitError, match=why):
            parse(content)


# All together


def test_a_server_with_everything(issuer: Issuer, tmp_path: Path) -> None:
    """Providers and a token webhook beside the rest; only unknown tokens go outside; flags exclude the file."""

    def reply(path: str, body: Any) -> tuple[int, Any]:
        good = body["spec"]["token"] == "badge"
        user = {"username": "bob", "uid": "8", "groups": ["ops"], "extra": {"a": ["b"]}}
        return 200, {**body, "status": {"authenticated": good, "user": user if good else {}}}

    folder = tmp_path / "hook"
    folder.mkdir()
    with serving(folder, reply) as hook:
        path = tmp_path / "authentication.json"
        path.write_bytes(document(entry(issuer)))
        settings = Settings(
            authentication_config=path, authentication_token_webhook_config_file=hook.kubeconfig(folder / "config")
        )
        built = build(settings, lambda *_: None, issuer.clock, Metrics())
        assert built.authenticator.leaves_process
        assert who(built.authenticator, issuer.token()) == Identity("ann", ("system:authenticated",))
        assert hook.requests == []
        for _ in range(2):
            found = who(built.authenticator, "badge")
            assert found == Identity("bob", ("ops", "system:authenticated"), "8", {"a": ("b",)})
        assert len(hook.requests) == 1, "answers are remembered"
        assert hook.requests[0][2]["spec"]["audiences"] == ["https://kubernetes.default.svc"]
        assert who(built.authenticator, "nothing") == 401
        assert built.reviewer.review("badge").identity is not None
        issuer.clock.advance(121)
        who(built.authenticator, "badge")
        assert len(hook.requests) == 3
    both = Settings(authentication_config=path, oidc=issuer.flags())
    with pytest.raises(SimkitError, match="mutually exclusive"):
        build(both, lambda *_: None, issuer.clock, Metrics())


def test_a_token_webhook_that_fails(tmp_path: Path) -> None:
    """A service that fails, or garbles, knows nobody, and nothing of that is remembered."""
    answers = iter([(200, b"nonsense"), (200, {"kind": "Pod", "status": {}}), (404, {}), (200, {"status": {}})])
    with serving(tmp_path, lambda path, body: next(answers)) as service:
        caller = Caller(read(service.kubeconfig(tmp_path / "config")))
        tokens = WebhookTokens(caller, SimulatedClock(), version="v1")
        assert [who(tokens, "x") for _ in range(5)] == [401, 401, 401, None, None]
        assert service.requests[0][2]["apiVersion"] == "authentication.k8s.io/v1"
    assert who(tokens, "") is None


@pytest.mark.parametrize(
    "status",
    [
        {"user": "ann"},
        {"user": {"username": ["ann"]}},
        {"user": {"username": "ann", "groups": "system:masters"}},
        {"user": {"username": "ann", "groups": [1]}},
        {"user": {"username": "ann", "extra": {"scopes": "all"}}},
        {"user": {"username": "ann"}, "audiences": "own"},
    ],
)
def test_a_token_webhook_that_answers_another_shape(tmp_path: Path, status: dict[str, Any]) -> None:
    """What is no text where one belongs makes nobody: it is not guessed what was meant."""
    answer = {"status": {"authenticated": True, **status}}
    with serving(tmp_path, lambda path, body: (200, answer)) as service:
        caller = Caller(read(service.kubeconfig(tmp_path / "config")))
        assert who(WebhookTokens(caller, SimulatedClock()), "x") == 401


def test_a_token_webhook_is_asked_for_audiences(tmp_path: Path) -> None:
    """A review for other audiences reaches the service, which may know them; what it says of others counts not."""

    def answer(path: str, body: Any) -> tuple[int, Any]:
        named = {"silent": None, "other": ["other"]}.get(body["spec"]["token"], ["vault", "x"])
        return 200, {"status": {"authenticated": True, "user": {"username": "ann"}, "audiences": named}}

    with serving(tmp_path, answer) as service:
        caller = Caller(read(service.kubeconfig(tmp_path / "config")))
        tokens = WebhookTokens(caller, SimulatedClock(), audiences=("own",))
        reviewer = TokenReviewer([tokens], None, ("own",))
        assert reviewer.review("badge", ("vault", "own")).audiences == ("vault",)
        assert service.requests[-1][2]["spec"]["audiences"] == ["vault", "own"]
        assert reviewer.review("silent", ("vault", "own")).audiences == ("own",)
        assert reviewer.review("silent", ("vault",)).identity is None
        assert reviewer.review("other", ("vault",)).identity is None
        assert who(tokens, "badge") is None
        assert who(tokens, "silent") is not None
