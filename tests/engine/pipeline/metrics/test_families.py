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
from simkit.engine.authn.token_sources import StaticTokens
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


@pytest.mark.slow
def test_events_of_watches_and_objects_of_lists() -> None:
    """Events by resource, or by kind up to 1.33; objects that were read, and those that selectors left."""
    for release, word in (("1.36", {"resource": "configmaps"}), ("1.32", {"kind": "ConfigMap"})):
        cluster = busy(release)
        stream = cluster.perform(Request.of("GET", f"{MAPS}?watch=1&resourceVersion=0")).stream
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}})
        frames = [*stream.poll(), *stream.poll()]
        samples, labels = scraped(cluster), {"group": "", "version": "v1", **word}
        assert value(samples, "apiserver_watch_events_total", **labels) == len(frames)
        assert value(samples, "apiserver_watch_events_sizes_sum", **labels) == sum(map(len, frames))
        stream.close()
    cluster.perform(Request.of("GET", f"{MAPS}?labelSelector=a%3Db"))
    cluster = busy("1.36")
    before = scraped(cluster)
    cluster.perform(Request.of("GET", "/api/v1/namespaces?labelSelector=a%3Db"))
    samples, labels = scraped(cluster), {"group": "", "resource": "namespaces"}
    for family, more in (("total", 1), ("fetched_objects_total", 4), ("returned_objects_total", 0)):
        name = f"apiserver_cache_list_{family}"
        assert value(samples, name, **labels) == value(before, name, **labels) + more


def test_initial_events_of_watches() -> None:
    """The seconds until a watch has sent what was there count once."""
    cluster = busy("1.36")
    options = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    stream = cluster.perform(Request.of("GET", f"{MAPS}?{options}")).stream
    stream.poll()
    labels = {"resource": "configmaps", "scope": "namespace"}
    assert value(scraped(cluster), "apiserver_watch_list_duration_seconds_count", **labels) == 1


def webhook(name: str, **more: Any) -> dict[str, Any]:
    """A webhook for new config maps."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    client = {"url": "https://127.0.0.1:9/"}
    head = {"name": f"{name}.example.com", "clientConfig": client, "rules": [rule], "sideEffects": "None"}
    return {**head, "admissionReviewVersions": ["v1"], **more}


def test_calls_of_webhooks() -> None:
    """By their result: allowed, refused, failed and passed over; and match conditions that kept them away."""
    cluster = Cluster("1.36", seed=1)
    cluster.egress.functions |= {"yes.example.com": lambda _: True, "no.example.com": lambda _: "no"}
    false = [{"name": "c", "expression": "object.metadata.name == 'b'"}]
    broken = [{"name": "c", "expression": "object.data.absent == 'b'"}]
    hooks = [
        webhook("yes"),
        webhook("down", failurePolicy="Ignore", timeoutSeconds=1),
        webhook("kept", matchConditions=false),
        webhook("broken", matchConditions=broken, failurePolicy="Ignore"),
        webhook("no"),
    ]
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    cluster.create({**head, "metadata": {"name": "v"}, "webhooks": hooks})
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}}
    assert cluster.perform(Request.of("POST", MAPS, body)).status == 400
    samples, labels = scraped(cluster), {"operation": "CREATE", "type": "validating"}
    family = "apiserver_admission_webhook"
    for name, code, rejected in (("yes", "200", "false"), ("down", "500", "false"), ("no", "400", "true")):
        told = {**labels, "name": f"{name}.example.com", "rejected": rejected}
        assert value(samples, f"{family}_request_total", code=code, **told) == 1
        assert value(samples, f"{family}_admission_duration_seconds_count", **told) == 1
    assert value(samples, f"{family}_fail_open_count", name="down.example.com", type="validating") == 1
    refused = {**labels, "name": "no.example.com", "error_type": "no_error", "rejection_code": "400"}
    assert value(samples, f"{family}_rejection_count", **refused) == 1
    assert value(samples, "rest_client_requests_total", host="127.0.0.1:9", code="<error>", method="POST") == 1
    conditions = "apiserver_admission_match_condition"
    for name, errors in (("kept", 0), ("broken", 1)):
        told = {"name": f"{name}.example.com", "kind": "webhook", "operation": "CREATE"}
        assert value(samples, f"{conditions}_evaluation_seconds_count", type="validating", **told) == 1
        assert value(samples, f"{conditions}_evaluation_errors_total", type="validating", **told) == errors
        assert value(samples, f"{conditions}_exclusions_total", type="validate", **told) == 1


def test_checks_of_policies() -> None:
    """Those that do not pass, by what follows; one that passes is not counted."""
    cluster = Cluster("1.36", seed=1)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1"}
    for name, expression, policy in (("a", "!has(object.data)", "Fail"), ("b", "object.data.z == 'a'", "Ignore")):
        spec = {
            "failurePolicy": policy,
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression}],
        }
        cluster.create({**head, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec})
        bound = {"policyName": name, "validationActions": ["Warn", "Audit"]}
        cluster.create({**head, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": bound})
    for name, data in (("x", {"data": {"y": "z"}}), ("y", {})):
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **data})
    samples, family = scraped(cluster), "apiserver_validating_admission_policy_check"
    for policy, action, count in (("a", "warn", 1), ("a", "audit", 1), ("b", "allow", 2), ("a", "deny", 0)):
        labels = {"policy": policy, "policy_binding": policy, "error_type": "invalid_error"}
        assert value(samples, f"{family}_total", enforcement_action=action, **labels) == count
        assert value(samples, f"{family}_duration_seconds_count", enforcement_action=action, **labels) == count


def test_evaluations_of_pod_security() -> None:
    """Enforcement counts always, audits and warnings where they find something."""
    cluster = Cluster("1.36", seed=1)
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("warn", "audit")}
    labels["pod-security.kubernetes.io/enforce"] = "baseline"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": labels}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "n"}}
    cluster.apply(account)
    for host in (False, True):
        spec = {"hostNetwork": host, "containers": [{"name": "c", "image": "i"}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p-{host}".lower()}, "spec": spec}
        cluster.perform(Request.of("POST", "/api/v1/namespaces/n/pods", body))
    samples = scraped(cluster)
    for mode, decision, count in (
        ("enforce", "allow", 1),
        ("enforce", "deny", 1),
        ("audit", "deny", 2),
        ("warn", "deny", 1),
    ):
        told = {"mode": mode, "decision": decision, "policy_version": "latest", "resource": "pod"}
        assert value(samples, "pod_security_evaluations_total", request_operation="create", **told) == count


def test_work_queues_of_controllers() -> None:
    """Keys that controllers took, and the seconds of their work."""
    cluster = Cluster("1.36", seed=1)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    cluster.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    cluster.settle()
    samples = scraped(cluster)
    queues = {labels["name"]: count for labels, count in samples["workqueue_adds_total"]}
    assert queues["deployment-controller"] > 0
    for name, adds in queues.items():
        assert value(samples, "workqueue_work_duration_seconds_count", name=name) == adds
        assert value(samples, "workqueue_depth", name=name) == 0
