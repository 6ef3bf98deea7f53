"""The folder of logs and the profiles: what is there although there is nothing to show."""

from __future__ import annotations

import logging

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


def test_there_are_no_profiles(cluster: Cluster) -> None:
    """The index is served; profiles are unknown."""
    index = get(cluster, "/debug/pprof/")
    assert (index.status, index.content_type) == (200, "text/html; charset=utf-8")
    assert get(cluster, "/debug/pprof").status == 302
    assert get(cluster, "/debug/pprof/symbol").body == b"num_symbols: 1\n"
    unknown = get(cluster, "/debug/pprof/heap")
    assert (unknown.status, unknown.body) == (404, b"Unknown profile\n")


def test_the_folder_of_logs_is_empty(cluster: Cluster) -> None:
    """It is listed, described by OpenAPI, and holds no file."""
    assert get(cluster, "/logs/").body == b"<pre>\n</pre>\n"
    assert get(cluster, "/logs/kube-apiserver.log").status == 404
    described = orjson.loads(get(cluster, "/openapi/v3/logs").body)["paths"]
    assert sorted(described) == ["/logs/", "/logs/{logpath}"]
    assert "logs" in orjson.loads(get(cluster, "/openapi/v3").body)["paths"]
    assert described["/logs/"]["get"]["operationId"] == "logFileListHandler"


def test_they_need_rights(cluster: Cluster) -> None:
    """As all paths do."""
    for path in ("/debug/pprof/", "/logs/"):
        assert cluster.perform(Request.of("GET", path), identity=Identity("nobody")).status == 403


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


def test_the_log_level_is_set_while_the_server_runs(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """A PUT of /debug/flags/v sets it; from 3 on each request is logged."""
    caplog.set_level(logging.INFO, "simkit.http")

    def put(level: str) -> tuple[int, str]:
        answer = cluster.perform(Request.of("PUT", "/debug/flags/v", level.encode()))
        return answer.status, answer.body.decode()

    assert put("2") == (200, "successfully set klog.logging.verbosity to 2\n")
    assert get(cluster, "/livez").status == 200
    assert not caplog.records
    assert put("3")[0] == 200
    assert get(cluster, "/livez").status == 200
    assert '"HTTP" verb="GET" URI="/livez"' in caplog.records[-1].message
    assert put("-1") == (400, 'strconv.ParseUint: parsing "-1": invalid syntax\n')
    assert put("0")[0] == 200
    assert (get(cluster, "/debug/flags/v").status, get(cluster, "/debug/flags").status) == (406, 200)
