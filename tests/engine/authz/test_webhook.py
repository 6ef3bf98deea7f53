"""Authorization by a service outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.engine.authz.webhook import (
    ConditionsError,
    MatchConditions,
    Settings,
    WebhookAuthorizer,
    compiled,
    review_of,
    spec_of,
)
from simkit.engine.egress.call import Caller
from simkit.engine.egress.files import load_kubeconfig
from simkit.engine.egress.policy import Unreachable
from simkit.meta.attributes import ALLOW, DENY, NO_OPINION, Attributes, Verdict
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import Identity
from tests.engine.egress.service import serving
from tests.releases import BASE

ANN = Identity("ann", ("devs",), "7", {"scopes": ("a", "b")})
ASK = Attributes(ANN, "get", "apps", "v1", "deployments", "scale", "x", "d")


class Said:
    """A service that says the same to everybody, or fails."""

    def __init__(self, status: dict[str, Any] | None = None, failure: Unreachable | None = None) -> None:
        self.status, self.failure = status or {"allowed": True}, failure
        self.asked: list[Any] = []

    def post(self, body: bytes) -> bytes:
        self.asked.append(orjson.loads(body))
        if self.failure is not None:
            raise self.failure
        return orjson.dumps({"kind": "SubjectAccessReview", "status": self.status})


def webhook(said: Said, **more: Any) -> WebhookAuthorizer:
    clock = more.pop("clock", SimulatedClock())
    conditions = more.pop("conditions", None)
    return WebhookAuthorizer(BASE, said, Settings(**more), clock, conditions=conditions, sleep=lambda seconds: None)


def test_both_versions_of_the_review() -> None:
    """The question is sent whole; the older version calls the groups ``group``."""
    spec = spec_of(ASK)
    attributes = {"namespace": "x", "verb": "get", "group": "apps", "version": "v1", "resource": "deployments"}
    assert spec == {
        "resourceAttributes": {**attributes, "subresource": "scale", "name": "d"},
        "user": "ann",
        "groups": ["devs"],
        "extra": {"scopes": ["a", "b"]},
        "uid": "7",
    }
    assert review_of(BASE, spec, "v1")["spec"] == spec
    assert review_of(BASE, spec, "v1")["apiVersion"] == "authorization.k8s.io/v1"
    older = review_of(BASE, spec, "v1beta1")
    assert older["spec"]["group"] == ["devs"]
    assert "groups" not in older["spec"]
    path = spec_of(Attributes(Identity("ann"), "get", path="/x", is_resource=False))
    assert path == {"nonResourceAttributes": {"path": "/x", "verb": "get"}, "user": "ann"}


@pytest.mark.parametrize(
    ("status", "verdict", "error"),
    [
        ({"allowed": True, "reason": "yes"}, ALLOW, ""),
        ({"allowed": False, "reason": "dunno"}, NO_OPINION, ""),
        ({"allowed": False, "denied": True, "reason": "never"}, DENY, ""),
        (
            {"allowed": True, "denied": True},
            DENY,
            "webhook subject access review returned both allow and deny response",
        ),
    ],
)
def test_answers(status: dict[str, Any], verdict: Verdict, error: str) -> None:
    """A service allows, denies, or has no opinion; its reason is passed on."""
    decision = webhook(Said(status)).authorize(ASK)
    assert (decision.verdict, decision.reason, decision.error) == (verdict, status.get("reason", ""), error)


def test_answers_are_remembered_for_a_while() -> None:
    """An allowing answer is kept for one time, any other for another, on the cluster's clock."""
    for status, kept in (({"allowed": True}, 300), ({"allowed": False}, 30)):
        clock, said = SimulatedClock(), Said(status)
        asked = webhook(said, clock=clock)
        for _ in range(3):
            asked.authorize(ASK)
        assert len(said.asked) == 1
        clock.advance(kept - 1)
        asked.authorize(ASK)
        assert len(said.asked) == 1
        clock.advance(1)
        asked.authorize(ASK)
        assert len(said.asked) == 2
        asked.authorize(Attributes(Identity("bob"), "get", path="/", is_resource=False))
        assert len(said.asked) == 3


def test_large_questions_are_not_remembered() -> None:
    """Whoever asks with very long names does not fill the memory."""
    said = Said()
    asked = webhook(said)
    long = Attributes(ANN, "get", resource="pods", name="x" * 10_000)
    asked.authorize(long)
    asked.authorize(long)
    assert len(said.asked) == 2


