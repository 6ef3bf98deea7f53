"""The version 2 document in binary form."""

from __future__ import annotations

import json
from typing import Any

import pytest

import simkit
from simkit.meta.message import Request, Response
from simkit.schema.catalogue import Catalogue
from simkit.schema.openapi import swagger
from simkit.schema.openapi.binary import document_class, encoded

BINARY = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.fixture(scope="module")
def document() -> Any:
    """The document that a client reads from the bytes."""
    found: Any = document_class()()
    found.ParseFromString(encoded(swagger(Catalogue.for_release("1.30"))))
    return found


def test_every_path_and_definition_is_there(document: Any) -> None:
    """The binary form lists what the JSON lists, in its order."""
    plain = json.loads(swagger(Catalogue.for_release("1.30")))
    assert [each.name for each in document.paths.path] == list(plain["paths"])
    assert [each.name for each in document.definitions.additional_properties] == list(plain["definitions"])
    assert (document.swagger, document.info.version) == ("2.0", plain["info"]["version"])


def test_a_definition_has_types_references_and_markers(document: Any) -> None:
    """kubectl checks manifests with types, elements, references, required fields and kinds."""
    definitions = {each.name: each.value for each in document.definitions.additional_properties}
    pod = definitions["io.k8s.api.core.v1.Pod"]
    fields = {each.name: each.value for each in pod.properties.additional_properties}
    assert (list(pod.type.value), fields["spec"]._ref) == (["object"], "#/definitions/io.k8s.api.core.v1.PodSpec")
    marker = {each.name: json.loads(each.value.yaml) for each in pod.vendor_extension}
    assert marker["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Pod", "version": "v1"}]
    spec = definitions["io.k8s.api.core.v1.PodSpec"]
    parts = {each.name: each.value for each in spec.properties.additional_properties}
    assert list(spec.required) == ["containers"]
    assert parts["containers"].items.schema[0]._ref == "#/definitions/io.k8s.api.core.v1.Container"
    assert list(parts["nodeSelector"].additional_properties.schema.type.value) == ["string"]


def test_an_operation_has_parameters_and_answers(document: Any) -> None:
    """Bodies, query parameters and parameters of the path are told apart."""
    paths = {each.name: each.value for each in document.paths.path}
    item = paths["/api/v1/namespaces/{namespace}/pods/{name}"]
    assert item.get.operation_id == "readCoreV1NamespacedPod"
    shared = [each.parameter.non_body_parameter for each in item.parameters]
    in_path = [each.path_parameter_sub_schema for each in shared[:2]]
    assert [(each.name, each.required) for each in in_path] == [("name", True), ("namespace", True)]
    assert [each.query_parameter_sub_schema.name for each in shared[2:]] == ["pretty"]
    assert (list(item.get.consumes), list(item.get.schemes)) == (["*/*"], ["https"])
    body = item.put.parameters[0].parameter.body_parameter
    assert (body.name, body.schema._ref) == ("body", "#/definitions/io.k8s.api.core.v1.Pod")
    query = [each.parameter.non_body_parameter.query_parameter_sub_schema.name for each in item.put.parameters[1:]]
    assert "fieldValidation" in query
    assert [each.name for each in item.put.responses.response_code] == ["200", "201", "401"]


@pytest.mark.parametrize(
    ("accept", "binary"),
    [
        (BINARY, True),
        ("application/com.github.proto-openapi.spec.v2.v1.0+protobuf", True),
        (f"application/json, {BINARY}", False),
        (f"{BINARY}, application/json", True),
        ("application/json", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_clients_choose_the_form(accept: str, binary: bool) -> None:
    """The first form that is known counts; JSON where none is asked for."""
    answer: Response = simkit.Cluster(seed=1).perform(Request.of("GET", "/openapi/v2", headers={"accept": accept}))
    assert answer.status == 200
    assert answer.content_type.endswith("+protobuf") is binary
