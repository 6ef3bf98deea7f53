"""Answers that were held against kube-apiserver: patches that cannot be read, media types, paths that are none."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response

JSON, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
MAP = "/api/v1/namespaces/default/configmaps/m"
WIDGET = "/apis/example.com/v1/namespaces/default/widgets/w"
SPEC = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
VERSION = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {"openAPIV3Schema": SPEC},
    "subresources": {"status": {}},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [VERSION],
    },
}  # fmt: skip
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    cluster = simkit.Cluster(seed=1)
    cluster.create(DEFINITION)
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}})
    cluster.create(DEPLOYMENT)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "1"}}
    cluster.perform(Request.of("POST", WIDGET.removesuffix("/w"), widget))
    return cluster


def _patch(cluster: simkit.Cluster, path: str, body: Any, media: str) -> Response:
    return cluster.fork().perform(Request.of("PATCH", path, body, content_type=media))


def _message(answer: Response) -> tuple[int, str]:
    return answer.status, str(answer.object["message"])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"data": "x"}, "cannot restore map from string"),
        ({"data": [1]}, "cannot restore map from slice"),
        ({"data": {"a": 1}}, "cannot convert int64 to string"),
        ({"data": {"a": 1.5}}, "unrecognized type: string"),
        ({"data": {"a": {}}}, "unrecognized type: string"),
        ({"immutable": "x"}, "unrecognized type: bool"),
        ({"metadata": "x"}, "cannot restore struct from: string"),
        ({"metadata": {"finalizers": "x"}}, "cannot restore slice from string"),
        ({"metadata": {"generation": 1.5}}, "cannot convert float64 to int64"),
        ({"metadata": {"creationTimestamp": 1}}, "json: cannot unmarshal number into Go value of type string"),
        ({"binaryData": {"z": "!!"}}, "error decoding from json: illegal base64 data at input byte 0"),
        ({"binaryData": {"z": 1}}, "cannot restore slice from int64"),
    ],
)
def test_a_strategic_merge_is_converted_not_decoded(cluster: simkit.Cluster, body: Any, why: str) -> None:
    """A wrong type after the merge is refused in the words of the converter."""
    status, message = _message(_patch(cluster, MAP, body, STRATEGIC))
    assert (status, message.endswith(f": {why}")) == (422, True), message


def test_a_strategic_merge_takes_whole_numbers_and_lets_them_overflow(cluster: simkit.Cluster) -> None:
    """3.0 is an integer, and 2^32 + 3 in 32 bits is 3; the same as a merge patch is refused."""
    path = "/apis/apps/v1/namespaces/default/deployments/d"
    for number in (3.0, 2**32 + 3):
        assert _patch(cluster, path, {"spec": {"replicas": number}}, STRATEGIC).object["spec"]["replicas"] == 3
    assert _patch(cluster, path, {"spec": {"replicas": 2**32 + 3}}, MERGE).status == 422


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"kind": "X"}, 422, 'X.example.com "w" is invalid: kind: Invalid value: "X": must be Widget'),
        ({"apiVersion": "v2"}, 422, 'Widget "w" is invalid: apiVersion: Invalid value: "v2": must be example.com/v1'),
        ({"apiVersion": None}, 500, "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'"),
        ({"metadata": {"resourceVersion": "0"}}, 422, 'widgets.example.com "w" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update'),
        ({"metadata": {"resourceVersion": None}}, 422, 'widgets.example.com "w" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update'),
    ],
)  # fmt: skip
def test_a_custom_object_stays_what_it_is(cluster: simkit.Cluster, body: Any, status: int, message: str) -> None:
    """A patch may not make another kind or version of it, or take its resourceVersion away."""
    assert _message(_patch(cluster, WIDGET, body, MERGE)) == (status, message)


def test_a_status_patch_may_name_another_kind(cluster: simkit.Cluster) -> None:
    """Only what it says of the status counts."""
    assert _patch(cluster, f"{WIDGET}/status", {"kind": "X", "apiVersion": "v2"}, MERGE).status == 200


def test_a_custom_object_without_kind_does_not_decode(cluster: simkit.Cluster) -> None:
    """The object is shown as it was written, with its keys in order."""
    status, message = _message(_patch(cluster, WIDGET, {"kind": None}, MERGE))
    assert status == 422
    assert r' "" is invalid: patch: Invalid value: "{\"apiVersion\":\"example.com/v1\",\"metadata\":{' in message
    assert ': Object \'Kind\' is missing in \'{"apiVersion":"example.com/v1","metadata":{' in message


def test_an_empty_list_of_owners_is_no_wish_of_a_custom_object(cluster: simkit.Cluster) -> None:
    """Its metadata is written again as a type that leaves the list out."""
    wish: dict[str, Any] = {"metadata": {"managedFields": []}}
    assert _patch(cluster, WIDGET, wish, MERGE).object["metadata"]["managedFields"]
    assert "managedFields" not in _patch(cluster, MAP, wish, MERGE).object["metadata"]
    assert (
        "managedFields" not in _patch(cluster, WIDGET, {"metadata": {"managedFields": [{}]}}, MERGE).object["metadata"]
    )


def test_a_built_in_object_without_version_has_no_name(cluster: simkit.Cluster) -> None:
    """It is read as the server's own form, which has no field called metadata."""
    expected = "the name of the object (m based on URL) was undeterminable: name must be provided"
    assert _message(_patch(cluster, MAP, {"apiVersion": None}, MERGE)) == (400, expected)
    assert _patch(cluster, MAP, {"apiVersion": None}, STRATEGIC).status == 200


