"""Priority and fairness: who belongs where, who gets a seat and who is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.pipeline.flowcontrol.controller import Flow, FlowControl
from simkit.engine.pipeline.flowcontrol.flow_schema import TooManyRequests
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


def filled(room: FlowControl, identity: Identity) -> int:
    """The requests of somebody that got a seat, until the first that is refused."""
    for count in range(room.seats + 1):
        try:
            room.enter(context(identity))
        except TooManyRequests:
            return count
    return room.seats + 1


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


def test_without_a_seat_a_request_is_refused() -> None:
    """With 429 in plain text, a second to wait, and the headers of its flow; the next one gets the seat it left."""
    made = cluster(1)
    room = control(made)
    held = entered(room, context(ANN))
    response = made.perform(Request.of("GET", "/version"), identity=BOB)
    assert (response.status, response.body) == (429, b"Too many requests, please try again later.\n")
    assert ("Retry-After", "1") in response.headers
    assert "X-Kubernetes-PF-FlowSchema-UID" in dict(response.headers)
    room.leave(held)
    assert made.perform(Request.of("GET", "/version"), identity=BOB).status == 200
    assert (room.reading, room.levels["global-default"].executing) == (0, 0)


def test_exempt_always() -> None:
    """Administrators are never refused, however many requests there are."""
    room = control(cluster(1))
    entered(room, context(ANN))
    assert all(entered(room, context(ROOT)).request_kind is False for _ in range(5))


def test_one_level_leaves_others_their_seats() -> None:
    """Whoever fills a level is refused there; the requests of another level are answered."""
    room = control(cluster(8))
    assert filled(room, Identity("stranger")) < 8
    assert entered(room, context(ANN)).request_kind is False


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


def test_levels_borrow() -> None:
    """A level takes what others lend and do not need, and no more than leaves them what they keep."""
    room = control(cluster(100))
    running = filled(room, ANN)
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
