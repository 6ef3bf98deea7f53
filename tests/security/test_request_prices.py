"""The price list of whole requests: twice what a client sends costs about twice as much, whatever reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.clock import SimulatedClock
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request
from tests.security.attacks import APPLY, JSON_PATCH, MAPS, MERGE, STRATEGIC, THINGS, YAML, preparation
from tests.security.prices import LINEAR, growth

pytestmark = pytest.mark.slow

PODS = "/api/v1/namespaces/default/pods"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CRON = "/apis/batch/v1/namespaces/default/cronjobs"
ENDPOINTS, SERVICES, QUOTAS = (
    f"/api/v1/namespaces/default/{name}" for name in ("endpoints", "services", "resourcequotas")
)
Make = Callable[[int], Request]


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A cluster with what the requests are about."""
    known = StaticTokens({"root": Identity("root", (MASTERS,)), "ann": Identity("ann")})
    made = Cluster(options=Options(seed=1, clock=SimulatedClock(), audit_policy=None, authenticators=(known,)))
    for path, obj in preparation():
        assert made.perform(Request.of("POST", path, obj)).status == 201
    version = "rbac.authorization.k8s.io/v1"
    group = version.partition("/")[0]
    makes = [{"apiGroups": [group], "resources": ["clusterroles"], "verbs": ["create"]}]
    made.apply([{"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": "maker"}, "rules": makes}])
    bound = {
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "maker"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "ann"}],
    }
    made.apply([{"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": "maker"}, **bound}])
    return made


def _sent(method: str, path: str, body: Any, media: str = "application/json", **headers: str) -> Request:
    encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
    separator = "&" if "?" in path else "?"
    sent = {"authorization": "Bearer root", **headers}
    return Request.of(method, f"{path}{separator}dryRun=All", encoded, content_type=media, headers=sent)


def _asked(path: str, **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request.of("GET", path, headers={"authorization": "Bearer root", **named})


def _impersonating(**headers: list[str]) -> Request:
    sent = {"authorization": ("Bearer root",), "impersonate-user": ("a",)}
    return replace(_asked(MAPS), headers={**sent, **{name: tuple(values) for name, values in headers.items()}})


def _map(**parts: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"}, **parts}


def _keys(count: int) -> dict[str, str]:
    return {f"key-{number}": "v" for number in range(count)}


def _pod(count: int) -> dict[str, Any]:
    containers = [{"name": f"c{number}", "image": "a", "env": [{"name": "A", "value": "b"}]} for number in range(count)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}


def _merges(count: int) -> bytes:
    base = ", ".join(f"k{number}: v" for number in range(count))
    return f"base: &b {{{base}}}\ndata:\n".encode() + b"".join(b"  d%d: {<<: *b}\n" % n for n in range(count))


def _aliases(count: int) -> bytes:
    return b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p}\ndata: &d {a: b}\nx:\n" + b"- *d\n" * count


def _policy(expression: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}]}
    meta = {"name": "p"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": meta,
        "spec": spec,
    }


def _definition(fields: int, columns: int = 0, rules: int = 0) -> dict[str, Any]:
    texts = {f"f{number}": {"type": "string", "maxLength": 9} for number in range(max(fields, 1))}
    checks = [{"rule": f"self.f0 != '{number}'"} for number in range(rules)]
    spec = {"type": "object", "properties": texts, **({"x-kubernetes-validations": checks} if checks else {})}
    shown = [{"name": f"C{number}", "type": "string", "jsonPath": f".spec.f{number}"} for number in range(columns)]
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "additionalPrinterColumns": shown,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ps.price.example"},
        "spec": {
            "group": "price.example",
            "scope": "Namespaced",
            "names": {"plural": "ps", "kind": "P"},
            "versions": [version],
        },
    }


def _review(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}


def _thing(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "attack.example/v1", "kind": "Thing", "metadata": {"name": "p"}, "spec": spec}


def _of(kind: str, version: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "p"}, **parts}