@pytest.mark.parametrize(("policy", "verdict"), [("Deny", DENY), ("NoOpinion", NO_OPINION)])
@pytest.mark.parametrize(
    "failure",
    [Unreachable("refused"), Unreachable("not there", 404)],
)
def test_failures(policy: Any, verdict: Verdict, failure: Unreachable) -> None:
    """A service that cannot be asked is what the failure policy says; nothing is remembered."""
    said = Said(failure=failure)
    asked = webhook(said, failure_policy=policy, name="mine")
    for _ in range(2):
        decision = asked.authorize(ASK)
        assert (decision.verdict, decision.error) == (verdict, str(failure))
    assert len(said.asked) == 2


def test_passing_trouble_is_waited_out() -> None:
    """An overloaded service is asked again, up to five times."""
    said = Said(failure=Unreachable("busy", 503))
    assert webhook(said).authorize(ASK).error == "busy"
    assert len(said.asked) == 5


@pytest.mark.parametrize(
    "answer", [b"nonsense", b"[]", b'{"kind": "Pod"}', b'{"status": {"allowed": "yes"}}', b'{"status": null}']
)
def test_malformed_answers_are_failures(answer: bytes) -> None:
    """An answer that is no review allows nothing."""

    class Garbling(Said):
        def post(self, body: bytes) -> bytes:
            return answer

    assert webhook(Garbling(), failure_policy="Deny").authorize(ASK).verdict is DENY


def conditions(*expressions: str) -> MatchConditions:
    found, errors = compiled(BASE, expressions, "here")
    assert found is not None, errors
    return found


def test_conditions_decide_whether_to_ask() -> None:
    """One false condition passes the service over, even beside one that fails."""
    said = Said()
    outside = conditions("request.user == 'bob'", "request.extra['absent'][0] == 'x'")
    decision = webhook(said, conditions=outside).authorize(ASK)
    assert (decision.verdict, said.asked) == (NO_OPINION, [])
    inside = conditions(
        "has(request.resourceAttributes)",
        "request.resourceAttributes.namespace == 'x'",
        "!('system:nodes' in request.groups)",
    )
    assert webhook(said, conditions=inside).authorize(ASK).allowed


def test_conditions_that_fail() -> None:
    """If no condition is false, one that cannot be evaluated is a failure, and the service is not called."""
    broken = conditions("request.user == 'ann'", "request.nonResourceAttributes.path == '/x'")
    with pytest.raises(ConditionsError, match="no such key: nonResourceAttributes"):
        broken.hold(spec_of(ASK))
    said = Said()
    assert webhook(said, conditions=broken, failure_policy="Deny").authorize(ASK).verdict is DENY
    assert webhook(said, conditions=broken).authorize(ASK).verdict is NO_OPINION
    assert said.asked == []


def test_expressions_are_checked() -> None:
    """Conditions must compile, be true or false, differ, and be at most 64."""
    for expressions, why in (
        (["request.user"], "must evaluate to bool"),
        (["request.nobody == 'x'"], "undefined field 'nobody'"),
        ([" "], "Required value"),
        (["true", "true"], "Duplicate value"),
        ([f"request.user == '{number}'" for number in range(65)], "Too many: 65: must have at most 64 items"),
    ):
        _, errors = compiled(BASE, expressions, "authorizers[0]")
        assert any(why in error.told(BASE) for error in errors), (
            expressions,
            [error.told(BASE) for error in errors],
        )
        assert all(error.told(BASE).startswith("authorizers[0].matchConditions") for error in errors)


def test_rules_cannot_be_listed() -> None:
    """A rules review says that the list may miss something."""
    rules = webhook(Said()).rules_for(ANN, "x")
    assert (rules.incomplete, rules.error) == (True, "webhook authorizer does not support user rule resolution")


def test_over_the_wire(tmp_path: Path) -> None:
    """A real service over HTTPS, as its client configuration says."""

    def reply(path: str, body: Any) -> tuple[int, Any]:
        allowed = body["spec"]["user"] == "ann"
        return 200, {**body, "status": {"allowed": allowed, "reason": "I know her" if allowed else ""}}

    with serving(tmp_path, reply) as service:
        caller = Caller(load_kubeconfig(service.kubeconfig(tmp_path / "config", token="t")))
        asked = WebhookAuthorizer(BASE, caller, Settings(version="v1"), SimulatedClock())
        assert asked.authorize(ASK).reason == "I know her"
        assert not asked.authorize(Attributes(Identity("bob"), "get", resource="pods")).allowed
        path, headers, body = service.requests[0]
        assert (path, headers["authorization"], body["kind"]) == ("/authorize", "Bearer t", "SubjectAccessReview")
