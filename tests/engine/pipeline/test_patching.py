"""Patches through the whole handler chain: what is told of them, and what is refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

import simkit
from simkit.meta.message import Request, Response

MAPS = "/api/v1/namespaces/default/configmaps"
JSON_PATCH = "application/json-patch+json"
OPERATIONS = (
    b'[{"op":"add","path":"/data/b","value":"1","foo":"x"},{"op":"add","path":"/data/c","path":"/data/c","value":"1"}]'
)
TOLD = ['json patch unknown field "[0].foo"', 'json patch duplicate field "[1].path"']


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster with a config map."""
    made = simkit.Cluster(seed=1)
    made.perform(Request.of("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}))
    return made


def patch(cluster: simkit.Cluster, body: Any, query: str = "", media: str = JSON_PATCH) -> Response:
    """The answer to a patch of the config map."""
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return cluster.perform(Request.of("PATCH", f"{MAPS}/a?{query}", content, headers={"Content-Type": media}))


def warnings(response: Response) -> list[str]:
    """The texts of the warnings of an answer."""
    return [orjson.loads(value.partition(" - ")[2]) for name, value in response.headers if name == "Warning"]


def test_fields_that_operations_do_not_have(cluster: simkit.Cluster) -> None:
    """Unknown and repeated fields of operations are told, or refused, as those of objects."""
    assert warnings(patch(cluster, OPERATIONS)) == TOLD
    assert warnings(patch(cluster, OPERATIONS, "fieldValidation=Ignore")) == []
    refused = patch(cluster, OPERATIONS, "fieldValidation=Strict")
    assert refused.status == 422
    assert refused.object["message"].endswith(f"strict decoding error: {', '.join(TOLD)}")


def test_the_whole_object_is_replaced(cluster: simkit.Cluster) -> None:
    """The empty path is the object itself."""
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"z": "2"}}
    assert patch(cluster, [{"op": "replace", "path": "", "value": whole}]).object["data"] == {"z": "2"}
    nameless = patch(cluster, [{"op": "replace", "path": "", "value": {}}])
    assert (nameless.status, nameless.object["reason"]) == (400, "BadRequest")
    listed = patch(cluster, [{"op": "replace", "path": "", "value": []}])
    assert (listed.status, listed.object["reason"]) == (422, "Invalid")


@pytest.fixture
def widgets(cluster: simkit.Cluster) -> str:
    """The path of a collection of custom objects, one of them there."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    names = {"kind": "Widget", "plural": "widgets"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert cluster.perform(Request.of("POST", definitions, definition)).status == 201
    cluster.settle()
    where = "/apis/example.com/v1/namespaces/default/widgets"
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
    assert cluster.perform(Request.of("POST", where, widget)).status == 201
    return where


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "remove", "path": "/kind"}, ": Object 'Kind' is missing in '"),
        ({"op": "replace", "path": "/kind", "value": 5}, " into Go struct field .kind of type string"),
        ({"op": "replace", "path": "/kind", "value": "Other"}, 'kind: Invalid value: "Other": must be Widget'),
        ({"op": "replace", "path": "/apiVersion", "value": "example.com/v2"}, ": must be example.com/v1"),
        ({"op": "replace", "path": "/metadata", "value": "x"}, "string into Go value of type v1.ObjectMeta"),
    ],
)
def test_custom_objects_stay_what_they_are(
    cluster: simkit.Cluster, widgets: str, operation: dict[str, Any], why: str
) -> None:
    """A patch may not take the kind of a custom object, nor its version or metadata."""
    request = Request.of("PATCH", f"{widgets}/a", [operation], headers={"Content-Type": JSON_PATCH})
    answer = cluster.perform(request)
    assert (answer.status, answer.object["reason"]) == (422, "Invalid")
    assert why in answer.object["message"]


def test_metadata_of_custom_objects_is_an_object(cluster: simkit.Cluster, widgets: str) -> None:
    """Metadata of another type is refused where an object is made."""
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": "x"}
    answer = cluster.perform(Request.of("POST", widgets, widget))
    assert (answer.status, answer.object["reason"]) == (400, "BadRequest")
    assert answer.object["message"].endswith("json: cannot unmarshal string into Go value of type v1.ObjectMeta")


@pytest.mark.parametrize("media", ["application/strategic-merge-patch+json", "application/json", "text/plain"])
@pytest.mark.parametrize("part", ["", "/status"])
def test_patches_that_custom_objects_do_not_take(cluster: simkit.Cluster, widgets: str, media: str, part: str) -> None:
    """Their refusal lists what is taken."""
    answer = cluster.perform(Request.of("PATCH", f"{widgets}/a{part}", {}, headers={"Content-Type": media}))
    assert answer.status == (404 if part else 415)
    assert part or answer.object["message"].endswith(
        ": application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def test_a_body_that_is_no_patch_is_told_before_the_answer_is_negotiated(cluster: simkit.Cluster) -> None:
    """Of a body and an answer in forms that there are not, the body is told."""
    headers = {"Content-Type": "text/plain", "Accept": "text/html"}
    scale = "/apis/apps/v1/namespaces/default/deployments/d/scale"
    for path in (f"{MAPS}/a", scale):
        assert cluster.perform(Request.of("PATCH", path, b"{}", headers=headers)).status == 415
