"""The price list of what is inside of objects: schemas, scopes, versions, terms, paths and errors about all of a list."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request
from tests.security.attacks import JSON_PATCH, MAPS
from tests.security.prices import LINEAR, growth
from tests.security.test_request_prices import (
    DEFINITIONS,
    PODS,
    QUOTAS,
    SERVICES,
    Make,
    _asked,
    _definition,
    _map,
    _of,
    _operations,
    _sent,
)

REQUESTS_TO_SIGN = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NODES, CSI_NODES = "/api/v1/nodes", "/apis/storage.k8s.io/v1/csinodes"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
_TEXT: dict[str, Any] = {"type": "string"}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A cluster with one map."""
    known = StaticTokens({"root": Identity("root", (MASTERS,))})
    made = Cluster(options=Options(seed=1, clock=SimulatedClock(), audit_policy=None, authenticators=(known,)))
    finalizers = [f"attack.example/f{number}" for number in range(1000)]
    made.perform(Request.of("POST", MAPS, _map(metadata={"name": "target", "finalizers": finalizers})))
    return made


def _schema(spec: dict[str, Any]) -> dict[str, Any]:
    made = _definition(1)
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec
    return made


def _nested(depth: int) -> dict[str, Any]:
    found = _TEXT
    for _ in range(depth):
        found = {"type": "object", "properties": {"a": found}}
    return found


def _branches(count: int) -> dict[str, Any]:
    lengths = [{"properties": {"a": {"minLength": number}}} for number in range(20)]
    return {"type": "object", "properties": {"a": _TEXT}, "allOf": [{"anyOf": lengths}] * count}


def _keyed(count: int) -> dict[str, Any]:
    items: dict[str, Any] = {"type": "object", "required": ["a"], "properties": {"a": _TEXT}}
    keys: dict[str, Any] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] * count}
    return {"type": "object", "properties": {"list": {"type": "array", "items": items, **keys}}}


def _signed(count: int) -> dict[str, Any]:
    spec = {"signerName": "a.b/c", "usages": ["client auth"] * count, "request": "LS0t"}
    return _of("CertificateSigningRequest", "certificates.k8s.io/v1", spec=spec)


def _hook(**parts: Any) -> dict[str, Any]:
    hook: dict[str, Any] = {"name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None"}
    hook |= {"clientConfig": {"url": "https://a.b/"}, "rules": [], **parts}
    return _of("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", webhooks=[hook])


def _quota(resources: int, scopes: list[str]) -> dict[str, Any]:
    hard = {f"hugepages-{number + 1}Mi": "1" for number in range(resources)}
    terms = [{"scopeName": scope, "operator": "Exists"} for scope in scopes]
    return _of("ResourceQuota", "v1", spec={"hard": hard, "scopeSelector": {"matchExpressions": terms}})


def _pod(**spec: Any) -> dict[str, Any]:
    return _of("Pod", "v1", spec={"containers": [{"name": "a", "image": "a"}], **spec})


def _affinity(count: int) -> dict[str, Any]:
    terms: list[dict[str, Any]] = [
        {"topologyKey": "a", "labelSelector": {"matchExpressions": [{"key": f"k{n}", "operator": "Exists"}]}}
        for n in range(count)
    ]
    return _pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def _projected(count: int) -> dict[str, Any]:
    sources: list[dict[str, Any]] = [
        {"configMap": {"name": f"c{n}", "items": [{"key": "a", "path": "p"}]}} for n in range(count)
    ]
    return _pod(volumes=[{"name": "a", "projected": {"sources": sources}}])


def _written(count: int) -> dict[str, Any]:
    written: dict[str, Any] = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    fields = [{**written, "manager": f"m{n}", "fieldsV1": {"f:data": {f"f:{n}": {}}}} for n in range(count)]
    return _map(metadata={"name": "p", "managedFields": fields})


def _failures(count: int) -> dict[str, Any]:
    pod: dict[str, Any] = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}
    rule: dict[str, Any] = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1] * count}}
    return _of("Job", "batch/v1", spec={"podFailurePolicy": {"rules": [rule]}, "template": {"spec": pod}})


REQUESTS: dict[str, tuple[Make, int]] = {
    "schema, depth": (lambda n: _sent("POST", DEFINITIONS, _schema(_nested(n))), 60),
    "schema, values": (
        lambda n: _sent("POST", DEFINITIONS, _schema({"type": "string", "enum": [f"v{k}" for k in range(n)]})),
        600,
    ),
    "schema, branches of branches": (lambda n: _sent("POST", DEFINITIONS, _schema(_branches(n))), 8),
    "schema, a key many times": (lambda n: _sent("POST", DEFINITIONS, _schema(_keyed(n))), 300),
    "usages of a certificate": (lambda n: _sent("POST", REQUESTS_TO_SIGN, _signed(n)), 200),
    "versions of reviews": (
        lambda n: _sent("POST", HOOKS, _hook(admissionReviewVersions=[f"v{k}" for k in range(n)])),
        400,
    ),
    "quota, scopes nobody knows": (lambda n: _sent("POST", QUOTAS, _quota(1, [f"s{k}" for k in range(n)])), 80),
    "quota, scopes of too many resources": (lambda n: _sent("POST", QUOTAS, _quota(200, ["BestEffort"] * n)), 20),
    "ranges of a node": (
        lambda n: _sent("POST", NODES, _of("Node", "v1", spec={"podCIDRs": ["10.0.0.0/24"] * n})),
        100,
    ),
    "addresses of a node": (
        lambda n: _sent("POST", NODES, _of("Node", "v1", status={"addresses": [{"type": "a", "address": "b"}] * n})),
        200,
    ),
    "topology keys of a node": (
        lambda n: _sent(
            "POST",
            CSI_NODES,
            _of(
                "CSINode",
                "storage.k8s.io/v1",
                spec={"drivers": [{"name": "a", "nodeID": "a", "topologyKeys": [f"k{k}" for k in range(n)]}]},
            ),
        ),
        300,
    ),
    "families of a service": (
        lambda n: _sent("POST", SERVICES, _of("Service", "v1", spec={"ports": [{"port": 1}], "ipFamilies": ["a"] * n})),
        200,
    ),
    "exit codes of a job": (lambda n: _sent("POST", JOBS, _failures(n)), 200),
    "pod, terms of affinity": (lambda n: _sent("POST", PODS, _affinity(n)), 40),
    "pod, one path of many sources": (lambda n: _sent("POST", PODS, _projected(n)), 60),
    "managed fields of many managers": (lambda n: _sent("POST", MAPS, _written(n)), 60),
    "JSON patch, moves": (
        lambda n: _sent(
            "PATCH",
            f"{MAPS}/target",
            _operations(
                n, lambda _: {"op": "move", "from": "/metadata/finalizers/0", "path": "/metadata/finalizers/-"}
            ),
            JSON_PATCH,
        ),
        50,
    ),
    "query, one encoded value": (lambda n: _asked(f"{MAPS}?a=" + "%41" * n), 3000),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_twice_the_structure_costs_about_twice_as_much(
    cluster: Cluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the parts of an object refer to each other, and however often an error shows all of them."""
    make, size = REQUESTS[name]
    monkeypatch.setattr("simkit.meta.errors.TOLD", 20_000)  # reached by less input

    def sent(request: Request) -> None:
        assert serve_request(cluster.engine, request).status < 500

    assert growth(sent, make, size) < LINEAR
