"""Access reviews that are answered from what equal ones found out: the same answers, and none when something differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.pipeline.prepared_reviews import PreparedReviews
from simkit.meta.clock import SimulatedClock
from simkit.meta.domain import ADMISSION_GROUP, AUTHORIZATION_GROUP, RBAC_GROUP
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request, Response, Sender

GROUP = f"/apis/{AUTHORIZATION_GROUP}/v1"
PODS = {"verb": "get", "resource": "pods", "namespace": "default"}
BODY = {"spec": {"user": "ann", "resourceAttributes": PODS}}
OTHERS = [
    {"spec": {"user": "ann", "groups": ["a<b>"], "nonResourceAttributes": {"path": "/healthz", "verb": "get"}}},
    {"spec": {"user": "ann", "uid": "1", "extra": {"a": ["b"]}, "resourceAttributes": {**PODS, "name": "x"}}},
    {"metadata": {}, "spec": {"groups": ["devs"], "resourceAttributes": PODS}},
    {"spec": {"user": 'say "status":{', "resourceAttributes": PODS}},
]


class Scene:
    """A cluster and its server without a network."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        tokens = StaticTokens({"root": Identity("root", (MASTERS,)), "bob": Identity("bob")})
        self.cluster = Cluster(options=Options(clock=self.clock, authenticators=(tokens,), max_requests_inflight=400))
        self.handler = APIServerHandler(self.cluster.engine)

    @property
    def prepared(self) -> PreparedReviews:
        """What the server has prepared."""
        return self.handler._reviews

    def sender(self, token: str = "root", **headers: str) -> Callable[..., Request]:
        """Reviews over one connection with equal headers."""
        sender = Sender()
        sent = {"authorization": f"Bearer {token}", "content-type": "application/json", **headers}

        def request(body: Mapping[str, Any] = BODY, path: str = "subjectaccessreviews", **more: Any) -> Request:
            return Request(
                "POST",
                path if path.startswith("/") else f"{GROUP}/{path}",
                headers={name.replace("_", "-"): (value,) for name, value in sent.items()},
                body=orjson.dumps(body),
                sender=sender,
                **more,
            )

        return request

    def ask(self, request: Request) -> Response:
        """The answer, by whichever way."""
        response = self.handler.answer(request)
        assert isinstance(response, Response)
        return response

    def prepare(self, request: Request) -> Response:
        """The second answer of the handler chain, after which the review is prepared."""
        self.ask(request)
        return self.ask(request)

    def allow(self, name: str) -> None:
        """Let a user read pods."""
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
        self.cluster.create(_rbac("ClusterRole", name, rules=rules))
        subject = {"kind": "User", "name": name, "apiGroup": RBAC_GROUP}
        role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name}
        self.cluster.create(_rbac("ClusterRoleBinding", name, subjects=[subject], roleRef=role))


