"""Bounds of everything that clients can fill: caches, labels of metrics, reviewed tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.http import message
from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.representation import negotiation
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.meta import fields
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.schema.behaviour import default_behaviour

ANN = Identity("ann", ("system:authenticated",))
LONG = "x" * 5000


def test_flows_of_long_paths_are_not_remembered() -> None:
    """Any path may be asked for: long ones find their flow anew each time."""
    room: Any = Cluster(options=Options(seed=1, max_requests_inflight=9)).engine.limits
    assert isinstance(room, FlowControl)
    for number in range(5):
        request = Request.of("GET", f"/{LONG}{number}")
        context = RequestContext(request, parse_request_info("GET", request.path, {}), ANN)
        room.enter(context)
        room.leave(context)
    assert not [key for key in room._flows if any(LONG in str(part) for part in key)]


def test_long_media_types_are_not_remembered() -> None:
    """Any Accept header may be sent: what a long one means is found anew each time."""
    negotiation._negotiated.cache_clear()
    assert negotiation.negotiate(default_behaviour("1.30"), f"application/json,{LONG}/x").media == "application/json"
    assert negotiation._negotiated.cache_info().currsize == 0


def test_long_queries_are_not_remembered() -> None:
    """Nor is what a long query string holds, of which no more is read than makes sense."""
    message._parse_short_query.cache_clear()
    assert len(message.parse_query(b"&".join(b"a%d=" % number for number in range(9000)))) == message.MOST_FIELDS
    assert message._parse_short_query.cache_info().currsize == 0


@pytest.mark.parametrize(("method", "media"), [("POST", "application/yaml"), ("PATCH", "application/apply-patch+yaml")])
def test_aliases_are_not_written_out_in_the_log(tmp_path: Path, method: str, media: str) -> None:
    """A few lines of YAML that stand for billions of values, or for themselves, are refused and not recorded."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 10)]
    log = tmp_path / "audit.log"
    cluster = Cluster(options=Options(seed=1, audit_policy="RequestResponse", audit_log_path=log))
    path = "/api/v1/namespaces/default/configmaps" + ("/a?fieldManager=m" if method == "PATCH" else "")
    before = log.stat().st_size
    for body in ("\n".join(lines), "data: &x {a: *x}"):
        response = cluster.perform(Request.of(method, path, body.encode(), content_type=media))
        assert response.status == 400
    assert cluster.engine.audit is not None
    cluster.engine.audit.close()
    assert log.stat().st_size - before < 10_000


def test_long_selectors_are_not_remembered() -> None:
    """Nor is a selector, which is read before anybody knows whether its sender may list anything."""
    assert fields.parse("metadata.name=a") is fields.parse("metadata.name=a")
    assert fields.parse(f"metadata.name={LONG}") is not fields.parse(f"metadata.name={LONG}")


@pytest.mark.parametrize("query", ["dryRun=nonsense", "dryRun=All&dryRun=x", "dryRun="])
def test_labels_of_metrics_are_ours(query: str) -> None:
    """Names that a client invents become no labels."""
    cluster = Cluster(seed=1)
    cluster.perform(Request.of("POST", f"/api/v1/namespaces?{query}", {"metadata": {"name": "a"}}))
    found = {route.dry_run for route, _ in cluster.engine.metrics.requests}
    assert found <= {"", "All", "invalid"}


def test_labels_of_refusals_are_ours() -> None:
    """A request that is refused for lack of room has labels of a resource only if there is one."""
    options = Options(seed=1, max_requests_inflight=1, enable_priority_and_fairness=False)
    cluster = Cluster(options=options)
    cluster.engine.limits.enter(RequestContext(Request.of("GET", "/"), parse_request_info("GET", "/", {}), ANN))
    for path in ("/apis/made-up/v1/things", "/api/v1/pods"):
        assert cluster.perform(Request.of("GET", path), identity=ANN).status == 429
    counted = cluster.engine.metrics.counts["apiserver_request_terminations_total"]
    assert [labels[1:5] for labels in counted] == [("other", "", "", ""), ("LIST", "", "v1", "pods")]