def _managed(count: int) -> dict[str, Any]:
    """A config map whose body names so many managers, each of a field of its own."""
    record = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    records = [
        {**record, "manager": f"m{number}", "fieldsV1": {"f:data": {f"f:k{number}": {}}}} for number in range(count)
    ]
    return _map(metadata={"generateName": "m-", "managedFields": records})


def _owned(count: int, **more: Any) -> dict[str, Any]:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": f"a{k}", "uid": f"u{k}", **more} for k in range(count)]
    return _map(metadata={"name": "p", "ownerReferences": owners})


def _role(words: list[str]) -> dict[str, Any]:
    rules = [{"apiGroups": words, "resources": words, "verbs": words}]
    return _of("ClusterRole", "rbac.authorization.k8s.io/v1", rules=rules)


def _spread(constraints: list[dict[str, Any]]) -> dict[str, Any]:
    usual = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    return _of(
        "Pod",
        "v1",
        spec={
            "containers": [{"name": "a", "image": "a"}],
            "topologySpreadConstraints": [{**usual, **each} for each in constraints],
        },
    )


def _endpoints(count: int) -> dict[str, Any]:
    addresses = [{"ip": f"10.0.{k // 250}.{k % 250}"} for k in range(count)]
    ports = [{"name": f"p{k}", "port": k + 1} for k in range(count)]
    return _of("Endpoints", "v1", subsets=[{"addresses": addresses, "ports": ports}])


def _class(expressions: Any, terms: int = 1) -> dict[str, Any]:
    topologies = [{"matchLabelExpressions": expressions} if expressions else {}] * terms
    return _of("StorageClass", "storage.k8s.io/v1", provisioner="a", allowedTopologies=topologies)


def _service(count: int) -> dict[str, Any]:
    ports = [{"name": f"p{k}", "port": k + 1} for k in range(count)]
    return _of("Service", "v1", spec={"type": "NodePort", "selector": {"a": "b"}, "ports": ports})


def _quota(scopes: list[str]) -> dict[str, Any]:
    return _of("ResourceQuota", "v1", spec={"hard": {"pods": "1"}, "scopes": scopes})


def _cron(schedule: str) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}
    return _of("CronJob", "batch/v1", spec={"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": pod}}}})