def _rbac(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": {"name": name}, **more}


@cache
def _shared_scene() -> Scene:
    """One scene for many examples."""
    return Scene()


@pytest.fixture
def scene() -> Scene:
    """A fresh scene."""
    return Scene()


@pytest.mark.parametrize("body", [BODY, *OTHERS])
@pytest.mark.parametrize("path", ["subjectaccessreviews", "selfsubjectaccessreviews"])
def test_a_repeated_review_has_the_same_answer(scene: Scene, body: dict[str, Any], path: str) -> None:
    """Its bytes and headers are those of the handler chain, and it counts as one."""
    if path.startswith("self"):
        body = {"spec": {name: body["spec"][name] for name in body["spec"] if name.endswith("Attributes")}}
    request = scene.sender()
    metrics = scene.cluster.engine.metrics
    assert scene.prepared.answer(request(body, path)) is None
    first = scene.prepare(request(body, path))
    counts = [sums.count for sums in metrics.requests.values()]
    assert first.status == 201
    assert scene.prepared.answer(request(body, path)) == first
    assert sum(sums.count for sums in metrics.requests.values()) == sum(counts) + 1


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
_SPECS = st.fixed_dictionaries(
    {"user": _TEXT},
    optional={
        "uid": _TEXT,
        "groups": st.lists(_TEXT, min_size=1, max_size=3),
        "extra": st.just({"b": ["1"], "a": ["<"]}),
        "resourceAttributes": st.fixed_dictionaries(
            {"verb": _TEXT, "namespace": _TEXT}, optional={"version": _TEXT, "group": _TEXT, "resource": _TEXT}
        ),
        "nonResourceAttributes": st.fixed_dictionaries({"path": _TEXT}, optional={"verb": _TEXT}),
    },
)


def _with_other_texts(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {name: _with_other_texts(each, text) for name, each in value.items()}
    return [_with_other_texts(each, text) for each in value] if isinstance(value, list) else value + text


@settings(deadline=None, max_examples=60)
@given(spec=_SPECS, text=_TEXT)
def test_a_new_review_in_a_known_form_is_answered_as_the_handler_chain_does(spec: dict[str, Any], text: str) -> None:
    """Its bytes and headers are the same, whatever the texts; what the chain refuses is left to it."""
    scene = _shared_scene()
    request = scene.sender()
    body = {"spec": _with_other_texts(spec, text)}
    refused = scene.prepare(request({"spec": spec})).status != 201
    answered = scene.prepared.answer(request(body))
    assert (answered is None) == refused
    if answered is not None:
        assert answered == APIServerHandler(scene.cluster.engine).answer(request(body))


@pytest.mark.parametrize(
    "other",
    [
        b'{"spec":{"user":"","resourceAttributes":{"verb":"get"}}}',
        b'{"spec":{"user":1,"resourceAttributes":{"verb":"get"}}}',
        b'{"spec":{"user":"bob","user":"eve","resourceAttributes":{"verb":"get"}}}',
        b'{"spec":{"user":"bob","resourceAttributes":{"verb":"get"},"more":"x"}}',
        b'{"spec":{"user":"bob","resourceAttributes":{"verb":{"a":"b"}}}}',
        b'{"kind":"Pod","spec":{"user":"bob","resourceAttributes":{"verb":"get"}}}',
        b'{"metadata":{"name":"a"},"spec":{"user":"bob","resourceAttributes":{"verb":"get"}}}',
        b'{"spec":{"user":"bob","resourceAttributes":{"verb":"get"}}',
        b'[{"spec":{"user":"bob","resourceAttributes":{"verb":"get"}}}]',
        b'{"spec":{"user":"\\ud800","resourceAttributes":{"verb":"get"}}}',
    ],
)
def test_other_forms_are_left_to_the_handler_chain(scene: Scene, other: bytes) -> None:
    """A form is told by everything but texts that are not empty."""
    request = scene.sender()
    scene.prepare(request({"spec": {"user": "ann", "resourceAttributes": {"verb": "get"}}}))
    assert scene.prepared.answer(request({"spec": {"user": "bob", "resourceAttributes": {"verb": "list"}}})) is not None
    assert scene.prepared.answer(replace(request(), body=other)) is None


def test_the_authorizer_is_asked_each_time(scene: Scene) -> None:
    """A new binding changes the next answer, and a removed one that of the sender."""
    request = scene.sender()
    assert not _status(scene.prepare(request()))["allowed"]
    scene.allow("ann")
    answered = scene.prepared.answer(request())
    assert answered is not None
    assert _status(answered)["allowed"]
    assert answered == APIServerHandler(scene.cluster.engine).answer(request())
    scene.allow("bob")
    asked = scene.sender("bob")
    assert scene.prepare(asked()).status == 403
    assert scene.prepared.answer(asked()) is None


def _status(response: Response) -> dict[str, Any]:
    return dict(orjson.loads(response.body)["status"])


def test_the_time_of_the_answer_is_the_present(scene: Scene) -> None:
    """The time in the managed fields goes on, also where the sender is authenticated again without the chain."""
    request = scene.sender()
    first = scene.prepare(request())
    scene.clock.advance(seconds=1)
    later = scene.prepared.answer(request())
    assert later is not None
    assert later == scene.ask(request())
    assert later.body != first.body


@pytest.mark.parametrize(
    "change", [{"user_agent": "other/1"}, {"content_type": "text/plain"}, {"accept": "application/yaml"}]
)
def test_other_headers(scene: Scene, change: dict[str, str]) -> None:
    """The answer names the agent, and depends on media types: who sends others is answered by the handler chain."""
    scene.prepare(scene.sender()())
    request = scene.sender(**change)
    first = scene.ask(request())
    assert scene.prepared.answer(request()) is None
    assert scene.ask(request()) == first


@pytest.mark.parametrize(
    ("body", "path", "more"),
    [
        (BODY, "subjectaccessreviews", {"query": {"pretty": ("true",)}}),
        (BODY, f"{GROUP}/namespaces/default/localsubjectaccessreviews", {}),
        ({"spec": {"namespace": "default"}}, "selfsubjectrulesreviews", {}),
        ({"spec": {"user": "ann"}}, "subjectaccessreviews", {}),
        ({"spec": {"user": "x" * 3000, "resourceAttributes": PODS}}, "subjectaccessreviews", {}),
    ],
)
def test_other_reviews_are_not_prepared(scene: Scene, body: dict[str, Any], path: str, more: dict[str, Any]) -> None:
    request = scene.sender()
    scene.prepare(request(body, path, **more))
    assert scene.prepared.answer(request(body, path, **more)) is None


def test_policies_see_every_review(scene: Scene) -> None:
    """Where somebody configures admission, reviews take the way through it."""
    request = scene.sender()
    scene.prepare(request())
    assert scene.prepared.answer(request()) is not None
    rule = {"apiGroups": [AUTHORIZATION_GROUP], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.spec.user != 'ann'"}],
    }
    version = {"apiVersion": f"{ADMISSION_GROUP}/v1", "metadata": {"name": "p"}}
    scene.cluster.create({**version, "kind": "ValidatingAdmissionPolicy", "spec": policy})
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    scene.cluster.create({**version, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound})
    assert scene.prepared.answer(request()) is None


def test_what_is_kept_has_a_limit(scene: Scene) -> None:
    """Senders choose what is kept: beyond a limit all of it is forgotten, and learned anew."""
    request = scene.sender()
    few = PreparedReviews(scene.cluster.engine, scene.handler._reads, most=3)
    scene.handler._reviews = few
    bodies = [{"spec": {"user": f"u{number}", "uid": "", "resourceAttributes": PODS}} for number in range(5)]
    for body in bodies:
        scene.prepare(request(body))
    kept = [body for body in bodies if few.answer(request(body)) is not None]
    assert kept == bodies[3:]
