"""Access reviews that cannot be answered."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.meta.message import Request
from tests.engine.admission.policies import binding, policy, with_policy
from tests.engine.admission.test_webhook import configuration, hook

CLUSTER = Cluster(seed=1)
POD = {"verb": "get", "resource": "pods"}
PATH = {"verb": "get", "path": "/x"}
SHOWN = 'authorization.NonResourceAttributes{Path:"/x", Verb:"get"}'


def refused(kind: str, body: dict[str, Any], namespace: str = "") -> str:
    scope = f"/namespaces/{namespace}" if namespace else ""
    path = f"/apis/authorization.k8s.io/v1{scope}/{kind}"
    answer = CLUSTER.perform(Request.of("POST", path, body))
    assert answer.status == 422, answer.object
    return str(answer.object["message"]).removeprefix('.authorization.k8s.io "" is invalid: ')


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"resourceAttributes": {**POD, "namespace": "b"}, "user": "ann"},
            'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
        ),
        (
            {"resourceAttributes": POD, "user": "ann"},
            'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
        ),
        (
            {"nonResourceAttributes": PATH, "user": "ann"},
            f"spec.nonResourceAttributes: Invalid value: {SHOWN}: disallowed on this kind of request",
        ),
        (
            {"user": "ann"},
            'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes '
            "must be specified",
        ),
    ],
)
def test_local_reviews(spec: dict[str, Any], why: str) -> None:
    """They are about resources of their own namespace."""
    assert refused("localsubjectaccessreviews", {"spec": spec}, "a") == why


EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
ACCESS, WHO = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"
QUESTIONS = [
    (f"{ACCESS}/subjectaccessreviews", {"user": "ann", "resourceAttributes": POD}),
    (f"{ACCESS}/selfsubjectaccessreviews", {"resourceAttributes": POD}),
    (f"{ACCESS}/selfsubjectrulesreviews", {"namespace": "default"}),
    (
        f"{ACCESS}/namespaces/gone/localsubjectaccessreviews",
        {"user": "ann", "resourceAttributes": {**POD, "namespace": "gone"}},
    ),
    (f"{WHO}/selfsubjectreviews", {}),
    (f"{WHO}/tokenreviews", {"token": "x"}),
]


@pytest.mark.parametrize(("path", "spec"), QUESTIONS)
def test_admission_of_questions(path: str, spec: dict[str, Any]) -> None:
    """Webhooks see questions about access, and may refuse them; policies do not, lest they shut everybody out."""
    body = {} if path.endswith("selfsubjectreviews") else {"spec": spec}
    judged = with_policy(policy("false", rule=EVERYTHING), binding())
    assert judged.perform(Request.of("POST", path, body)).status == 201
    asked = Cluster(seed=1)
    asked.create(configuration(hook(rules=[EVERYTHING])))
    answer = asked.perform(Request.of("POST", path, body))
    assert (answer.status, "failed calling webhook" in answer.object["message"]) == (500, True)


def test_questions_have_no_paths() -> None:
    """A question that was asked is gone: there is no path of one, whatever is to be done to it."""
    for kind in ("subjectaccessreviews", "selfsubjectrulesreviews"):
        for method in ("GET", "POST", "PUT", "DELETE"):
            assert CLUSTER.perform(Request.of(method, f"/apis/authorization.k8s.io/v1/{kind}/x")).status == 404
    assert CLUSTER.perform(Request.of("POST", "/api/v1/componentstatuses/x", {})).status == 405


def test_reviews_can_only_be_created() -> None:
    """A review has no name; a local one has a namespace besides."""
    named = {"metadata": {"name": "x"}, "spec": {"resourceAttributes": POD, "user": "ann"}}
    assert refused("subjectaccessreviews", named).endswith("must be empty")
    assert refused("selfsubjectaccessreviews", named).endswith("must be empty")
    local = {**named, "spec": {"resourceAttributes": {**POD, "namespace": "a"}, "user": "ann"}}
    assert refused("localsubjectaccessreviews", local, "a").endswith("must be empty except for namespace")