def _operations(count: int, operation: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    return [operation(number) for number in range(count)]


REQUESTS: dict[str, tuple[Make, int]] = {
    "JSON keys": (lambda n: _sent("POST", MAPS, _map(data=_keys(n))), 400),
    "JSON, repeated keys": (lambda n: _sent("POST", MAPS, b'{"data":{' + b'"a":"b",' * n + b'"a":"b"}}'), 400),
    "JSON, unknown fields": (lambda n: _sent("POST", MAPS, {f"f{number}": 1 for number in range(n)}), 400),
    "JSON, one text": (lambda n: _sent("POST", MAPS, _map(data={"a": "x" * n})), 40_000),
    "YAML, block": (lambda n: _sent("POST", MAPS, b"data:\n" + b"  k: v\n" * n, YAML), 300),
    "YAML, flow": (lambda n: _sent("POST", MAPS, b"data: {" + b"k: v, " * n + b"}", YAML), 300),
    "YAML, flow depth": (lambda n: _sent("POST", MAPS, b"a: " + b"[" * n, YAML), 2000),
    "YAML, merge keys": (lambda n: _sent("POST", MAPS, _merges(n), YAML), 60),
    "YAML, aliases": (lambda n: _sent("POST", MAPS, _aliases(n), YAML), 100),
    "YAML, comments": (lambda n: _sent("POST", MAPS, b"# a\n" * n + b"a: b", YAML), 5000),
    "pod with many containers": (lambda n: _sent("POST", PODS, _pod(n)), 60),
    "apply, keys": (
        lambda n: _sent("PATCH", f"{MAPS}/p?fieldManager=m", _map(data=_keys(n)), APPLY),
        100,
    ),
    "apply, containers": (lambda n: _sent("PATCH", f"{PODS}/p?fieldManager=m", _pod(n), APPLY), 40),
    "merge patch": (lambda n: _sent("PATCH", f"{MAPS}/target", {"data": _keys(n)}, MERGE), 300),
    "strategic patch": (
        lambda n: _sent(
            "PATCH", f"{MAPS}/target", {"metadata": {"finalizers": [f"a.b/f{k}" for k in range(n)]}}, STRATEGIC
        ),
        150,
    ),
    "JSON patch, adds": (
        lambda n: _sent(
            "PATCH",
            f"{MAPS}/target",
            _operations(n, lambda k: {"op": "add", "path": f"/metadata/labels/{k}", "value": "a"}),
            JSON_PATCH,
        ),
        200,
    ),
    "JSON patch, tests": (
        lambda n: _sent(
            "PATCH",
            f"{MAPS}/target",
            _operations(n, lambda k: {"op": "test", "path": "/metadata/name", "value": "target"}),
            JSON_PATCH,
        ),
        300,
    ),
    "custom object, fields": (lambda n: _sent("POST", THINGS, _thing(_keys(n))), 400),
    "custom object, list": (lambda n: _sent("POST", THINGS, _thing({"a": [{"b": 1}] * n})), 400),
    "managers of fields": (lambda n: _sent("POST", MAPS, _managed(n)), 150),
    "owners": (lambda n: _sent("POST", MAPS, _owned(n)), 200),
    "owners that are all controllers": (lambda n: _sent("POST", MAPS, _owned(n, controller=True)), 60),
    "role of many permissions": (
        lambda n: _sent("POST", ROLES, _role([f"g{k}" for k in range(n)]), authorization="Bearer ann"),
        60,
    ),
    "pod, spread by many keys": (
        lambda n: _sent("POST", PODS, _spread([{"topologyKey": f"k{k}"} for k in range(n)])),
        100,
    ),
    "endpoints, ports times addresses": (lambda n: _sent("POST", ENDPOINTS, _endpoints(n)), 40),
    "storage class, values": (
        lambda n: _sent("POST", CLASSES, _class([{"key": "a", "values": [f"v{k}" for k in range(n)]}])),
        400,
    ),
    "storage class, equal terms": (lambda n: _sent("POST", CLASSES, _class({}, terms=n)), 400),
    "service, node ports": (lambda n: _sent("POST", SERVICES, _service(n)), 60),
    "quota, scopes that do not fit together": (
        lambda n: _sent("POST", QUOTAS, _quota(["Terminating", "NotTerminating"] * n)),
        50,
    ),
    "expression, many errors": (
        lambda n: _sent("POST", POLICIES, _policy(" && ".join(f"missing{k}" for k in range(n)))),
        110,
    ),
    "JSON patch, one path": (
        lambda n: _sent("PATCH", f"{MAPS}/target", [{"op": "add", "path": "/a" * n, "value": 1}], JSON_PATCH),
        2000,
    ),
    "cron job, a list": (lambda n: _sent("POST", CRON, _cron(",".join(["*/1"] * n) + " * * * *")), 200),
    "definition, fields": (lambda n: _sent("POST", DEFINITIONS, _definition(n)), 60),
    "definition, columns": (lambda n: _sent("POST", DEFINITIONS, _definition(9, n)), 60),
    "definition, rules": (lambda n: _sent("POST", DEFINITIONS, _definition(1, 0, n)), 30),
    "expression, length": (
        lambda n: _sent("POST", POLICIES, _policy(" && ".join(f"object.metadata.name != '{k}'" for k in range(n)))),
        60,
    ),
    "expression, text": (lambda n: _sent("POST", POLICIES, _policy(f"'{'a' * n}' == 'b'")), 20_000),
    "expression, list": (lambda n: _sent("POST", POLICIES, _policy(f"1 in [{','.join(map(str, range(n)))}]")), 40),
    "expression, not closed": (lambda n: _sent("POST", POLICIES, _policy("(" * n)), 40),
    "label selector": (lambda n: _asked(f"{MAPS}?labelSelector=" + ",".join(f"a{k}" for k in range(n))), 200),
    "label selector, values": (
        lambda n: _asked(f"{MAPS}?labelSelector=a+in+(" + ",".join(f"a{k}" for k in range(n)) + ")"),
        300,
    ),
    "field selector": (
        lambda n: _asked(f"{MAPS}?fieldSelector=" + ",".join(f"metadata.name!={k}" for k in range(n))),
        300,
    ),
    "field selector, escapes": (
        lambda n: _asked(f"{MAPS}?fieldSelector=metadata.name=" + "%5C%5C" * n),
        2000,
    ),
    "query": (lambda n: _asked(f"{MAPS}?" + "a=b&" * n), 200),
    "timeout": (lambda n: _asked("/version?timeout=" + "1s" * n), 2000),
    "path": (lambda n: _asked("/api/v1/namespaces/" + "%41" * n), 3000),
    "accept": (lambda n: _asked(MAPS, accept="a/b;q=0.1," * n), 400),
    "accept, the best last": (lambda n: _asked(MAPS, accept="".join(f"a/b;q={k}," for k in range(n))), 100),
    "content type": (lambda n: _sent("POST", MAPS, b"{}", "a/b;" + "c=d;" * n), 2000),
    "bearer token": (lambda n: _asked(MAPS, authorization="Bearer " + "a." * n), 10_000),
    "JSON web token": (lambda n: _asked(MAPS, authorization="Bearer eyJhbGciOiJSUzI1NiJ9." + "e30" * n + ".c2ln"), 6000),
    "forwarded for": (lambda n: _asked(MAPS, x_forwarded_for="1.1.1.1," * n), 2000),
    "impersonated groups": (lambda n: _impersonating(**{"impersonate-group": [f"g{k}" for k in range(n)]}), 200),
    "impersonated extra, values of one key": (
        lambda n: _impersonating(**{"impersonate-extra-k": [f"v{k}" for k in range(n)]}),
        200,
    ),
    "impersonated extra, letters of a key": (
        lambda n: _impersonating(**{"impersonate-extra-" + "%41" * n: ["v"]}),
        2000,
    ),
    "impersonated user, letters": (lambda n: _asked(MAPS, impersonate_user="a:" * n), 5000),
    "impersonated account, letters": (
        lambda n: _asked(MAPS, impersonate_user="system:serviceaccount:a:" + "b" * n),
        10_000,
    ),
    "impersonated extra": (
        lambda n: _asked(MAPS, impersonate_user="a", **{f"impersonate_extra_k{k}": "v" for k in range(n)}),
        60,
    ),
    "access review, path": (
        lambda n: _sent("POST", REVIEWS, _review({"nonResourceAttributes": {"path": "/a" * n, "verb": "get"}})),
        5000,
    ),
    "access review, name": (
        lambda n: _sent("POST", REVIEWS, _review({"resourceAttributes": {"name": "a" * n, "verb": "get"}})),
        10_000,
    ),
    "token review": (
        lambda n: _sent("POST", TOKENS, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "a." * n}}),
        6000,
    ),
    "protobuf": (
        lambda n: _sent(
            "POST", MAPS, b"k8s\x00" + b"\x12" + _varint(4 * n) + b"\x12\x02\x0a\x00" * n, "application/vnd.kubernetes.protobuf"
        ),
        400,
    ),
}  # fmt: skip


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes((number & 127 | 128,))
        number >>= 7
    return found + bytes((number,))


@pytest.mark.parametrize("name", REQUESTS)
def test_twice_the_request_costs_about_twice_as_much(
    cluster: Cluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the path to the answer, through authentication, authorization, admission and validation."""
    make, size = REQUESTS[name]
    monkeypatch.setattr("simkit.meta.errors.TOLD", 20_000)  # reached by less input
    cluster.engine.metrics.requests.clear()

    def sent(request: Request) -> None:
        assert serve_request(cluster.engine, request).status < 500

    assert growth(sent, make, size) < LINEAR
