"""The index of paths, and paths that begin with two slashes."""

from __future__ import annotations

import pytest

import simkit
from simkit.meta.message import Request


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_the_index_has_the_paths_of_groups_and_versions(release: str) -> None:
    """Of custom resources too, once they are served."""
    cluster = simkit.Cluster(release=release)
    paths = cluster.perform(Request.of("GET", "/")).object["paths"]
    assert {"/apis", "/apis/", "/apis/apps", "/apis/apps/v1", "/apis/autoscaling/v2"} <= {*paths}
    assert paths == sorted(set(paths))


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["//api/v1", "//api/v1/namespaces", "//healthz", "//version"])
def test_nothing_is_at_a_path_with_two_slashes_in_front(method: str, path: str) -> None:
    """The rights are asked for as if there was one."""
    answer = simkit.Cluster().perform(Request.of(method, path, {}))
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize("release", ["1.31", "1.33", "1.34"])
def test_both_lists_of_groups_have_one_order(release: str) -> None:
    """That of the priorities, which changed for devices with 1.32; versions too."""
    cluster = simkit.Cluster(options=simkit.Options(release=release, runtime_config={"api/all": True}))
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    listed = cluster.perform(Request.of("GET", "/apis")).object["groups"]
    whole = cluster.perform(Request.of("GET", "/apis", headers={"accept": accept})).object["items"]
    told = [(each["metadata"]["name"], [row["version"] for row in each["versions"]]) for each in whole]
    assert told == [(each["name"], [row["version"] for row in each["versions"]]) for each in listed]


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/version", "/.well-known/openid-configuration", "/openid/v1/jwks"])
def test_what_is_missing_below_a_service_is_told_as_a_status(method: str, path: str) -> None:
    """Beside it, as text."""
    cluster = simkit.Cluster()
    below, beside = (cluster.perform(Request.of(method, f"{path}{more}")) for more in ("/x", "x"))
    assert (below.status, below.object["reason"]) == (404, "NotFound")
    assert (beside.status, beside.body) == (404, b"404 page not found\n")


def test_counters_can_be_set_back() -> None:
    """By DELETE; requests that come after it count, also those whose answers are known already."""
    cluster, path = simkit.Cluster(seed=1), "/api/v1/namespaces/default"

    def counted() -> float:
        text = cluster.perform(Request.of("GET", "/metrics")).body.decode()
        rows = [row for row in text.splitlines() if row.startswith("apiserver_request_total{")]
        mine = [row for row in rows if 'resource="namespaces"' in row and 'verb="GET"' in row]
        return sum(float(row.rpartition(" ")[2]) for row in mine)

    for _ in range(3):
        cluster.perform(Request.of("GET", path))
    assert counted() == 3
    answer = cluster.perform(Request.of("DELETE", "/metrics"))
    assert (answer.status, answer.body) == (200, b"metrics reset\n")
    assert counted() == 0
    cluster.perform(Request.of("GET", path))
    assert counted() == 1


@pytest.mark.parametrize(("method", "shown"), [("GET", True), ("POST", True), ("PATCH", False), ("OPTIONS", False)])
def test_indicators_are_read_by_two_methods(method: str, shown: bool) -> None:
    """Others get an empty answer."""
    answer = simkit.Cluster().perform(Request.of(method, "/metrics/slis"))
    assert (answer.status, bool(answer.body)) == (200, shown)
