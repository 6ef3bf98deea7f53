"""Bodies that are no JSON, or hold what JSON should not, and what becomes of them."""

from __future__ import annotations

import sys

import pytest

import simkit
from simkit.meta.message import Request

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    """A cluster for all examples."""
    return simkit.Cluster(seed=1)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"metadata":', "unexpected end of JSON input"),
        (b"\xff\xfe", "invalid character 'ÿ' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b'{"data":\x01}', r"invalid character '\x01' looking for beginning of value"),
        (b'{"data":NaN}', "invalid character 'N' looking for beginning of value"),
        (b'{"data":-Infinity}', "invalid character 'I' in numeric literal"),
        (b'{"data":1e400}', "json: cannot unmarshal number 1e400 into Go value of type float64"),
        (b"[" * 20_000, "exceeded max depth"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "exceeded max depth"),
        (b"{} {}", "invalid character '{' after top-level value"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_bodies_that_are_no_json(cluster: simkit.Cluster, method: str, body: bytes, why: str) -> None:
    """A bad request that tells where the text stops making sense, byte by byte."""
    path, media = (MAPS, "application/json") if method == "POST" else (f"{MAPS}/kube-root-ca.crt", MERGE)
    before = cluster.engine.store.revision
    answer = cluster.perform(Request(method, path, headers={"content-type": [media]}, body=body))
    assert (answer.status, answer.object["reason"]) == (400, "BadRequest")
    assert why in answer.object["message"]
    assert cluster.engine.store.revision == before


def test_depth_is_bounded_whatever_python_allows(cluster: simkit.Cluster) -> None:
    """Notebooks and tools raise the limit of recursion: what nests deeply is refused all the same."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        for depth in (300, 1_000, 3_000):
            body = b'{"metadata":{"name":"deep"},"data":' + b'{"a":' * depth + b'"\xff"' + b"}" * depth + b"}"
            answer = cluster.perform(Request("POST", MAPS, headers={"content-type": ["application/json"]}, body=body))
            assert (answer.status, answer.object["reason"]) == (400, "BadRequest")
    finally:
        sys.setrecursionlimit(before)


def test_bytes_that_are_no_text(cluster: simkit.Cluster) -> None:
    """Bytes that are no UTF-8, and halves of surrogate pairs, become replacement characters."""
    body = b'{"metadata":{"name":"odd"},"data":{"bytes":"\xc3\x28","half":"a\\ud800","whole":"\\ud83d\\ude00"}}'
    made = cluster.perform(Request.of("POST", MAPS, body))
    assert made.status == 201
    assert made.object["data"] == {"bytes": "\ufffd(", "half": "a\ufffd", "whole": "\U0001f600"}


def test_owners_are_named_once(cluster: simkit.Cluster) -> None:
    """A repeated owner is dropped with a warning, before admission for creates and updates, after it for patches."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
    other = {**owner, "controller": True}
    body = {"metadata": {"name": "owned", "ownerReferences": [owner, owner, other]}}
    made = cluster.perform(Request.of("POST", MAPS, body))
    assert made.object["metadata"]["ownerReferences"] == [owner, other]
    text = dict(made.headers)["Warning"]
    assert ".metadata.ownerReferences contains duplicate entries; " in text
    assert text.endswith('duplicate UID(s) observed: u-1"')
    patch = {"metadata": {"ownerReferences": [owner, owner]}}
    patched = cluster.perform(Request.of("PATCH", f"{MAPS}/owned", patch, content_type=MERGE))
    assert patched.object["metadata"]["ownerReferences"] == [owner]
    assert "duplicate entries after mutating admission happens; " in dict(patched.headers)["Warning"]


def test_patches_may_leave_out_the_namespace(cluster: simkit.Cluster) -> None:
    """A patched object without namespace is taken for the path's; without name it is not."""
    cluster.perform(Request.of("POST", MAPS, {"metadata": {"name": "bare"}}))
    operations = [{"op": "remove", "path": "/metadata/namespace"}]
    media = "application/json-patch+json"
    patched = cluster.perform(Request.of("PATCH", f"{MAPS}/bare", operations, content_type=media))
    assert patched.object["metadata"]["namespace"] == "default"
    nameless = cluster.perform(Request.of("PATCH", f"{MAPS}/bare", {"metadata": None}, content_type=MERGE))
    assert nameless.status == 400
    assert nameless.object["message"].endswith("(bare based on URL) was undeterminable: name must be provided")


def test_numbers_without_end(cluster: simkit.Cluster) -> None:
    """A number of more digits than can be read is an error of the body, not of the server."""
    body = b'{"data": {"a": ' + b"9" * 5000 + b"}}"
    answer = cluster.perform(Request.of("POST", "/api/v1/namespaces/default/configmaps", body))
    assert answer.status == 400
    assert "json: cannot unmarshal number 999" in answer.object["message"]


def test_order_of_errors_of_an_apply(cluster: simkit.Cluster) -> None:
    """An empty object has no type; conflicts come before repeated keys, and both before the name."""
    media = "application/apply-patch+yaml"

    def applied(name: str, text: str, query: str = "fieldManager=one") -> tuple[int, str]:
        request = Request.of("PATCH", f"{MAPS}/{name}?{query}", text.encode() or b"null", content_type=media)
        answer = cluster.perform(request)
        return answer.status, answer.object.get("message", "")

    head = "apiVersion: v1\nkind: ConfigMap\n"
    assert applied("told", "") == (400, "invalid object type: /, Kind=")
    assert applied("told", "[]")[1].endswith("cannot unmarshal array into Go value of type map[string]interface {}")
    assert applied("told", head)[1].endswith("(told based on URL) was undeterminable: name must be provided")
    named = head + "metadata: {name: told}\n"
    assert applied("told", named + "data: {k: '1'}\n")[0] == 201
    assert applied("told", head + "data: {k: '2'}\n")[0] == 200  # the name of what is there
    twice = named + "data: {k: '3', k: '4'}\n"
    assert applied("told", twice, "fieldManager=two&fieldValidation=Strict")[0] == 409
    assert applied("told", twice, "fieldManager=one&fieldValidation=Strict")[0] == 400
    status, message = applied("new", head + "metadata: {name: new, uid: u-1}\n")
    assert status == 409
    assert message.endswith("uid mismatch: the provided object specified uid u-1, and no existing object was found")


def test_times_are_no_matter_of_clients(cluster: simkit.Cluster) -> None:
    """A time of deletion cannot be set, and that of an object under deletion is kept whatever is sent."""
    body = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    made = cluster.perform(Request.of("POST", MAPS, body)).object
    late = {"deletionTimestamp": "2031-01-02T03:04:05Z"}
    early = cluster.perform(Request.of("PATCH", f"{MAPS}/held", {"metadata": late}, content_type=MERGE))
    assert early.status == 422
    wanted = "metadata.deletionTimestamp: Invalid value: 2031-01-02 03:04:05 +0000 UTC: field is immutable"
    assert wanted in early.object["message"]
    marked = cluster.perform(Request.of("DELETE", f"{MAPS}/held")).object["metadata"]["deletionTimestamp"]
    again = {**made, "metadata": {**made["metadata"], **late, "resourceVersion": ""}}
    kept = cluster.perform(Request.of("PUT", f"{MAPS}/held", again))
    assert kept.object["metadata"]["deletionTimestamp"] == marked


def test_repeated_keys_of_yaml_are_one_error(cluster: simkit.Cluster) -> None:
    """Strict validation tells the YAML reader's errors line by line, then those of fields; a warning tells each."""
    body = b"metadata:\n  name: y\n  name: z\nfoo: 1\ndata: {a: b, a: c}\n"
    media = "application/yaml"
    refused = cluster.perform(Request.of("POST", f"{MAPS}?fieldValidation=Strict", body, content_type=media))
    assert refused.status == 400
    assert refused.object["message"].endswith(
        'strict decoding error: yaml: unmarshal errors:\n  line 3: key "name" already set in map\n'
        '  line 5: key "a" already set in map, unknown field "foo"'
    )
    warned = cluster.perform(Request.of("POST", MAPS, body, content_type=media))
    assert [value for name, value in warned.headers if name == "Warning"] == [
        '299 - "line 3: key \\"name\\" already set in map"',
        '299 - "line 5: key \\"a\\" already set in map"',
        '299 - "unknown field \\"foo\\""',
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "Foo"}, 'no kind "Foo" is registered for version "v1"'),
        ({"apiVersion": "v9"}, 'no kind "ConfigMap" is registered for version "v9"'),
        ({"kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
    ],
)
def test_patches_cannot_make_another_kind(cluster: simkit.Cluster, change: dict[str, str], why: str) -> None:
    """A merge patch that changes what the object is, is refused; a strategic one leaves that as it was."""
    cluster.perform(Request.of("POST", MAPS, {"metadata": {"name": "kind"}}))
    refused = cluster.perform(Request.of("PATCH", f"{MAPS}/kind", change, content_type=MERGE))
    assert refused.status == 422
    assert why in refused.object["message"]
    strategic = "application/strategic-merge-patch+json"
    kept = cluster.perform(Request.of("PATCH", f"{MAPS}/kind", change, content_type=strategic))
    assert (kept.status, kept.object["kind"], kept.object["apiVersion"]) == (200, "ConfigMap", "v1")
