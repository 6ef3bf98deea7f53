"""Numbers that nobody counts with are refused in kube-apiserver's way, and are never an error of ours."""

from __future__ import annotations

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.clock import SimulatedClock
from simkit.meta.message import Request

MAPS = "/api/v1/namespaces/default/configmaps"
SETS = "/apis/apps/v1/namespaces/default/deployments"
LONG = "9" * 5000


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster with a config map."""
    made = simkit.Cluster(options=Options(seed=1, clock=SimulatedClock()))
    made.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}})
    return made


def _deployment(surge: str) -> str:
    spec = '{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}'
    strategy = f',"strategy":{{"rollingUpdate":{{"maxSurge":"{surge}","maxUnavailable":"{surge}"}}}}}}'
    return f'{{"metadata":{{"name":"d"}},"spec":{spec}{strategy}}}'


@pytest.mark.parametrize(
    ("method", "path", "body", "media"),
    [
        ("GET", f"{MAPS}?limit=²", "", "application/json"),
        ("GET", f"{MAPS}?limit={LONG}", "", "application/json"),
        ("GET", f"{MAPS}?resourceVersion=²", "", "application/json"),
        ("GET", f"{MAPS}?timeoutSeconds={LONG}", "", "application/json"),
        ("GET", f"{MAPS}?timeout={'1s' * 30000}", "", "application/json"),
        ("POST", MAPS, f'{{"metadata":{{"name":"b","generation":{LONG}}}}}', "application/json"),
        ("POST", MAPS, f"metadata: {{name: b, generation: {LONG}}}", "application/yaml"),
        ("POST", MAPS, f"metadata: {{name: b, generation: 1e{LONG}}}", "application/yaml"),
        ("POST", MAPS, f"metadata: {{name: b, generation: 0x{'f' * 5000}}}", "application/yaml"),
        (
            "PATCH",
            f"{MAPS}/a",
            f'[{{"op":"add","path":"/metadata/finalizers/{LONG}","value":"x"}}]',
            "application/json-patch+json",
        ),
        ("PATCH", f"{MAPS}/a", '{"data":' + '{"a":' * 400 + "1" + "}" * 401, "application/merge-patch+json"),
        ("PATCH", f"{MAPS}/a", '{"data":' + '{"a":' * 400 + "1" + "}" * 401, "application/strategic-merge-patch+json"),
        ("POST", SETS, _deployment(f"{LONG}%"), "application/json"),
        ("POST", SETS, _deployment("²%"), "application/json"),
    ],
)
def test_strange_numbers_are_refused(cluster: simkit.Cluster, method: str, path: str, body: str, media: str) -> None:
    """400, 422 or, where kube-apiserver passes over it, 200; a 500 only in its words for a bad resourceVersion."""
    answer = cluster.perform(Request.of(method, path, body.encode(), content_type=media))
    allowed = (500,) if "resourceVersion=" in path else (200, 400, 422)
    assert answer.status in allowed, answer.body[:300]
    assert b"Internal error occurred" not in answer.body
