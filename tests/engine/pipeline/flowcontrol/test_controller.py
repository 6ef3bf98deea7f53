"""Priority and fairness: who belongs where, who gets room, who waits and who is refused."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.flowcontrol.flow_schema import TooManyRequests
from simkit.engine.pipeline.flowcontrol.priority_level import Flow, Ticket
from simkit.engine.pipeline.handler_chain import HandledRequest
from simkit.engine.pipeline.non_resource.exposition import exposed
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.meta.identity import MASTERS, Identity, service_account
from simkit.meta.message import Request

ANN, BOB = (Identity(name, ("system:authenticated",)) for name in ("ann", "bob"))
ROOT = Identity("root", (MASTERS, "system:authenticated"))
FLOW = "flowcontrol.apiserver.k8s.io"
PODS = "/api/v1/pods"


def cluster(seats: int = 600) -> Cluster:
    return Cluster(options=Options(seed=1, max_requests_inflight=seats, max_mutating_requests_inflight=0))


def control(made: Cluster) -> FlowControl:
    found = made.engine.limits
    assert isinstance(found, FlowControl)
    return found


def context(identity: Identity, target: str = PODS, method: str = "GET") -> RequestContext:
    request = Request.of(method, target)
    return RequestContext(request, parse_request_info(method, request.path, request.query), identity)


def entered(room: FlowControl, each: RequestContext) -> RequestContext:
    room.enter(each)
    return each


@pytest.mark.parametrize(
    ("identity", "method", "target", "schema", "level"),
    [
        (ROOT, "GET", PODS, "exempt", "exempt"),
        (Identity("x"), "GET", "/healthz", "catch-all", "catch-all"),
        (Identity("x", ("system:unauthenticated",)), "GET", "/healthz", "probes", "exempt"),
        (Identity("x", ("system:unauthenticated",)), "GET", "/version", "global-default", "global-default"),
        (ANN, "GET", PODS, "global-default", "global-default"),
        (service_account("team", "robot"), "GET", PODS, "service-accounts", "workload-low"),
        (service_account("kube-system", "generic-garbage-collector"), "GET", PODS, "kube-system-service-accounts",
         "workload-high"),
        (Identity("system:kube-scheduler", ("system:authenticated",)), "GET", PODS, "kube-scheduler", "workload-high"),
        (Identity("system:kube-controller-manager", ("system:authenticated",)), "PUT",
         "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x", "system-leader-election", "leader-election"),
        (Identity("system:node:n", ("system:nodes", "system:authenticated")), "GET", PODS, "system-nodes", "system"),
        (Identity("system:node:n", ("system:nodes", "system:authenticated")), "PATCH", "/api/v1/nodes/n/status",
         "system-node-high", "node-high"),
    ],
)  # fmt: skip
def test_defaults(identity: Identity, method: str, target: str, schema: str, level: str) -> None:
    """The default schemas tell requests apart as on a fresh kube-apiserver."""
    flow = entered(control(WORLD), context(identity, target, method)).flow
    assert isinstance(flow, Flow)
    assert (flow.schema.name, flow.level.name) == (schema, level)


WORLD = cluster()


def test_headers() -> None:
    """Every answer after authentication names its schema and level, a watch and a refusal too."""
    shown = {
        each["metadata"]["name"]: each["metadata"]["uid"]
        for plural in ("flowschemas", "prioritylevelconfigurations")
        for each in WORLD.perform(Request.of("GET", f"/apis/{FLOW}/v1/{plural}")).object["items"]
        if each["metadata"]["name"] == "global-default"
    }
    for target in (PODS, "/version", f"{PODS}?watch=true"):
        headers = dict(WORLD.perform(Request.of("GET", target), identity=ANN).headers)
        assert headers["X-Kubernetes-PF-PriorityLevel-UID"] == shown["global-default"]
        assert headers["X-Kubernetes-PF-FlowSchema-UID"] not in ("", shown["global-default"])


def test_waiting_and_going_on() -> None:
    """Without room a request waits, and goes on where it was once there is some."""
    made = cluster(8)
    room = control(made)
    held: list[RequestContext] = []
    while not held or held[-1].ticket is None or held[-1].ticket.outcome:
        held.append(entered(room, context(ANN)))
    handled = HandledRequest(made.engine, Request.of("GET", "/version"), BOB)
    assert handled.serve() is None
    assert b'current_inqueue_requests{flow_schema="global-default",priority_level="global-default"} 2.0' in exposed(
        made.engine
    )
    for each in held[:-1]:
        room.leave(each)
    response = handled.serve()
    assert response is not None
    assert response.status == 200
    assert room.reading == 0


def test_another_thread_makes_room() -> None:
    """A caller in process waits in its own thread."""
    made = cluster(1)
    room = control(made)
    held = entered(room, context(ANN))
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(made.perform(Request.of("GET", "/version"), identity=BOB).status)
    )
    thread.start()
    while not room.levels["global-default"].waiting:
        pass
    assert not answers
    room.leave(held)
    thread.join(10)
    assert answers == [200]


def test_the_wait_ends() -> None:
    """Whoever waited too long is refused with 429 in plain text; the reason is counted."""
    made = cluster(1)
    room = control(made)
    held = entered(room, context(ANN))
    handled = HandledRequest(made.engine, Request.of("GET", "/version"), BOB)
    assert handled.serve() is None
    assert handled.context.ticket is not None
    handled.context.ticket.give_up()
    response = handled.serve()
    assert response is not None
    assert (response.status, response.body) == (429, b"Too many requests, please try again later.\n")
    assert ("Retry-After", "1") in response.headers
    assert "X-Kubernetes-PF-FlowSchema-UID" in dict(response.headers)
    assert room.rejected == {("global-default", "global-default", "time-out"): 1}
    room.leave(held)
    assert made.perform(Request.of("GET", "/version"), identity=BOB).status == 200
    assert (room.reading, room.levels["global-default"].executing) == (0, 0)


def test_exempt_always() -> None:
    """Administrators never wait, however many requests there are."""
    room = control(cluster(1))
    for _ in range(5):
        entered(room, context(ANN))
    assert all(entered(room, context(ROOT)).request_kind is False for _ in range(5))


def test_refusing_levels() -> None:
    """The level of those whom no schema is for refuses instead of letting them wait."""
    room = control(cluster(1))
    stranger = Identity("stranger")
    entered(room, context(stranger))
    with pytest.raises(TooManyRequests):
        room.enter(context(stranger))
    assert room.rejected == {("catch-all", "catch-all", "concurrency-limit"): 1}


def test_full_queues() -> None:
    """A flow that fills its queues is refused, others still wait."""
    made = cluster(1)
    level = made.get("prioritylevelconfiguration", "global-default")
    limited = {**level["spec"]["limited"]}
    limited["limitResponse"] = {"type": "Queue", "queuing": {"queues": 64, "handSize": 1, "queueLengthLimit": 2}}
    patch = Request.of(
        "PATCH",
        f"/apis/{FLOW}/v1/prioritylevelconfigurations/global-default",
        {"spec": {"limited": limited}},
        content_type="application/merge-patch+json",
    )
    assert made.perform(patch).status == 200
    room = control(made)
    waiting = [entered(room, context(ANN)) for _ in range(3)]
    with pytest.raises(TooManyRequests):
        room.enter(context(ANN))
    assert room.rejected == {("global-default", "global-default", "queue-full"): 1}
    bob = entered(room, context(BOB))
    room.leave(waiting[0])
    tickets = [each.ticket for each in (*waiting[1:], bob)]
    assert sum(ticket is not None and ticket.outcome == "granted" for ticket in tickets) == 1


def _bare(obj: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": {"name": obj["metadata"]["name"]}}


def test_own_schemas() -> None:
    """A schema of one's own counts from the next request on, and is gone with its object."""
    made = cluster()
    spec = {
        "matchingPrecedence": 5,
        "priorityLevelConfiguration": {"name": "exempt"},
        "rules": [
            {
                "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"namespace": "team", "name": "*"}}],
                "resourceRules": [
                    {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["team"]}
                ],
            }
        ],
    }
    made.create({"apiVersion": f"{FLOW}/v1", "kind": "FlowSchema", "metadata": {"name": "mine"}, "spec": spec})
    robot, inside = service_account("team", "robot"), "/api/v1/namespaces/team/pods"

    def schema(identity: Identity, target: str, method: str = "GET") -> str:
        flow = entered(control(made), context(identity, target, method)).flow
        assert isinstance(flow, Flow)
        return flow.schema.name

    assert schema(robot, inside) == "mine"
    assert schema(service_account("other", "robot"), inside) == "service-accounts"
    assert schema(robot, PODS) == "service-accounts"
    assert schema(robot, f"{inside}/p/status") == "service-accounts"
    assert schema(robot, f"{inside}/p", "DELETE") == "service-accounts"
    made.delete("flowschema", "mine")
    assert schema(robot, inside) == "service-accounts"


