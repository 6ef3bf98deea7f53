"""The metric families beside those of kube-apiserver 1.32 to 1.36, read from ``/metrics`` after some traffic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_file import StaticTokens
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.engine.pipeline.metrics.families import COUNTERS, GAUGES, HISTOGRAMS, UNUSUAL
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.schema.releases import minor_of
from tests.engine.pipeline.metrics.test_metrics import scraped, value

RECORDED: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_name("families.json").read_text())
"""By name: type, level, labels and bounds at some releases."""
MAPS: Final = "/api/v1/namespaces/default/configmaps"


def shape(name: str, release: str) -> Mapping[str, Any] | None:
    """A family as kube-apiserver has it at a release; None if it was not seen there."""
    return next((each for each in RECORDED.get(name, ()) if release in each["releases"]), None)


def busy(release: str) -> Cluster:
    """A server that has seen some requests."""
    cluster = Cluster(options=Options(release=release, seed=1, max_requests_inflight=400))
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}})
    spec = {"type": "NodePort", "ports": [{"port": 80}]}
    cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec})
    cluster.perform(Request.of("DELETE", f"{MAPS}/a"))
    cluster.perform(Request.of("GET", MAPS))
    return cluster


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.34", "1.35", "1.36"])
def test_families_have_the_types_levels_labels_and_bounds_of_kube_apiserver(release: str) -> None:
    """Each family that both have is of one shape."""
    page = busy(release).perform(Request.of("GET", "/metrics")).body.decode()
    compared = 0
    for family in text_string_to_metric_families(page):
        total = family.type == "counter" and family.name not in UNUSUAL
        name = f"{family.name}_total" if total else family.name
        wanted = shape(name, release)
        if wanted is None:
            continue
        compared += 1
        assert (name, family.type, family.documentation.split()[0]) == (name, wanted["type"], f"[{wanted['level']}]")
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        if labels:
            assert (name, labels) == (name, {*wanted["labels"]})
        bounds = {float(each.labels["le"]) for each in family.samples if "le" in each.labels} - {float("inf")}
        if bounds:
            assert (name, bounds) == (name, {*wanted.get("bounds", ())})
    assert compared > 40


@pytest.mark.parametrize("release", ["1.32", "1.34", "1.36"])
def test_labels_and_bounds_of_families_without_values(release: str) -> None:
    """What nothing has happened for yet is of the same shape."""
    for name, family in {**COUNTERS, **GAUGES, **HISTOGRAMS}.items():
        wanted = shape(name, release)
        if wanted is not None and not (family.since and minor_of(release) < minor_of(family.since)):
            told = (name, {*family.labels_at(release)}, {*family.bounds})
            assert told == (name, {*wanted["labels"]}, {*wanted.get("bounds", ())})


def test_seconds_of_admission_by_step_and_plugin() -> None:
    """Each write counts once for each step, and once for each plugin that looks at its resource."""
    cluster = busy("1.36")
    samples = scraped(cluster)
    step = "apiserver_admission_step_admission_duration_seconds_count"
    before = value(samples, step, type="admit", operation="CREATE", rejected="false")
    plugin = "apiserver_admission_controller_admission_duration_seconds_count"
    labels = {"name": "NamespaceLifecycle", "type": "admit", "operation": "CREATE"}
    asked = value(samples, plugin, **labels, rejected="false")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
    cluster.perform(Request.of("POST", MAPS, body))
    cluster.perform(Request.of("POST", "/api/v1/namespaces/absent/configmaps", body))
    samples = scraped(cluster)
    assert value(samples, step, type="admit", operation="CREATE", rejected="false") == before + 1
    assert value(samples, step, type="admit", operation="CREATE", rejected="true") == 1
    assert value(samples, plugin, **labels, rejected="false") == asked + 1
    assert value(samples, plugin, **labels, rejected="true") == 1
    assert value(samples, step, type="validate", operation="DELETE") == 1


def test_sizes_of_bodies_by_verb() -> None:
    """Every write counts, also one without a body."""
    cluster = busy("1.36")
    for name in ("m", "n"):
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
        cluster.perform(Request.of("POST", "/api/v1/namespaces/default/secrets", body))
    cluster.perform(Request.of("DELETE", "/api/v1/namespaces/default/secrets"))
    samples = scraped(cluster)
    family, labels = "apiserver_request_body_size_bytes", {"group": "", "resource": "secrets"}
    assert value(samples, f"{family}_count", verb="create", **labels) == 2
    sent = len(b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"m"}}')
    assert value(samples, f"{family}_sum", verb="create", **labels) == 2 * sent
    assert value(samples, f"{family}_count", verb="deletecollection", **labels) == 1
    former = scraped(busy("1.32"))
    assert value(former, f"{family}_count", verb="create", resource="roles.rbac.authorization.k8s.io") > 1


def test_seconds_of_authentication_and_authorization() -> None:
    """As many as there were attempts, by their results."""
    cluster = Cluster(options=Options(seed=1, authenticators=(StaticTokens({"t": Identity("ann")}),)))
    for token in ("t", "t", "wrong"):
        serve_request(cluster.engine, Request.of("GET", "/api", headers={"authorization": f"Bearer {token}"}))
    samples = scraped(cluster)
    for result, count in (("success", 2), ("failure", 1)):
        assert value(samples, "authentication_duration_seconds_count", result=result) == count
        assert value(samples, "authentication_attempts", result=result) == count
    for result in ("allowed", "no-opinion"):
        attempts = value(samples, "authorization_attempts_total", result=result)
        under_way = result == "allowed"  # the reading of the metrics itself
        assert value(samples, "authorization_duration_seconds_count", result=result) == attempts + under_way


def test_addresses_and_ports_of_services() -> None:
    """What is given out is counted; what is left follows the store. A dry run counts for nothing."""
    cluster = busy("1.36")
    spec = {"ports": [{"port": 80}], "clusterIP": "10.96.0.77"}
    for name, path in (("a", ""), ("b", ""), ("c", "?dryRun=All")):
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        cluster.perform(Request.of("POST", f"/api/v1/namespaces/default/services{path}", body))
    samples = scraped(cluster)
    cidr, given = {"cidr": "10.96.0.0/16"}, "kube_apiserver_clusterip_allocator_allocation"
    assert value(samples, f"{given}_total", scope="dynamic", **cidr) == 1
    assert value(samples, f"{given}_errors_total", scope="static", **cidr) == 1
    taken = value(samples, "kube_apiserver_clusterip_allocator_allocated_ips", **cidr)
    assert taken == len(cluster.list("services", namespace=None))
    assert value(samples, "kube_apiserver_clusterip_allocator_available_ips", **cidr) == 2**16 - 2 - taken
    assert value(samples, "kube_apiserver_nodeport_allocator_allocation_total", scope="dynamic") == 1
    assert value(samples, "kube_apiserver_nodeport_allocator_allocated_ports") == 1
    assert value(samples, "kube_apiserver_nodeport_allocator_available_ports") == 2767


def test_tokens_of_service_accounts() -> None:
    """One whose term is extended counts as valid each time it is used."""
    cluster = Cluster(options=Options(seed=1))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "default"}}
    cluster.create(account)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
    cluster.create({**pod, "spec": {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]}})
    path = "/api/v1/namespaces/default/serviceaccounts/a/token"
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
    spec = {"expirationSeconds": 3607, "boundObjectRef": bound}
    token = cluster.perform(Request.of("POST", path, {"spec": spec})).object["status"]["token"]
    serve_request(cluster.engine, Request.of("GET", "/version", headers={"authorization": f"Bearer {token}"}))
    assert value(scraped(cluster), "serviceaccount_valid_tokens_total") == 1
