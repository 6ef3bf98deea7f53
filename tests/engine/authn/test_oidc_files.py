"""The authentication configuration file, and all ways of proving who one is together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.engine.authn.authentication_configuration import StructuredTokens, parse
from simkit.engine.authn.options import AuthenticationOptions, build
from simkit.engine.authn.token_sources import WebhookTokens
from simkit.engine.authn.union import TokenReviewer
from simkit.engine.egress.call import Caller
from simkit.engine.egress.files import SERVER_HASH, load_kubeconfig
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from tests.engine.authn.providers import Issuer, who
from tests.engine.egress.service import serving
from tests.releases import BASE


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
    """Everything that is wrong is told, in kube-apiserver's words."""
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
        settings = AuthenticationOptions(
            authentication_config=path, authentication_token_webhook_config_file=hook.kubeconfig(folder / "config")
        )
        built = build(BASE, settings, lambda *_: None, issuer.clock, Metrics())
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
    both = AuthenticationOptions(authentication_config=path, oidc=issuer.flags())
    with pytest.raises(SimkitError, match="mutually exclusive"):
        build(BASE, both, lambda *_: None, issuer.clock, Metrics())


def test_a_token_webhook_that_fails(tmp_path: Path) -> None:
    """A service that fails, or garbles, knows nobody, and nothing of that is remembered."""
    answers = iter([(200, b"nonsense"), (200, {"kind": "Pod", "status": {}}), (404, {}), (200, {"status": {}})])
    with serving(tmp_path, lambda path, body: next(answers)) as service:
        caller = Caller(load_kubeconfig(service.kubeconfig(tmp_path / "config")))
        tokens = WebhookTokens(BASE, caller, SimulatedClock(), version="v1")
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
    """An answer with a wrong type in place of a text gives no identity."""
    answer = {"status": {"authenticated": True, **status}}
    with serving(tmp_path, lambda path, body: (200, answer)) as service:
        caller = Caller(load_kubeconfig(service.kubeconfig(tmp_path / "config")))
        assert who(WebhookTokens(BASE, caller, SimulatedClock()), "x") == 401


def test_a_token_webhook_is_asked_for_audiences(tmp_path: Path) -> None:
    """A review for other audiences reaches the service, which may know them; what it says of others counts not."""

    def answer(path: str, body: Any) -> tuple[int, Any]:
        named = {"silent": None, "other": ["other"]}.get(body["spec"]["token"], ["vault", "x"])
        return 200, {"status": {"authenticated": True, "user": {"username": "ann"}, "audiences": named}}

    with serving(tmp_path, answer) as service:
        caller = Caller(load_kubeconfig(service.kubeconfig(tmp_path / "config")))
        tokens = WebhookTokens(BASE, caller, SimulatedClock(), audiences=("own",))
        reviewer = TokenReviewer([tokens], None, ("own",))
        assert reviewer.review("badge", ("vault", "own")).audiences == ("vault",)
        assert service.requests[-1][2]["spec"]["audiences"] == ["vault", "own"]
        assert reviewer.review("silent", ("vault", "own")).audiences == ("own",)
        assert reviewer.review("silent", ("vault",)).identity is None
        assert reviewer.review("other", ("vault",)).identity is None
        assert who(tokens, "badge") is None
        assert who(tokens, "silent") is not None
