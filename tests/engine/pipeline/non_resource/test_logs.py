"""The folder of logs, which is empty, and paths with a slash too many."""

from __future__ import annotations

import orjson
import pytest

import simkit
from simkit.cluster.cluster import Cluster
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return simkit.Cluster(seed=1)


def get(cluster: Cluster, path: str) -> Response:
    return cluster.perform(Request.of("GET", path))


def test_the_folder_of_logs_is_empty(cluster: Cluster) -> None:
    """It is listed, described by OpenAPI, and holds no file."""
    assert get(cluster, "/logs/").body == b"<pre>\n</pre>\n"
    assert get(cluster, "/logs/kube-apiserver.log").status == 404
    described = orjson.loads(get(cluster, "/openapi/v3/logs").body)["paths"]
    assert sorted(described) == ["/logs/", "/logs/{logpath}"]
    assert "logs" in orjson.loads(get(cluster, "/openapi/v3").body)["paths"]
    assert described["/logs/"]["get"]["operationId"] == "logFileListHandler"


def test_it_needs_rights(cluster: Cluster) -> None:
    """As all paths do."""
    assert cluster.perform(Request.of("GET", "/logs/"), identity=Identity("nobody")).status == 403


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "//", 404),
        ("GET", "/index.html/", 404),
        ("GET", "/healthz/", 404),
        ("GET", "/livez/ping/", 404),
        ("GET", "/openapi/v2/", 404),
        ("GET", "/openapi/v3/", 404),
        ("GET", "/openapi/v3/api/v1/", 404),
        ("GET", "/version/", 200),
        ("GET", "/apis/apps/v1/", 200),
        ("POST", "/logs/", 405),
        ("POST", "/apis/apps/v9", 404),
        ("POST", "/apis/apps/v1", 405),
        ("POST", "/apis/apps", 200),
        ("POST", "/apis/apiregistration.k8s.io", 405),
        ("POST", "/api/v2", 404),
    ],
)
def test_slashes_and_methods(cluster: Cluster, method: str, path: str, status: int) -> None:
    """Some paths are unknown with a slash at the end, and what does not exist is 404 whatever the method."""
    assert cluster.perform(Request.of(method, path)).status == status
