"""Requests that the API's own description allows or forbids, sent by schemathesis: answers are as described."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import simkit
from simkit.engine.http.asgi import Application
from simkit.engine.http.request_state import ExecutionMode
from simkit.meta.message import Request, Response
from tests.engine.http.echo import AuthorizeAll

pytestmark = pytest.mark.slow

schemathesis: Any = pytest.importorskip("schemathesis", reason="schemathesis is a development dependency")
generation: Any = pytest.importorskip("schemathesis.generation")
described: Any = pytest.importorskip("schemathesis.specs.openapi.checks")

DOCUMENTS = (
    "/openapi/v2",
    "/openapi/v3/api/v1",
    "/openapi/v3/apis/apps/v1",
    "/openapi/v3/apis/rbac.authorization.k8s.io/v1",
    "/openapi/v3/apis/apiextensions.k8s.io/v1",
)
OTHERWISE = ("componentstatuses", "openid", "reviews", "/token")
"""Where kube-apiserver's answers are not as it describes them: there is no time of creation, which is null, and what
verifies tokens is an object and not text."""
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
"""Version 2 of OpenAPI has no choice of types: as on kube-apiserver its type is string, and its format says the rest."""
CHECKS = (described.response_schema_conformance, described.content_type_conformance)


class Door:
    """An administrator's way into a cluster. Watches are begun and ended: a document describes them as lists."""

    def __init__(self, cluster: simkit.Cluster) -> None:
        self._cluster = cluster

    def at_once(self, request: Request) -> Response | None:
        """No answer is known beforehand."""
        return None

    def refresh(self) -> None:
        """There are no other servers."""

    def execution_mode(self, request: Request) -> ExecutionMode:
        return ExecutionMode.INLINE

    def enter(self, request: Request) -> AuthorizeAll:
        return AuthorizeAll(self.answer, request)

    def answer(self, request: Request) -> Response:
        response = self._cluster.perform(request)
        if response.stream is not None:
            response.stream.poll()
            response.stream.close()
            return Response(204, headers=response.headers)
        return response


@pytest.fixture(scope="module")
def application() -> Application:
    """One cluster for all examples: they may leave in it what they like."""
    return Application(Door(simkit.Cluster(seed=1)))


@pytest.mark.parametrize("path", DOCUMENTS)
def test_answers_are_as_described(application: Application, caplog: pytest.LogCaptureFixture, path: str) -> None:
    """No error of our own; what succeeds is of the described type. A 500 has no reason, as on kube-apiserver."""
    schema = schemathesis.openapi.from_asgi(path, application)
    if INT_OR_STRING in (definitions := schema.raw_schema.get("definitions", {})):
        definitions[INT_OR_STRING]["type"] = ["integer", "string"]
    operations = [
        found.ok() for found in schema.get_all_operations() if not any(part in found.ok().path for part in OTHERWISE)
    ]
    modes = (generation.GenerationMode.POSITIVE, generation.GenerationMode.NEGATIVE)
    cases: st.SearchStrategy[Any] = st.tuples(st.sampled_from(operations), st.sampled_from(modes)).flatmap(
        lambda chosen: chosen[0].as_strategy(generation_mode=chosen[1])
    )

    @seed(1)
    @settings(max_examples=40, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(cases)
    def send(case: Any) -> None:
        answer = case.call()
        if answer.status_code in (200, 201, 202):
            case.validate_response(answer, checks=CHECKS)
        elif answer.status_code == 500:
            assert "reason" not in answer.json(), answer.text

    with caplog.at_level(logging.ERROR, "simkit"):
        send()
    assert not caplog.records, caplog.text
