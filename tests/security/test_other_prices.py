"""The price list of what does not come in a request: certificates, kubeconfigs, answers of others, archives, annotations."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.claim_mapping import ClaimMapping, ClaimSource, Expression
from simkit.engine.authn.signing_keys import read_key_set
from simkit.engine.authn.x509 import ChainVerifier
from simkit.engine.authn.x509_chain import load_authorities
from simkit.engine.egress.call import review_status
from simkit.engine.egress.files import load_kubeconfig
from simkit.engine.egress.policy import Unreachable
from simkit.engine.egress.webhook import BadReview, review
from simkit.engine.http.keypair import make_authority
from simkit.engine.pipeline.audit.policy import Policy
from simkit.engine.pipeline.audit.policy import parse as parse_policy
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.logic.workloads.rollout import REVISION, revision_of
from simkit.meta.clock import SystemClock
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.meta.names import GroupVersionKind
from simkit.snapshot.load import load
from tests.releases import BASE
from tests.security.certificate_chains import same_name_chain
from tests.security.prices import LINEAR, growth

_CHAIN = same_name_chain(1)[0]


def _archive(count: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as target:
        for number in range(count):
            content = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n%d"}}' % number
            member = tarfile.TarInfo(f"{number}.json")
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _answer(response: bytes) -> bytes:
    return b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":' + response + b"}"


def _keys(count: int) -> bytes:
    entry = b'{"kty":"EC","crv":"P-256","x":"' + b"A" * 43 + b'","y":"' + b"A" * 43 + b'"}'
    return b'{"keys":[' + b",".join([entry] * count) + b"]}"


def _jwk(**fields: Any) -> bytes:
    return orjson.dumps({"keys": [{"kty": "RSA", "e": "AQAB", **fields}]})


def _identity(claims: Any) -> Identity:
    """Who a token with these claims is taken for."""
    expressions = [("a/b", Expression("claims.groups.map(x, x + 'y')"))] if len(claims["groups"]) < 1000 else []
    return ClaimMapping(ClaimSource("sub"), ClaimSource("groups", "oidc:"), extra=expressions).identity(claims)


def _review(content: bytes) -> Any:
    return review(BASE, content, GroupVersionKind("admission.k8s.io", "v1", "AdmissionReview"))


READERS: dict[str, tuple[Callable[[Any], Any], Callable[[int], Any], int]] = {
    "bundle of certificates": (load_authorities, lambda n: _CHAIN * n, 100),
    "answer, one text": (_review, lambda n: _answer(b'{"patch":"' + b"a" * n + b'"}'), 100_000),
    "answer, depth": (_review, lambda n: _answer(b"[" * n), 10_000),
    "answer, digits": (_review, lambda n: _answer(b"1" * n), 10_000),
    "answer, warnings": (_review, lambda n: _answer(b'{"warnings":[' + b'"a",' * n + b'"a"]}'), 5000),
    "published keys": (read_key_set, _keys, 50),
    "published key, letters of a number": (read_key_set, lambda n: _jwk(n="A" * n), 100_000),
    "published key, its certificates": (read_key_set, lambda n: _jwk(n="AAAA", x5c=["AAAA"] * n), 10_000),
    "claims, groups": (_identity, lambda n: {"sub": "ann", "groups": ["g"] * n}, 10_000),
    "claims, groups in an expression": (_identity, lambda n: {"sub": "ann", "groups": ["g"] * n}, 40),
    "archive": (load, _archive, 60),
    "annotation with a revision": (
        revision_of,
        lambda n: {"metadata": {"annotations": {REVISION: "9" * n}}},
        30_000,
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_twice_the_input_costs_about_twice_as_much(reader: str) -> None:
    """Whoever answers, configures or is loaded chooses a size, and nothing that costs more than it."""
    act, make, size = READERS[reader]

    def tried(given: Any) -> None:
        with suppress(ValueError, BadReview):
            act(given)

    assert growth(tried, make, size) < LINEAR


def _policy_of_rules(count: int) -> dict[str, Any]:
    rules = [{"level": "Metadata", "users": [f"user-{n}"], "resources": [{"group": "apps"}]} for n in range(count)]
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}


def _policy_of_words(count: int) -> dict[str, Any]:
    words = [f"word-{n}" for n in range(count)]
    rule = {
        "level": "Request",
        "users": words,
        "userGroups": words,
        "verbs": words,
        "namespaces": words,
        "resources": [{"group": "", "resources": words, "resourceNames": words}],
        "omitStages": ["Panic"] * count,
    }
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [rule]}


def _policy_of_errors(count: int) -> dict[str, Any]:
    rules = [{"level": f"level-{n}", "omitStages": ["None"], "nonResourceURLs": ["x"]} for n in range(count)]
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}


def _policy_of_wrong_types(count: int) -> dict[str, Any]:
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": [n]} for n in range(count)]}


def _policy_of_unknown_fields(count: int) -> dict[str, Any]:
    document = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "None"}]}
    return document | {f"unknown-{n}": n for n in range(count)}


_POLICIES = [_policy_of_rules, _policy_of_words, _policy_of_errors, _policy_of_wrong_types, _policy_of_unknown_fields]


@pytest.mark.parametrize("made", _POLICIES)
def test_an_audit_policy(made: Callable[[int], dict[str, Any]]) -> None:
    """Rules, the words in them and its mistakes are looked at once."""

    def read(document: dict[str, Any]) -> None:
        with suppress(SimkitError):
            parse_policy(document)

    assert growth(read, made, 300) < LINEAR


@pytest.mark.parametrize("made", [_policy_of_rules, _policy_of_words])
def test_the_decision_of_an_audit_policy(made: Callable[[int], dict[str, Any]]) -> None:
    """A request is compared with each rule, and with each word of a rule, whoever asks."""
    groups = tuple(f"group-{n}" for n in range(2000))
    info = RequestInfo("/api/v1/pods", "get", True, resource="pods", name="word-1999999")

    def decided(policy: Policy) -> None:
        for _ in range(20):
            policy.choice(info, Identity("eve", groups))

    assert growth(decided, lambda count: parse_policy(made(count)), 300) < LINEAR


def _certificate(organizations: int, names: int) -> bytes:
    """A certificate that its own authority signed, in DER form."""
    subject = [x509.NameAttribute(NameOID.COMMON_NAME, "eve")]
    subject += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, f"group-{n}") for n in range(organizations)]
    now = datetime.now(UTC)
    others = x509.SubjectAlternativeName([x509.DNSName(f"{n}.example") for n in range(names + 1)])
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(subject))
        .issuer_name(_AUTHORITY.certificate.subject)
        .public_key(_AUTHORITY.key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(others, critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(_AUTHORITY.key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.DER)


_AUTHORITY = make_authority("authority", (datetime(2020, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize(("organizations", "names"), [(1, 0), (0, 1), (1, 1)])
def test_a_client_certificate_of_a_great_many_names(organizations: int, names: int) -> None:
    """Each organization is a group. Names of servers in it are read, and mean nothing."""

    def authenticated(chain: bytes) -> None:
        verifier = ChainVerifier(_AUTHORITY.certificate_pem(), SystemClock())
        identity = verifier.verify((chain,))
        assert identity is not None
        assert identity.user == "eve"

    assert growth(authenticated, lambda count: _certificate(organizations * count, names * count), 300) < LINEAR


def test_requests_of_somebody_in_a_great_many_groups() -> None:
    """Authorization, audit and admission look each group up once, whether there are rules for them or not."""
    cluster = Cluster(options=Options(seed=1))

    def asks(groups: tuple[str, ...]) -> None:
        for number in range(20):
            path = f"/api/v1/namespaces/default/configmaps/{len(groups)}-{number}"
            cluster.perform(Request.of("GET", path), identity=Identity("eve", groups))

    assert growth(asks, lambda count: tuple(f"group-{n}" for n in range(count)), 300) < LINEAR


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["groups", "extra", "depth"])
def test_the_answer_of_a_token_webhook(kind: str) -> None:
    """Who somebody is, as another server tells it, is read once."""

    def made(count: int) -> bytes:
        users = {
            "groups": b'{"username":"eve","groups":[' + b'"g",' * count + b'"g"]}',
            "extra": b'{"username":"eve","extra":{' + b"".join(b'"k%d":["v"],' % n for n in range(count)) + b'"z":[]}}',
            "depth": b"[" * count + b"]" * count,
        }
        return b'{"kind":"TokenReview","status":{"authenticated":true,"user":' + users[kind] + b"}}"

    def read(answer: bytes) -> None:
        with suppress(Unreachable):
            review_status(answer, "TokenReview")

    assert growth(read, made, 20_000) < LINEAR


def test_a_kubeconfig_of_many_contexts(tmp_path: Path) -> None:
    """The contexts of a configuration are read once."""

    def made(count: int) -> Path:
        names = range(count)
        text = "apiVersion: v1\nkind: Config\ncurrent-context: c0\n"
        text += "clusters:\n" + "".join(f"- {{name: c{n}, cluster: {{server: 'https://a:{n}'}}}}\n" for n in names)
        text += "contexts:\n" + "".join(f"- {{name: c{n}, context: {{cluster: c{n}, user: c{n}}}}}\n" for n in names)
        text += "users:\n" + "".join(f"- {{name: c{n}, user: {{token: t}}}}\n" for n in names)
        file = tmp_path / f"{count}.yaml"
        file.write_text(text)
        return file

    assert growth(load_kubeconfig, made, 60) < LINEAR
