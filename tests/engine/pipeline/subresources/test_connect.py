"""Connections: who may ask, and what a server without nodes answers."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.engine.admission.policies import binding, policy, with_policy

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A pod that waits, and one that is on a node."""
    made = simkit.Cluster(seed=1)
    made.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    made.create(POD)
    made.create({**POD, "metadata": {"name": "q"}, "spec": {**POD["spec"], "nodeName": "n1"}})
    return made


@pytest.mark.parametrize(
    ("method", "path", "upgrade", "code", "words"),
    [
        ("GET", f"{PODS}/none/log", False, 404, "not found"),
        ("GET", f"{PODS}/p/log", False, 400, "does not have a host assigned"),
        ("GET", f"{PODS}/q/log", False, 500, "no such host"),
        ("POST", f"{PODS}/q/exec?command=id", False, 400, "Upgrade request required"),
        ("POST", f"{PODS}/q/exec?command=id", True, 500, "error dialing backend"),
        ("GET", f"{PODS}/q/proxy/x", False, 503, "error trying to reach service"),
        ("GET", "/api/v1/nodes/n1/proxy/metrics", False, 503, "n1"),
        ("GET", "/api/v1/namespaces/default/services/kubernetes/proxy", False, 503, "no endpoints available"),
    ],
)
def test_answers(cluster: simkit.Cluster, method: str, path: str, upgrade: bool, code: int, words: str) -> None:
    """Each connection fails where the real server's would that reaches no node."""
    headers = {"upgrade": "SPDY/3.1"} if upgrade else {}
    response = cluster.perform(Request.of(method, path, headers=headers))
    assert (response.status, words in response.object["message"]) == (code, True)


def test_admission_comes_next() -> None:
    """Admission has a say before the pod is looked for, and none where only a log is read."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/*"]}
    cluster = with_policy(policy({"expression": "false", "reason": "Forbidden"}, rule=rule), binding())
    paths = [f"{PODS}/none/{part}" for part in ("exec", "proxy", "log")]
    assert [cluster.perform(Request.of("GET", path)).status for path in paths] == [403, 403, 404]


def test_authorization_comes_first(cluster: simkit.Cluster) -> None:
    """Who may not connect is refused, whether or not the pod is there."""
    ann = Identity("ann", ("system:authenticated",))
    assert cluster.perform(Request.of("POST", f"{PODS}/none/exec"), identity=ann).status == 403
