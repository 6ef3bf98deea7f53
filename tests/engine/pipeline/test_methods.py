"""Paths that depend on the method of a request."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """An empty cluster."""
    return simkit.Cluster(seed=1)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/apis", "/apis/apps", "/healthz", "/readyz/ping", "/openapi/v2", "/openapi/v3"]
)
def test_paths_that_answer_to_every_method(cluster: simkit.Cluster, path: str, method: str) -> None:
    """Handlers beside kube-apiserver's router answer every method alike."""
    assert cluster.perform(Request.of(method, path)).status == 200


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis/apps/v1", "/version"])
def test_paths_that_are_read(cluster: simkit.Cluster, path: str) -> None:
    """The router knows GET alone for these."""
    assert cluster.perform(Request.of("POST", path)).status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/status/x",
        "/api/v1/namespaces/default/pods/a/log/x",
        "/apis/apps/v1/namespaces/default/deployments/a/scale/x",
        "/apis/apps/v1/namespaces/default/deployments/a/status/x",
    ],
)
def test_paths_below_a_subresource_are_not_found(cluster: simkit.Cluster, path: str) -> None:
    """Only what is proxied has a path behind it."""
    answer = cluster.perform(Request.of("GET", path))
    assert answer.status == 404
    assert answer.object["message"] == "the server could not find the requested resource"
