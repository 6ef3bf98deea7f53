"""Bodies that are no JSON, or hold what JSON should not, and what becomes of them."""

from __future__ import annotations

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
        (b'{"data":\x01}', r"invalid character '\u0001' looking for beginning of value"),
        (b'{"data":NaN}', "invalid character 'N' looking for beginning of value"),
        (b'{"data":-Infinity}', "invalid character 'I' in numeric literal"),
        (b'{"data":1e400}', "json: cannot unmarshal number 1e400 into Go value of type float64"),
        (b"[" * 20_000, "exceeded max depth"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "exceeded max depth"),
        (b"{} {}", "invalid character '{' after top-level value"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_what_is_no_json(cluster: simkit.Cluster, method: str, body: bytes, why: str) -> None:
    """A bad request that tells where the text stops making sense, byte by byte."""
    path, media = (MAPS, "application/json") if method == "POST" else (f"{MAPS}/kube-root-ca.crt", MERGE)
    before = cluster.engine.store.revision
    answer = cluster.perform(Request(method, path, headers={"content-type": [media]}, body=body))
    assert (answer.status, answer.object["reason"]) == (400, "BadRequest")
    assert why in answer.object["message"]
    assert cluster.engine.store.revision == before


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
    """A number of more digits than can be read is a fault of the body, not of the server."""
    body = b'{"data": {"a": ' + b"9" * 5000 + b"}}"
    answer = cluster.perform(Request.of("POST", "/api/v1/namespaces/default/configmaps", body))
    assert answer.status == 400
    assert "json: cannot unmarshal number 999" in answer.object["message"]
