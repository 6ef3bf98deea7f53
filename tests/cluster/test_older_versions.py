"""Writes in removed versions, accepted by servers of older releases as their clients sent them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import StatusError
from simkit.meta.message import Request
from simkit.meta.objects import Draft, Object


@pytest.fixture(scope="module")
def server() -> Cluster:
    return Cluster("1.21", seed=1)


@pytest.fixture
def cluster(server: Cluster) -> Cluster:
    return server.fork()


def answer(cluster: Cluster, path: str, *, table: bool = False) -> Any:
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1" if table else "application/json"
    return cluster.perform(Request.of("GET", path, headers={"accept": accept})).object


def definition(of: str, **spec: Any) -> Draft:
    names = {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"}
    spec = {"group": "stable.example.com", "scope": "Namespaced", "names": names, **spec}
    head = {"apiVersion": f"apiextensions.k8s.io/{of}", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": "crontabs.stable.example.com"}, "spec": spec}


UNTYPED = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"cron": {"pattern": "^x"}}}}}}
"""A schema without structure, as definitions had before v1."""


def test_definitions_need_no_schema_in_beta(cluster: Cluster) -> None:
    """And their objects keep what no schema knows, at any depth."""
    cluster.create(definition("v1beta1", version="v1"))
    made = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "default"}}
    cluster.create({**made, "spec": {"deep": {"unknown": [{"x": 1}]}}})
    assert cluster.get("crontab", "a", "default")["spec"] == {"deep": {"unknown": [{"x": 1}]}}


def test_a_schema_without_structure_still_checks(cluster: Cluster) -> None:
    """It is taken in beta; what it demands is demanded, what it does not know is kept."""
    cluster.create(definition("v1beta1", version="v1", validation=UNTYPED))
    made = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "a", "namespace": "default"}}
    cluster.create({**made, "spec": {"cron": "xyz", "other": {"deep": 1}}})
    assert cluster.get("crontab", "a", "default")["spec"] == {"cron": "xyz", "other": {"deep": 1}}
    with pytest.raises(StatusError, match=r"spec.cron in body should match"):
        cluster.create({**made, "metadata": {"name": "b", "namespace": "default"}, "spec": {"cron": "a"}})


def test_definitions_give_no_defaults_in_beta(cluster: Cluster) -> None:
    """Nor do those that keep unknown fields; the stable version wants a structure on the same server."""
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}
    with pytest.raises(StatusError, match=r"properties\[a\].default: Forbidden: must not be set"):
        cluster.create(definition("v1beta1", version="v1", preserveUnknownFields=False, validation=schema))
    versions = [{"name": "v1", "served": True, "storage": True, "schema": UNTYPED}]
    with pytest.raises(StatusError, match="must not be empty"):
        cluster.create(definition("v1", versions=versions))


def webhooks(version: str, effects: str) -> Object:
    hook = {"name": "a.example.com", "clientConfig": {"url": "https://example.com"}, "sideEffects": effects}
    head = {"apiVersion": f"admissionregistration.k8s.io/{version}", "kind": "ValidatingWebhookConfiguration"}
    return {**head, "metadata": {"name": "w"}, "webhooks": [{**hook, "admissionReviewVersions": ["v1"]}]}


def test_webhooks_with_side_effects(cluster: Cluster) -> None:
    """Beta took them; v1 does not, but lets those be that are there."""
    with pytest.raises(StatusError, match="sideEffects"):
        cluster.create(webhooks("v1", "Unknown"))
    cluster.create(webhooks("v1beta1", "Unknown"))
    stored = answer(cluster, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w")
    assert stored["webhooks"][0]["sideEffects"] == "Unknown"
    assert cluster.apply(webhooks("v1", "Some"))


def test_signing_requests_without_a_signer(cluster: Cluster) -> None:
    """Beta took any usage, and gave requests of nobody in particular a signer that v1 refuses."""
    key = ec.generate_private_key(ec.SECP256R1())
    nobody = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    request = base64.b64encode(nobody.public_bytes(Encoding.PEM)).decode()
    head = {"kind": "CertificateSigningRequest", "metadata": {"name": "r"}}
    spec = {"request": request, "usages": ["any", "any", "odd"]}
    made = cluster.create({"apiVersion": "certificates.k8s.io/v1beta1", **head, "spec": spec})
    assert made["spec"]["signerName"] == "kubernetes.io/legacy-unknown"
    named = {**spec, "usages": ["any"], "signerName": "kubernetes.io/legacy-unknown"}
    with pytest.raises(StatusError, match="not allowed via this API version"):
        cluster.create({"apiVersion": "certificates.k8s.io/v1", **head, "metadata": {"name": "s"}, "spec": named})


def test_the_topology_of_endpoints_is_written_in_beta(cluster: Cluster) -> None:
    """The stable version shows it, and drops what is written through it."""
    head = {"kind": "EndpointSlice", "addressType": "IPv4"}
    endpoint = {"addresses": ["10.0.0.1"], "topology": {"example.com/rack": "r1", "topology.kubernetes.io/zone": "z"}}
    beta = {"apiVersion": "discovery.k8s.io/v1beta1", **head, "metadata": {"name": "b", "namespace": "default"}}
    cluster.create({**beta, "endpoints": [endpoint]})
    base = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    shown = answer(cluster, f"{base}/b")["endpoints"][0]
    assert (shown["deprecatedTopology"], shown["zone"]) == ({"example.com/rack": "r1"}, "z")
    stable = {"apiVersion": "discovery.k8s.io/v1", **head, "metadata": {"name": "s", "namespace": "default"}}
    cluster.create({**stable, "endpoints": [{"addresses": ["10.0.0.1"], "deprecatedTopology": {"a": "b"}}]})
    assert "deprecatedTopology" not in answer(cluster, f"{base}/s")["endpoints"][0]


def test_events_of_the_beta_version_need_no_time(cluster: Cluster) -> None:
    """An event that the core group accepts is enough for the beta version."""
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    event = {"kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "regarding": about, "note": "n"}
    with pytest.raises(StatusError, match="eventTime: Required value"):
        cluster.create({"apiVersion": "events.k8s.io/v1", **event})
    cluster.create({"apiVersion": "events.k8s.io/v1beta1", **event})
    assert answer(cluster, "/api/v1/namespaces/default/events/e")["message"] == "n"


def test_kinds_of_groups_that_are_gone_have_rules() -> None:
    """Those of the group that keeps their objects: defaults and checks."""
    options = Options(release="1.17", seed=1, runtime_config={"extensions/v1beta1/deployments": True})
    cluster = Cluster(options=options)
    head = {"apiVersion": "extensions/v1beta1", "metadata": {"name": "a", "namespace": "default"}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    cluster.create({**head, "kind": "Deployment", "spec": {"template": template}})
    shown = answer(cluster, "/apis/apps/v1/namespaces/default/deployments/a")["spec"]
    assert (shown["replicas"], shown["revisionHistoryLimit"]) == (1, 2**31 - 1)
    assert shown["template"]["spec"]["restartPolicy"] == "Always"
    with pytest.raises(StatusError, match="either `defaultBackend` or `rules` must be specified"):
        cluster.create({**head, "kind": "Ingress", "spec": {}})


def test_tables_are_the_same_in_all_versions() -> None:
    """Their cells tell of what is stored, whatever a version calls it."""
    cluster = Cluster("1.25", seed=1)
    limited = {"assuredConcurrencyShares": 7, "limitResponse": {"type": "Reject"}}
    head = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1beta2", "kind": "PriorityLevelConfiguration"}
    cluster.create({**head, "metadata": {"name": "level"}, "spec": {"type": "Limited", "limited": limited}})
    path = "/apis/flowcontrol.apiserver.k8s.io/v1beta2/prioritylevelconfigurations/level"
    assert answer(cluster, path)["spec"]["limited"]["assuredConcurrencyShares"] == 7
    assert answer(cluster, path, table=True)["rows"][0]["cells"][:3] == ["level", "Limited", 7]


def test_metrics_of_the_first_autoscalers_keep_their_order() -> None:
    """Metrics of the annotation come before the share of the processor, as on kube-apiserver."""
    cluster = Cluster(seed=1)
    notes = {
        "autoscaling.alpha.kubernetes.io/metrics": '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]'
    }
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": reference, "maxReplicas": 2, "targetCPUUtilizationPercentage": 50}
    metadata = {"name": "h", "namespace": "default", "annotations": notes}
    head = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}
    cluster.create({**head, "metadata": metadata, "spec": spec})
    shown = answer(cluster, "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h")
    assert [each["type"] for each in shown["spec"]["metrics"]] == ["Pods", "Resource"]
    assert "annotations" not in shown["metadata"]


def left_finalizers(cluster: Cluster, path: str) -> Any:
    """The finalizers of an object after a delete without a propagation policy."""
    found = cluster.perform(Request.of("DELETE", path)).object
    return found.get("metadata", {}).get("finalizers")


@pytest.mark.parametrize(("version", "kept"), [("v1", None), ("v1beta1", ["orphan"])])
def test_the_beta_version_of_cron_jobs_leaves_jobs(cluster: Cluster, version: str, kept: Any) -> None:
    """A delete without a propagation policy orphans the jobs."""
    template = {"spec": {"containers": [{"name": "a", "image": "b"}], "restartPolicy": "Never"}}
    spec = {"schedule": "1 * * * *", "jobTemplate": {"spec": {"template": template}}}
    head = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "default"}}
    cluster.create({**head, "spec": spec})
    assert left_finalizers(cluster, f"/apis/batch/{version}/namespaces/default/cronjobs/c") == kept


def _workload(version: str, kind: str, label: str) -> Draft:
    template = {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    spec = {"selector": {"matchLabels": {"app": label}}, "template": template}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "w", "namespace": "default"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("version", "plural", "kind", "changes"),
    [
        ("extensions/v1beta1", "deployments", "Deployment", True),
        ("apps/v1beta1", "deployments", "Deployment", True),
        ("apps/v1beta2", "deployments", "Deployment", False),
        ("apps/v1", "deployments", "Deployment", False),
        ("extensions/v1beta1", "daemonsets", "DaemonSet", True),
        ("apps/v1beta2", "daemonsets", "DaemonSet", False),
        ("extensions/v1beta1", "replicasets", "ReplicaSet", True),
        ("apps/v1beta2", "replicasets", "ReplicaSet", False),
    ],
)
def test_the_first_versions_of_workloads(version: str, plural: str, kind: str, changes: bool) -> None:
    """Their selectors could change, and what they made stayed when they went."""
    switches = {"extensions/v1beta1/" + plural: True, "apps/v1beta1": True, "apps/v1beta2": True}
    cluster = Cluster(options=Options(release="1.16", seed=1, runtime_config=switches))
    cluster.create(_workload(version, kind, "one"))
    path = f"/apis/{version}/namespaces/default/{plural}/w"
    answered = cluster.perform(Request.of("PUT", path, _workload(version, kind, "two")))
    assert answered.status == (200 if changes else 422)
    assert left_finalizers(cluster, path) == (None if version == "apps/v1" else ["orphan"])


@pytest.mark.parametrize(
    ("release", "path", "instead"),
    [
        ("1.22", "autoscaling/v2beta1/horizontalpodautoscalers", "autoscaling/v2beta2 HorizontalPodAutoscaler"),
        ("1.23", "autoscaling/v2beta1/horizontalpodautoscalers", "autoscaling/v2 HorizontalPodAutoscaler"),
        ("1.25", "flowcontrol.apiserver.k8s.io/v1beta1/flowschemas", "flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema"),
        ("1.26", "flowcontrol.apiserver.k8s.io/v1beta2/flowschemas", "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema"),
    ],
)
def test_a_warning_names_a_version_of_its_time(release: str, path: str, instead: str) -> None:
    """The recommended replacement is one that the release knew."""
    answer = Cluster(release, seed=1).perform(Request.of("GET", f"/apis/{path}"))
    warned = [value for name, value in answer.headers if name == "Warning"]
    assert len(warned) == 1
    assert warned[0].endswith(f'; use {instead}"')
