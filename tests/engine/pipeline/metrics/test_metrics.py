"""The metrics of the server, and their formats."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.engine.pipeline.metrics.families import SECONDS
from simkit.engine.pipeline.non_resource.exposition import exposed
from simkit.meta.identity import Identity
from simkit.meta.message import Request

Samples = dict[str, list[tuple[dict[str, str], float]]]
ANN = Identity("ann", ("system:authenticated",))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(options=Options(seed=1, authenticators=(StaticTokens({"t": ANN}),)))


def scraped(cluster: Cluster, path: str = "/metrics") -> Samples:
    response = cluster.perform(Request.of("GET", path))
    assert response.status == 200
    assert response.content_type.startswith("text/plain; version=0.0.4; charset=utf-8")
    found: Samples = {}
    for family in text_string_to_metric_families(response.body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def value(samples: Samples, family: str, /, **labels: str) -> float:
    """The sum of the samples that carry the labels."""
    return sum(number for given, number in samples.get(family, ()) if labels.items() <= given.items())


def test_requests_by_route_and_code(cluster: Cluster) -> None:
    """Each answer counts once under verb, resource, scope and code; apply and dry run are told apart."""
    pods = "/api/v1/namespaces/default/pods"
    for method, path in (("GET", pods), ("GET", f"{pods}/absent"), ("DELETE", pods)):
        cluster.perform(Request.of(method, path))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    maps = "/api/v1/namespaces/default/configmaps"
    cluster.perform(Request.of("POST", f"{maps}?dryRun=All", body))
    apply = f"{maps}/a?fieldManager=x"
    cluster.perform(Request.of("PATCH", apply, body, content_type="application/apply-patch+yaml"))
    samples = scraped(cluster)
    total = "apiserver_request_total"
    assert value(samples, total, verb="LIST", resource="pods", scope="namespace", code="200", version="v1") == 1
    assert value(samples, total, verb="GET", resource="pods", scope="resource", code="404") == 1
    assert value(samples, total, verb="DELETE", resource="pods", scope="namespace") == 1
    assert value(samples, total, verb="POST", resource="configmaps", dry_run="All", code="201") == 1
    assert value(samples, total, verb="APPLY", resource="configmaps", code="201") == 1
    timed = "apiserver_request_duration_seconds"
    assert value(samples, f"{timed}_count", verb="LIST", resource="pods") == 1
    assert value(samples, f"{timed}_bucket", verb="LIST", resource="pods", le="+Inf") == 1


def test_requests_without_a_handler_are_not_counted(cluster: Cluster) -> None:
    """Refusals by authentication and authorization, and unknown paths."""
    cluster.perform(Request.of("GET", "/api/v1/nodes"), identity=ANN)
    serve_request(cluster.engine, Request.of("GET", "/api/v1/nodes", headers={"authorization": "Bearer wrong"}))
    serve_request(cluster.engine, Request.of("GET", "/api/v1/nodes", headers={"authorization": "Bearer t"}))
    cluster.perform(Request.of("GET", "/apis/absent/v1/things"))
    samples = scraped(cluster)
    assert value(samples, "apiserver_request_total", resource="nodes") == 0
    assert value(samples, "apiserver_request_total", resource="things") == 0


def test_deprecated_versions(cluster: Cluster) -> None:
    """A deprecated resource that was asked for shows as a gauge that can be joined to the requests."""
    path = "/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas"
    cluster.perform(Request.of("GET", path))
    cluster.perform(Request.of("GET", f"{path}/absent/status"))
    labels = {"group": "flowcontrol.apiserver.k8s.io", "version": "v1beta3", "resource": "flowschemas"}
    samples = scraped(cluster)
    gauge = "apiserver_requested_deprecated_apis"
    assert samples[gauge] == [
        ({**labels, "subresource": "", "removed_release": "1.32"}, 1.0),
        ({**labels, "subresource": "status", "removed_release": "1.32"}, 1.0),
    ]
    assert value(samples, "apiserver_request_total", **labels) == 2


def test_state(cluster: Cluster) -> None:
    """Stored objects, the release and the process itself are told too."""
    samples = scraped(cluster)
    assert value(samples, "apiserver_storage_objects", resource="namespaces") == 4
    assert value(samples, "kubernetes_build_info", major="1", minor="30") == 1
    assert value(samples, "process_cpu_seconds_total") > 0
    assert value(samples, "apiserver_authorization_decisions_total", type="RBAC", decision="allowed") >= 0


def test_long_running_requests(cluster: Cluster) -> None:
    """A watch counts as long as it is under way, by its route; the release is the one that the server tells."""
    streams = [cluster.perform(Request.of("GET", f"/api/v1/{path}?watch=1")).stream for path in ("pods", "pods")]
    labels = {"verb": "WATCH", "version": "v1", "resource": "pods", "scope": "cluster", "component": "apiserver"}
    assert value(scraped(cluster), "apiserver_longrunning_requests", **labels) == 2
    for _ in range(2):
        streams[0].close()
    assert value(scraped(cluster), "apiserver_longrunning_requests", **labels) == 1
    told = cluster.perform(Request.of("GET", "/version")).object["gitVersion"]
    assert value(scraped(cluster), "kubernetes_build_info", git_version=told) == 1


def test_forks_count_for_themselves(cluster: Cluster) -> None:
    """A fork starts to count anew."""
    cluster.perform(Request.of("GET", "/api/v1/pods"))
    assert "apiserver_request_total" not in scraped(cluster.fork())


def test_health_indicators(cluster: Cluster) -> None:
    """The page of indicators tells each check's state and its results so far."""
    cluster.perform(Request.of("GET", "/livez"))
    samples = scraped(cluster, "/metrics/slis")
    assert value(samples, "kubernetes_healthcheck", name="ping", type="livez") == 1
    assert value(samples, "kubernetes_healthchecks_total", name="ping", type="livez", status="success") == 1
    assert "apiserver_request_total" not in samples


