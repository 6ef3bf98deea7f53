"""The OpenAPI documents are whole: references resolve, names are unique, every resource is described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

import simkit
from simkit.meta.message import Request
from simkit.schema import openapi
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.structural import Schema

CATALOGUE = Catalogue.for_release("1.30")
KIND = "x-kubernetes-group-version-kind"


def widgets(**spec: Any) -> Catalogue:
    """The default catalogue with one custom resource more, whose spec has these fields."""
    widget = Resource("example.com", "v1", "widgets", "Widget", "widget", custom=True, storage_version="v1")
    row = {"type": "object", "fields": {"spec": {"type": "object", "fields": spec}}}
    schema = Schema(row, CATALOGUE.definition)
    return CATALOGUE.with_resources([widget], lambda gvk: schema)


def document(catalogue: Catalogue, name: str) -> Any:
    found = openapi.document(catalogue, name)
    assert found is not None
    return orjson.loads(found)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def operations(paths: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in paths.values():
        yield from (operation for method, operation in item.items() if method != "parameters")


@pytest.mark.parametrize("name", sorted(openapi.index(CATALOGUE)["paths"]))
def test_every_document_of_the_index_is_whole(name: str) -> None:
    """A document parses, its references lead to its own definitions, and operations have names of their own."""
    found = document(CATALOGUE, name)
    assert found["openapi"] == "3.0.0"
    assert set(references(found)) <= set(found["components"]["schemas"])
    names = [operation["operationId"] for operation in operations(found["paths"])]
    assert len(names) == len(set(names))


def test_the_version_two_document_is_whole() -> None:
    """One document holds all resources, and nothing in it leads nowhere."""
    found = orjson.loads(openapi.swagger(CATALOGUE))
    assert found["swagger"] == "2.0"
    assert set(references(found)) == set(found["definitions"]) & set(references(found))
    names = [operation["operationId"] for operation in operations(found["paths"])]
    assert len(names) == len(set(names))
    assert "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale" in found["paths"]
    described = {tuple(kind.values()) for each in found["definitions"].values() for kind in each.get(KIND, ())}
    for resource in CATALOGUE.resources():
        assert (resource.group, resource.kind, resource.version) in described


def test_definitions_carry_what_patches_need() -> None:
    """List types, their keys and patch markers stand at the fields; overridden references are in allOf."""
    schemas = document(CATALOGUE, "apis/apps/v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-type"] == "map"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["items"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}]
    quantity = schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity == {"oneOf": [{"type": "string"}, {"type": "number"}]}
    assert schemas["io.k8s.apimachinery.pkg.apis.meta.v1.Time"] == {"type": "string", "format": "date-time"}
    assert {"group": "apps", "kind": "DeleteOptions", "version": "v1"} in schemas[
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    ][KIND]


def test_patches_say_that_they_take_field_validation() -> None:
    """Clients look there to learn whether the server checks fields itself."""
    patch = document(CATALOGUE, "api/v1")["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert "application/apply-patch+yaml" in patch["requestBody"]["content"]
    assert patch[KIND] == {"group": "", "kind": "ConfigMap", "version": "v1"}
    assert patch["operationId"] == "patchCoreV1NamespacedConfigMap"


def test_custom_kinds_are_described_by_their_own_schema() -> None:
    """A custom kind has a document with its fields, checks and markers, and a link that changes with them."""
    size = {"type": "integer", "checks": {"minimum": 1}, "nullable": True}
    catalogue = widgets(size=size, free={"type": "object", "preserveUnknown": True})
    found = document(catalogue, "apis/example.com/v1")
    assert found["info"]["title"] == "Kubernetes CRD Swagger"
    widget = found["components"]["schemas"]["com.example.v1.Widget"]
    assert widget["properties"]["spec"]["properties"] == {
        "size": {"type": "integer", "minimum": 1, "nullable": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    assert widget[KIND] == [{"group": "example.com", "kind": "Widget", "version": "v1"}]
    assert set(references(found)) <= set(found["components"]["schemas"])
    other = widgets(size={"type": "string"})
    name = "apis/example.com/v1"
    assert openapi.index(catalogue)["paths"][name] != openapi.index(other)["paths"][name]
    assert openapi.index(catalogue)["paths"]["api/v1"] == openapi.index(CATALOGUE)["paths"]["api/v1"]
    assert "com.example.v1.Widget" in orjson.loads(openapi.swagger(catalogue))["definitions"]


def test_custom_kinds_take_no_strategic_merge() -> None:
    """Clients look at the media types of patches to choose one; and custom kinds have no binary form."""
    found = document(widgets(size={"type": "integer"}), "apis/example.com/v1")
    item = found["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]
    assert list(item["patch"]["requestBody"]["content"]) == [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    ]
    documents = ["application/json", "application/yaml"]
    assert list(item["put"]["requestBody"]["content"]) == documents
    assert list(item["get"]["responses"]["200"]["content"]) == documents


def test_version_two_leaves_out_what_kubectl_takes_for_all_there_is() -> None:
    """kubectl checks lists by version 2: beside fields that it names there it takes no others, and no null of a type."""
    text = {"type": "string"}
    size = {"type": "object", "fields": {"x": text, "n": {**text, "nullable": True}}, "required": ["x", "n"]}
    catalogue = widgets(
        size={**size, "checks": {"maxProperties": 3, "oneOf": [{"required": ["x"]}]}},
        free={**size, "preserveUnknown": True},
        null={**size, "nullable": True},
        inner={"type": "object", "embedded": True, "fields": {"kind": text}},
        list={"type": "array", "items": text, "preserveUnknown": True},
        map={"type": "object", "values": {**text, "nullable": True}, "required": ["x"]},
    )
    found = orjson.loads(openapi.swagger(catalogue))["definitions"]["com.example.v1.Widget"]["properties"]["spec"]
    free = {"x-kubernetes-preserve-unknown-fields": True}
    assert found["properties"] == {
        "size": {"type": "object", "maxProperties": 3, "required": ["x"], "properties": {"x": text, "n": {}}},
        "free": {"type": "object", "required": ["x", "n"], **free},
        "null": {"required": ["x", "n"]},
        "inner": {
            "type": "object",
            "required": ["kind", "apiVersion"],
            "properties": {"kind": text},
            "x-kubernetes-embedded-resource": True,
        },
        "list": free,
        "map": {"type": "object", "additionalProperties": {}},
    }


def test_version_two_says_nothing_of_kinds_with_unknown_fields() -> None:
    """A kind that keeps unknown fields has no fields there at all."""
    widget = Resource("example.com", "v1", "widgets", "Widget", "widget", custom=True, storage_version="v1")
    loose = Schema({"type": "object", "preserveUnknown": True, "fields": {"a": {}}}, CATALOGUE.definition)
    catalogue = CATALOGUE.with_resources([widget], lambda gvk: loose)
    marked = {KIND: [{"group": "example.com", "kind": "Widget", "version": "v1"}]}
    assert orjson.loads(openapi.swagger(catalogue))["definitions"]["com.example.v1.Widget"] == {
        "type": "object",
        **marked,
    }
    found = document(catalogue, "apis/example.com/v1")["components"]["schemas"]["com.example.v1.Widget"]
    assert set(found["properties"]) == {"a", "apiVersion", "kind", "metadata"}


def test_documents_outside_the_index_are_not_found() -> None:
    """Unknown groups and versions have none."""
    assert openapi.document(CATALOGUE, "apis/no.such.group/v1") is None
    assert openapi.document(CATALOGUE, "apis/apps/v9") is None


def properties(release: str, group: str, name: str) -> Any:
    """The properties of a definition, as a server of a release publishes them."""
    return document(Catalogue.for_release(release), group)["components"]["schemas"][name]["properties"]


@pytest.mark.parametrize(
    ("release", "field", "marker", "value"),
    [
        ("1.30", "iscsiInterface", "default", None),
        ("1.31", "iscsiInterface", "default", "default"),
        ("1.36", "iscsiInterface", "default", "default"),
        ("1.29", "portals", "x-kubernetes-list-type", None),
        ("1.30", "portals", "x-kubernetes-list-type", "atomic"),
    ],
)
def test_definitions_have_the_markers_of_their_release(release: str, field: str, marker: str, value: Any) -> None:
    """Defaults and list types that came with a release are published from then on."""
    assert properties(release, "api/v1", "io.k8s.api.core.v1.ISCSIVolumeSource")[field].get(marker) == value


@pytest.mark.parametrize(("release", "told"), [("1.35", True), ("1.36", False)])
def test_defaults_of_elements_are_published_up_to_1_35(release: str, told: bool) -> None:
    """Elements of lists and values of maps had defaults, as fields have."""
    fields = properties(release, "api/v1", "io.k8s.api.core.v1.ConfigMap")
    assert ("default" in fields["data"]["additionalProperties"]) is told


def test_documents_of_1_36_name_the_options_of_the_core_and_of_their_own_group() -> None:
    """Groups of reviews, which store nothing, have no options at all."""
    catalogue = Catalogue.for_release("1.36")
    options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    apps = orjson.loads(openapi.document(catalogue, "apis/apps/v1") or b"")["components"]["schemas"]
    named = [(kind["group"], kind["version"]) for kind in apps[options]["x-kubernetes-group-version-kind"]]
    assert named == [("", "v1"), ("apps", "v1")]
    reviews = orjson.loads(openapi.document(catalogue, "apis/authorization.k8s.io/v1") or b"")["components"]["schemas"]
    assert options not in reviews


def test_documents_of_custom_resources_have_no_watch_events() -> None:
    """They have no paths for watches; their options are named for all groups."""
    cluster = simkit.Cluster("1.36", seed=1)
    names = {"plural": "foos", "kind": "Foo", "singular": "foo", "listKind": "FooList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    cluster.create({**head, "metadata": {"name": "foos.example.com"}, "spec": spec})
    cluster.settle()
    schemas = cluster.perform(Request.of("GET", "/openapi/v3/apis/example.com/v1")).object["components"]["schemas"]
    options = schemas["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]["x-kubernetes-group-version-kind"]
    assert len(options) > 2
    assert not [name for name in schemas if name.endswith(".WatchEvent")]