def test_a_schema_without_its_level() -> None:
    """A schema that names no level that exists is passed over."""
    made = cluster()
    schema = made.get("flowschema", "global-default")
    spec = {**schema["spec"], "matchingPrecedence": 9, "priorityLevelConfiguration": {"name": "absent"}}
    made.create({**_bare(schema), "metadata": {"name": "dangling"}, "spec": spec})
    flow = entered(control(made), context(ANN)).flow
    assert isinstance(flow, Flow)
    assert flow.schema.name == "global-default"


def test_wide_lists() -> None:
    """A list takes a seat for each hundred objects, within limits; one object takes one."""
    made = cluster()
    for number in range(250):
        name = {"name": f"c{number}", "namespace": "default"}
        made.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": name})
    room = control(made)

    def seats(target: str) -> int:
        ticket = entered(room, context(ANN, target)).ticket
        assert isinstance(ticket, Ticket)
        return ticket.seats

    assert seats("/api/v1/configmaps") == 3
    assert seats("/api/v1/configmaps?limit=50") == 1
    assert seats("/api/v1/configmaps?limit=50&labelSelector=a") == 3
    assert seats("/api/v1/namespaces/default/configmaps/c1") == 1
    assert seats("/api/v1/configmaps?fieldSelector=metadata.name%3Dc1") == 1


def test_levels_borrow() -> None:
    """A level takes what others lend and do not need, and no more than leaves them what they keep."""
    room = control(cluster(100))
    taken = [entered(room, context(ANN)) for _ in range(150)]
    running = sum(each.request_kind is not None for each in taken)
    level = room.levels["global-default"]
    kept = sum(each.floor for each in room.levels.values() if each is not level and not each.exempt)
    assert running == 100 - kept > level.nominal
    robot = entered(room, context(Identity("system:node:n", ("system:nodes", "system:authenticated"))))
    assert robot.request_kind is False


def test_switched_off() -> None:
    """Without the feature there are no headers, and what is above the limits is refused at once."""
    made = Cluster(options=Options(seed=1, max_requests_inflight=1, enable_priority_and_fairness=False))
    assert not [name for name, _ in made.perform(Request.of("GET", "/version")).headers if "PF" in name]
    made.engine.limits.enter(context(ANN))
    assert made.perform(Request.of("GET", "/version"), identity=BOB).status == 429
