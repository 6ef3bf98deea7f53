"""The aggregation controller applies what selectors find."""

from __future__ import annotations

import orjson

import simkit
from simkit.client.reconciler import ReconcilingController
from simkit.engine.controllers.cluster_role_aggregation import ClusterRoleAggregationController
from simkit.logic.rbac.aggregate import CONTROLLER
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object
from tests.logic.rbac.worlds import World, role, rule

PODS = rule("get", "-", "pods")
SELECTED = {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}


class Recording:
    """A client that only notes what it is asked to send."""

    def __init__(self) -> None:
        self.sent: list[Request] = []

    def perform(self, request: Request) -> Response:
        self.sent.append(request)
        return Response(200)


def controller() -> ReconcilingController:
    return ReconcilingController(ClusterRoleAggregationController(), SimulatedClock())


def sent(*objects: Object) -> list[tuple[str, str, Object]]:
    """The requests of the controller for a cluster of some roles."""
    client = Recording()
    controller().sync(client, World(objects))
    return [(one.method, one.path, orjson.loads(one.body)) for one in client.sent]


def part(*rules: Object) -> Object:
    made = role("part", *rules)
    return {**made, "metadata": {"name": "part", "labels": {"to": "whole"}}}


def test_applies_what_differs() -> None:
    """Rules that a role lacks are applied by force, in the controller's name."""
    [(method, path, body)] = sent(part(PODS), role("a:whole one", aggregationRule=SELECTED))
    assert (method, path) == ("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/a:whole%20one")
    assert body["rules"] == [PODS]
    client = Recording()
    controller().sync(client, World([part(PODS), role("w", aggregationRule=SELECTED)]))
    assert client.sent[0].option("fieldManager") == CONTROLLER
    assert client.sent[0].option("force") == "true"
    assert client.sent[0].header("content-type") == "application/apply-patch+yaml"


def test_leaves_what_is_right() -> None:
    """A role that has the rules already, and one that gathers nothing from nobody, are left alone."""
    assert sent(part(PODS), role("whole", PODS, aggregationRule=SELECTED), role("other", PODS)) == []
    assert sent(role("whole", aggregationRule=SELECTED)) == []


def test_applies_no_rules_where_none_are_found() -> None:
    """If the selectors find nothing, the applied intent has no rules: those of others stay, its own go."""
    [(_, _, body)] = sent(role("whole", PODS, aggregationRule=SELECTED))
    assert "rules" not in body


def test_roles_that_gather_from_each_other_come_to_rest() -> None:
    """One sync sees what it has applied itself: two such roles swapped their rules for ever."""
    cluster = simkit.Cluster(seed=1)
    for name in ("a", "b", "c"):
        made = role(name, rule("get", f"{name}.example", "things"), aggregationRule=SELECTED)
        cluster.create({**made, "metadata": {"name": name, "labels": {"to": "whole"}}})
    cluster.settle()
    gathered = [cluster.get("clusterrole", name)["rules"] for name in ("a", "b", "c")]
    assert [len(rules) for rules in gathered] == [2, 2, 2]
