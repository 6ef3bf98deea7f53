"""Services that the server calls: what they answer is read within limits, and kept within limits."""

from __future__ import annotations

import base64
import json
from typing import Any

import orjson
import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.admission import webhook_calls
from simkit.engine.authn.token_sources import WebhookTokens
from simkit.engine.authz.webhook import Settings, WebhookAuthorizer
from simkit.engine.egress.call import review_status
from simkit.engine.egress.policy import LARGEST, MOST_BYTES, EgressPolicy, RememberedAnswers, Unreachable, parse_answer
from simkit.engine.egress.webhook import post
from simkit.meta.attributes import Attributes
from simkit.meta.clock import SimulatedClock
from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials, Request
from tests.releases import BASE
from tests.security.places import places, put

ODD: tuple[Any, ...] = (None, 0, -1, 1.5, 2**63, 10**30, True, "", "x", "\0\r\n", "\u202e", [], [None], {}, {"a": None})


@pytest.mark.parametrize("text", [b"9" * 5000, b"-" + b"9" * 5000, b"1e999", b'"\\ud800"', b'{"\\udfff":1}', b"NaN"])
def test_what_cannot_be_written_again_is_no_answer(text: bytes) -> None:
    """Half a pair of surrogates, and numbers that no store can write."""
    with pytest.raises(json.JSONDecodeError):
        parse_answer(b"[" + text + b"]")


@pytest.mark.parametrize(
    "text", [b"9" * 40, b"-9223372036854775808", b"18446744073709551615", b'"\\ud83d\\ude00"', b"-0"]
)
def test_what_is_read_can_be_written(text: bytes) -> None:
    """Numbers of more than 64 bits are floats."""
    found = parse_answer(b"[" + text + b"]")[0]
    assert orjson.loads(orjson.dumps(found)) == found


@pytest.mark.parametrize(
    "url", ["https://[", "https://a:99999999/", "https://" + "a" * 70 + ".b/", "https://127.0.0.1:1/é"]
)
def test_addresses_of_webhooks_that_are_none(url: str) -> None:
    """Nothing is reached; in a loaded dump nothing would be called, and the write passes."""
    with pytest.raises(Unreachable):
        post(EgressPolicy(), {"url": url}, b"{}", 1, lambda *_: True)
    loaded = Cluster.load([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}, configuration(url)])
    loaded.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "a"}})
    assert [each.name for each in loaded.egress.uncalled] == ["a.example.com"]


def configuration(url: str = "https://127.0.0.1:1/x", kind: str = "Validating") -> dict[str, Any]:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    known = {"sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"url": url}, "rules": rules}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "w"},
        "webhooks": [{"name": "a.example.com", **known}],
    }


PATCH = base64.b64encode(b'[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]').decode()
STATUS = {"message": "m", "code": 403, "details": {"causes": [{"reason": "a", "field": "c"}], "retryAfterSeconds": 1}}
ANSWERS: dict[str, dict[str, Any]] = {
    "Validating": {"allowed": False, "status": STATUS, "warnings": ["w"], "auditAnnotations": {"a": "b"}},
    "Mutating": {"allowed": True, "patchType": "JSONPatch", "patch": PATCH, "warnings": ["w"], "auditAnnotations": {}},
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_no_answer_of_an_admission_webhook_is_an_error_of_ours(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of an answer with values of other types; what a patch made can be read again."""
    cluster = Cluster(options=Options(seed=1, controllers=()))
    cluster.create(configuration(kind=kind))
    said: Any = None
    place: tuple[str | int, ...] = ()

    def answered(_: object, __: object, body: bytes, *___: object) -> bytes:
        response = {"uid": orjson.loads(body)["request"]["uid"], **ANSWERS[kind]}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        return json.dumps(put(review, place, said)).encode()

    monkeypatch.setattr(webhook_calls, "post", answered)
    review = {"apiVersion": "", "kind": "", "response": {"uid": "", **ANSWERS[kind]}}
    for place in places(review):
        for said in ODD:
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "m"}}
            answer = cluster.perform(Request.of("POST", "/api/v1/namespaces/default/configmaps", made))
            assert answer.status < 500 or b"webhook" in answer.body, (place, said, answer.body[:300])
    assert cluster.perform(Request.of("GET", "/api/v1/configmaps")).status == 200


class Says:
    """A service that answers always the same."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.calls = answer, 0

    def post(self, body: bytes) -> bytes:
        self.calls += 1
        return self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()


REVIEWS: dict[str, dict[str, Any]] = {
    "SubjectAccessReview": {"allowed": True, "denied": False, "reason": "r", "evaluationError": ""},
    "TokenReview": {
        "authenticated": True,
        "audiences": ["a"],
        "user": {"username": "ann", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}},
    },
}


def asked(kind: str, service: Says) -> None:
    """Have a service asked that knows reviews of a kind."""
    clock = SimulatedClock()
    if kind == "TokenReview":
        WebhookTokens(BASE, service, clock, sleep=lambda _: None).authenticate(Credentials(bearer="token"))
    else:
        ask = Attributes(Identity("ann"), "get", resource="pods", version="v1")
        WebhookAuthorizer(BASE, service, Settings(backoff=0), clock, sleep=lambda _: None).authorize(ask)


@pytest.mark.parametrize("kind", REVIEWS)
def test_answers_of_other_types_count_as_failed_calls(kind: str) -> None:
    """Each part of a review with values of other types."""
    review = {"kind": kind, "apiVersion": "x/v1", "status": REVIEWS[kind]}
    for place in places(review):
        for value in ODD:
            try:
                asked(kind, Says(put(review, place, value)))
            except (Unreachable, StatusError):
                continue
    with pytest.raises(Unreachable):
        review_status(b"[" * 2000, kind)


def test_remembered_answers_have_a_size() -> None:
    """Thousands of answers of sixteen megabytes were remembered for minutes."""
    kept = RememberedAnswers[str](SimulatedClock(), 1000)
    kept.keep("small", "s", seconds=10, size=10)
    kept.keep("large", "l", seconds=10, size=LARGEST + 1)
    assert (kept.get("small"), kept.get("large")) == (("s",), None)
    for number in range(100):
        kept.keep(number, "x", seconds=10, size=LARGEST)
    assert (kept.size, len(kept)) == (MOST_BYTES, MOST_BYTES // LARGEST)
    assert kept.get("small") is None


@pytest.mark.parametrize("kind", REVIEWS)
def test_large_answers_are_not_remembered(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold, and the service is asked again."""
    sizes = list[int]()
    monkeypatch.setattr(RememberedAnswers, "keep", lambda *_, size, **__: sizes.append(size))
    large = "x" * (2 * LARGEST)
    fields: dict[str, dict[str, Any]] = {
        "SubjectAccessReview": {"reason": large},
        "TokenReview": {"user": {"username": "ann", "groups": [large]}},
    }
    asked(kind, Says({"kind": kind, "status": {**REVIEWS[kind], **fields[kind]}}))
    assert sizes[0] > LARGEST