@pytest.mark.parametrize(
    ("media", "built_in"),
    [
        ("application/json", "415: Unsupported Media Type"),
        ("Application/Merge-Patch+Json", "415: Unsupported Media Type"),
        ("application/merge-patch+json ; charset=utf-8", "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml"),
    ],
)  # fmt: skip
def test_bodies_that_are_no_patch(cluster: simkit.Cluster, media: str, built_in: str) -> None:
    """The routes of built-in kinds refuse it first; custom objects list what they take."""
    accepted = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    listed = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    assert _message(_patch(cluster, WIDGET, {}, media)) == (415, listed)
    assert _message(_patch(cluster, MAP, {}, media)) == (415, built_in)


@pytest.mark.parametrize(
    ("media", "body", "warned", "ignored"),
    [
        (MERGE, b"1", (400, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"), (400, "Invalid JSON Patch")),
        (MERGE, b"{", (400, "error decoding patch: unexpected end of JSON input"), (400, "Invalid JSON Patch")),
        (JSON, b"{}", (400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"), (400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch")),
        (JSON, b'{"a":1,"a":2}', (400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"), (400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch")),
        (JSON, b"[1]", (400, "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"), (400, "json: cannot unmarshal number into Go value of type jsonpatch.Operation")),
        (JSON, b'[{"op":1}]', (400, "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"), (422, "the server rejected our request due to an error in our request")),
        (STRATEGIC, b"{", (400, "unexpected end of JSON input"), (400, "unexpected end of JSON input")),
        (STRATEGIC, b"---", (400, "invalid character '-' in numeric literal"), (400, "invalid character '-' in numeric literal")),
    ],
)  # fmt: skip
def test_a_patch_is_read_strictly_where_fields_are_validated(
    cluster: simkit.Cluster, media: str, body: bytes, warned: tuple[int, str], ignored: tuple[int, str]
) -> None:
    """Without field validation the libraries that apply the patch speak for themselves."""
    assert _message(_patch(cluster, MAP, body, media)) == warned
    assert _message(_patch(cluster, f"{MAP}?fieldValidation=Ignore", body, media)) == ignored


def test_a_list_as_merge_patch_is_decoded_where_fields_are_not_validated(cluster: simkit.Cluster) -> None:
    """It takes the object's place, and has no kind."""
    status, message = _message(_patch(cluster, f"{MAP}?fieldValidation=Ignore", b"[]", MERGE))
    assert status == 422
    assert (
        'patch: Invalid value: "[]": couldn\'t get version/kind; json parse error: json: cannot unmarshal array'
        in message
    )


@pytest.mark.parametrize("path", [WIDGET, WIDGET.removesuffix("/w")])
def test_custom_objects_are_negotiated_without_routes(cluster: simkit.Cluster, path: str) -> None:
    """Whatever they are asked for in, they list what they have; a wide media type will do."""
    listed = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    refused = cluster.perform(Request.of("GET", path, headers={"accept": "text/html"}))
    assert _message(refused) == (406, f"only the following media types are accepted: {listed}")
    assert cluster.perform(Request.of("GET", path, headers={"accept": "application/*"})).status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_namespaced_reviews_have_no_cluster_wide_path(cluster: simkit.Cluster, method: str) -> None:
    """There is nothing to list across namespaces, so nobody routes it."""
    assert cluster.perform(Request.of(method, "/api/v1/bindings", {})).status == 404
    assert cluster.perform(Request.of(method, "/api/v1/pods", {})).status == (200 if method == "GET" else 405)


@pytest.mark.parametrize(("way", "kind"), [("", "ReplicationController"), ("Background", "Status")])
def test_a_deletion_that_leaves_nothing_behind_is_told_by_a_status(
    cluster: simkit.Cluster, way: str, kind: str
) -> None:
    """Replication controllers leave their pods by default: the object stays until these are let go, and is shown."""
    fork = cluster.fork()
    controllers = "/api/v1/namespaces/default/replicationcontrollers"
    spec = {"selector": {"a": "b"}, "replicas": 0, "template": DEPLOYMENT["spec"]["template"]}
    assert fork.perform(Request.of("POST", controllers, {"metadata": {"name": "r"}, "spec": spec})).status == 201
    options = {"propagationPolicy": way} if way else {}
    answer = fork.perform(Request.of("DELETE", f"{controllers}/r", options))
    assert (answer.status, answer.object["kind"]) == (200, kind)
