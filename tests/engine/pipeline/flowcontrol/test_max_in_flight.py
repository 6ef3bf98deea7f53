"""The limit of requests in flight."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.flowcontrol.flow_schema import MaxInFlight, TooManyRequests
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request

ANN = Identity("ann", ("system:authenticated",))


def context(method: str, target: str, identity: Identity = ANN) -> RequestContext:
    request = Request.of(method, target)
    return RequestContext(request, parse_request_info(method, request.path, request.query), identity)


def test_two_limits() -> None:
    """Reading and changing requests have room of their own, which they give back."""
    limits = MaxInFlight(2, 1)
    first, second, third = (context("GET", "/api/v1/pods") for _ in range(3))
    limits.enter(first)
    limits.enter(second)
    with pytest.raises(TooManyRequests):
        limits.enter(third)
    writing = context("POST", "/api/v1/namespaces")
    limits.enter(writing)
    with pytest.raises(TooManyRequests):
        limits.enter(context("DELETE", "/api/v1/namespaces/x"))
    assert (limits.reading, limits.mutating) == (2, 1)
    limits.leave(first)
    limits.leave(first)
    limits.enter(third)
    for each in (second, third, writing):
        limits.leave(each)
    assert (limits.reading, limits.mutating) == (0, 0)


@pytest.mark.parametrize(
    ("method", "target"),
    [("GET", "/api/v1/pods?watch=1"), ("GET", "/api/v1/namespaces/x/pods/p/log"), ("GET", "/api/v1/watch/pods")],
)
def test_long_requests_do_not_count(method: str, target: str) -> None:
    """Watches, logs and connections may last, and take no room."""
    limits = MaxInFlight(1, 1)
    for _ in range(3):
        limits.enter(context(method, target))
    assert limits.reading == 0


def test_masters_always_get_an_answer() -> None:
    """A member of system:masters is not refused."""
    limits = MaxInFlight(1, 1)
    limits.enter(context("GET", "/api/v1/pods"))
    root = context("GET", "/api/v1/pods", Identity("root", (MASTERS,)))
    limits.enter(root)
    limits.leave(root)
    assert limits.reading == 1


def test_the_refusal() -> None:
    """No room is 429 in plain text with a second to wait, and is counted; the room of failed requests comes back."""
    cluster = Cluster(options=Options(seed=1, max_requests_inflight=1, enable_priority_and_fairness=False))
    engine: Any = cluster.engine
    held = context("GET", "/api/v1/pods")
    engine.limits.enter(held)
    response = cluster.perform(Request.of("GET", "/version"), identity=ANN)
    assert (response.status, response.body) == (429, b"Too many requests, please try again later.\n")
    assert ("Retry-After", "1") in response.headers
    assert sum(engine.metrics.counts["apiserver_request_terminations_total"].values()) == 1
    engine.limits.leave(held)
    assert cluster.perform(Request.of("GET", "/api/v1/absent"), identity=ANN).status == 403
    assert cluster.perform(Request.of("GET", "/version"), identity=ANN).status == 200
    assert engine.limits.reading == 0
