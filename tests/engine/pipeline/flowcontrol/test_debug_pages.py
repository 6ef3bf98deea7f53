"""The debug pages of priority and fairness."""

from __future__ import annotations

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.flowcontrol.debug_pages import FOLDER
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request

ANN = Identity("ann", ("system:authenticated",))
ROOT = Identity("root", (MASTERS, "system:authenticated"))


def shown(made: Cluster, page: str) -> list[list[str]]:
    """The cells of a page, line by line."""
    response = made.perform(Request.of("GET", FOLDER + page), identity=ROOT)
    assert (response.status, response.content_type) == (200, "text/plain; charset=utf-8")
    return [[cell.strip() for cell in line.split(",")] for line in response.body.decode().splitlines()]


def crowded() -> Cluster:
    """A cluster with two requests of ann, half a minute apart: one has room, the other waits."""
    clock = SimulatedClock(start=0.25)
    made = Cluster(options=Options(seed=1, clock=clock, max_requests_inflight=1))
    for name in "ab":
        path = f"/api/v1/namespaces/dev/pods/{name}"
        made.engine.limits.enter(RequestContext(Request.of("GET", path), parse_request_info("GET", path, {}), ANN))
        clock.advance(seconds=30)
    return made


def test_levels() -> None:
    """A line a level, by name, in columns: who waits and who has room; the request for the page itself counts."""
    made = crowded()
    text = made.perform(Request.of("GET", f"{FOLDER}dump_priority_levels"), identity=ROOT).body.decode()
    head, catch_all, exempt, default, *_ = text.splitlines()
    assert head.startswith("PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, Executing")
    assert head.endswith(" DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests")
    assert catch_all.startswith("catch-all,         0,            true,   false,       0,               0,  ")
    assert " ".join(exempt.split()).startswith("exempt, 0, false, false, 0, 1, ")
    assert " ".join(default.split()) == "global-default, 1, false, false, 1, 1, 1, 0, 0, 0"


def test_queues() -> None:
    """A line a queue of the levels that have some, with what waits in it."""
    head, *lines = shown(crowded(), "dump_queues")
    assert head[-4:] == ["NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"]
    busy = [line for line in lines if line[2] != "0"]
    assert [line[:1] + line[2:] for line in busy] == [
        ["global-default", "1", "0", "0", "0.00000000ss", "1", "1", "0.00300000ss"]
    ]
    assert sum(line[0] == "global-default" for line in lines) == 128


def test_requests() -> None:
    """A line a request, with its times, and with who asks for what where that is wanted."""
    made = crowded()
    head, executing, waiting = (line for line in shown(made, "dump_requests") if line[0] != "exempt")
    assert head[-2:] == ["AdditionalLatency", "StartTime"]
    arrived = "1970-01-01T00:00:00.25Z"
    assert executing[1:] == ["global-default", "-1", "-1", "ann", arrived, "1", "0", "0s", arrived]
    assert waiting[3:] == ["0", "ann", "1970-01-01T00:00:30.25Z", "1", "0", "0s", "0001-01-01T00:00:00Z"]
    details = shown(made, "dump_requests?includeRequestDetails=1")
    own = "/debug/api_priority_and_fairness/dump_requests"
    assert ["root", "get", own, "", "", "", "", ""] in [line[10:] for line in details]
    path = "/api/v1/namespaces/dev/pods/b"
    assert details[-1][10:] == ["ann", "get", path, "dev", "b", "v1", "pods", ""]


def test_no_pages() -> None:
    """Others do not exist, nor these where requests do not take turns; not everybody may see them."""
    made = Cluster(options=Options(seed=1, max_requests_inflight=400))
    for page in ("", "dump_queues/", "nothing"):
        assert made.perform(Request.of("GET", FOLDER + page), identity=ROOT).status == 404
    path = f"{FOLDER}dump_queues"
    assert made.perform(Request.of("GET", path), identity=ANN).status == 403
    assert Cluster(seed=1).perform(Request.of("GET", path), identity=ROOT).status == 404