@pytest.mark.parametrize(
    ("method", "path", "identity", "status"),
    [
        ("GET", "/metrics/", None, 404),
        ("POST", "/metrics", None, 200),
        ("GET", "/metrics", ANN, 403),
        ("GET", "/metrics/slis", ANN, 403),
        ("GET", "/metrics", Identity("p", ("system:monitoring",)), 200),
    ],
)
def test_permission_to_read_metrics(
    cluster: Cluster, method: str, path: str, identity: Identity | None, status: int
) -> None:
    """Metrics are for the monitoring group; a slash at the end makes another path."""
    assert cluster.perform(Request.of(method, path), identity=identity).status == status


def test_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A duration falls into the first bucket that is large enough."""
    metrics, world = Metrics(), Cluster(seed=1)
    request = Request.of("GET", "/api/v1/pods")
    response = world.perform(request)
    seen: list[Any] = []
    monkeypatch.setattr(world.engine.metrics, "observe", lambda context, response, seconds: seen.append(context))
    world.perform(request)
    for seconds in (0.0, SECONDS[0], SECONDS[0] * 1.01, 1e9):
        metrics.observe(seen[0], response, seconds)
    (durations,) = metrics.requests.values()
    assert (durations.count, *durations.counts[:2], durations.counts[-1]) == (4, 2, 1, 1)


def test_feature_gates_stages_and_objects_by_group() -> None:
    """Stable gates have no stage; objects are told by group from 1.34 on."""
    page = exposed(Cluster("1.36", seed=1).engine).decode()
    assert 'kubernetes_feature_enabled{name="APIServerIdentity",stage="BETA"} 1.0' in page
    assert 'kubernetes_feature_enabled{name="APIServerTracing",stage=""} 1.0' in page
    assert 'kubernetes_feature_enabled{name="WorkloadWithJob",stage="ALPHA"} 0.0' in page
    assert 'apiserver_resource_objects{group="rbac.authorization.k8s.io",resource="clusterrolebindings"}' in page
    older = exposed(Cluster("1.25", seed=1).engine).decode()
    assert "kubernetes_feature_enabled" not in older
    assert "apiserver_resource_objects" not in older
