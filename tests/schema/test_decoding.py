"""Decoding drops and tells of unknown fields, refuses wrong types, and writes zero values as kube-apiserver does."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema import strict_json
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import DecodeError, decode, normalise
from simkit.schema.structural import Schema
from tests.releases import BASE
from tests.shared import SHARED, needs_shared

CATALOGUE = Catalogue.for_release("1.30", everything=True)


def schema_of(word: str) -> Schema:
    return CATALOGUE.schema(CATALOGUE.lookup(word).gvk)


def fits(obj: dict[str, Any]) -> Schema | None:
    """The schema of an object, None where the release does not know the kind."""
    group, version = GroupVersion.parse(obj.get("apiVersion", ""))
    kind = GroupVersionKind(group, version, obj.get("kind", ""))
    return CATALOGUE.schema(kind) if CATALOGUE.definitions.name_of(kind) else None


@pytest.mark.parametrize(
    ("word", "given_object", "expected"),
    [
        ("rolebinding", {"subjects": []}, {"metadata": {"creationTimestamp": None}, "roleRef": {"apiGroup": "", "kind": "", "name": ""}}),
        ("clusterrole", {"metadata": {"labels": {}}}, {"metadata": {"creationTimestamp": None}, "rules": None}),
        ("role", {"rules": []}, {"metadata": {"creationTimestamp": None}, "rules": []}),
        ("configmap", {"immutable": False, "data": {"a": None}}, {"metadata": {"creationTimestamp": None}, "immutable": False, "data": {"a": ""}}),
        ("configmap", {"data": {}, "immutable": None}, {"metadata": {"creationTimestamp": None}}),
        ("secret", {"data": {"a": "QR==\n"}}, {"metadata": {"creationTimestamp": None}, "data": {"a": "QQ=="}}),
    ],
)  # fmt: skip
def test_zero_values_come_out_as_the_server_writes_them(word: str, given_object: Any, expected: Any) -> None:
    """Values that are empty are left out, kept or null, depending on the field."""
    assert normalise(BASE, given_object, schema_of(word)) == expected


def test_a_container_gets_its_structures() -> None:
    """Structures that are not optional appear, quantities are canonical, pointers to zero stay."""
    pod = {"spec": {"securityContext": {}, "containers": [{"name": "c", "env": [], "tty": False}, None]}}
    spec = normalise(BASE, pod, schema_of("pod"))["spec"]
    assert spec["containers"] == [{"name": "c", "resources": {}}, {"name": "", "resources": {}}]
    assert spec["securityContext"] == {}
    limits = {"cpu": 0.5, "memory": "1024Mi", "x.test/y": "0.0001"}
    container = {"name": "c", "resources": {"limits": limits}, "securityContext": {"runAsUser": 0, "privileged": False}}
    read = normalise(BASE, {"spec": {"containers": [container]}}, schema_of("pod"))["spec"]["containers"][0]
    assert read["resources"] == {"limits": {"cpu": "500m", "memory": "1Gi", "x.test/y": "1m"}}
    assert read["securityContext"] == {"runAsUser": 0, "privileged": False}


def test_moments_are_written_in_utc() -> None:
    """Moments lose their zone and fraction; the zero moment is null."""
    meta = {"creationTimestamp": "2024-05-01T12:00:00.25+02:00", "deletionTimestamp": None}
    assert normalise(BASE, {"metadata": meta}, schema_of("cm"))["metadata"] == {
        "creationTimestamp": "2024-05-01T10:00:00Z"
    }
    lease = {"spec": {"renewTime": "2024-05-01T12:00:00.250000+02:00"}}
    assert normalise(BASE, lease, schema_of("lease"))["spec"] == {"renewTime": "2024-05-01T10:00:00.250000Z"}


DEPLOYMENT_ERRORS = [
    ({"spec": {"replicas": "3"}}, "string into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ({"spec": {"replicas": 1.5}}, "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ({"spec": {"replicas": True}}, "bool into Go struct field DeploymentSpec.spec.replicas of type int32"),
    ({"spec": {"template": []}}, "array into Go struct field DeploymentSpec.spec.template of type v1.PodTemplateSpec"),
    ({"spec": []}, "array into Go struct field Deployment.spec of type v1.DeploymentSpec"),
    (
        {"spec": {"template": {"spec": {"containers": ["x"]}}}},
        "string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container",
    ),
    (
        {"spec": {"template": {"spec": {"containers": {}}}}},
        "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
    ),
    (
        {"spec": {"template": {"spec": {"containers": [{"args": [1]}]}}}},
        "number into Go struct field Container.spec.template.spec.containers.args of type string",
    ),
    (
        {"spec": {"template": {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": False}}}]}}}},
        "bool into Go struct field HTTPGetAction.spec.template.spec.containers.livenessProbe.httpGet.port of type int32",
    ),
    ({"metadata": {"uid": 1}}, "number into Go struct field ObjectMeta.metadata.uid of type types.UID"),
    ({"metadata": {"labels": {"a": 1}}}, "number into Go struct field ObjectMeta.metadata.labels of type string"),
    ({"metadata": {"labels": []}}, "array into Go struct field ObjectMeta.metadata.labels of type map[string]string"),
]


@pytest.mark.parametrize(("value", "expected"), DEPLOYMENT_ERRORS)
def test_wrong_types_are_refused_in_the_servers_words(value: Any, expected: str) -> None:
    """The error names the value's type, the structure, the whole path without indexes, and the wanted type."""
    with pytest.raises(DecodeError) as caught:
        decode(BASE, value, schema_of("deployment"))
    assert str(caught.value) == f"json: cannot unmarshal {expected}"


def test_the_first_wrong_type_counts_but_an_unreadable_text_counts_more() -> None:
    """A moment, quantity or int-or-string that cannot be read ends the pass; other errors wait for the end."""
    value = {"spec": {"replicas": "3", "paused": 1}, "metadata": {"creationTimestamp": "yesterday"}}
    with pytest.raises(DecodeError, match="parsing time"):
        decode(BASE, value, schema_of("deployment"))
    with pytest.raises(DecodeError, match="DeploymentSpec"):
        decode(BASE, {"spec": {"replicas": "3", "paused": 1}}, schema_of("deployment"))


def test_unknown_and_repeated_fields_are_told_in_document_order() -> None:
    """Paths have list indexes and map keys; what is unknown is dropped, of repeated keys the last counts."""
    text = b"""{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"a":"1"},"nope":1,
      "labels":{"a":"2"},"ownerReferences":[{"kind":"x"},{"odd":1}]},"data":{"k":"1","k":"2"},"extra":{"deep":true}}"""
    decoded = decode(BASE, strict_json.parse(text), schema_of("cm"))
    assert decoded.problems == [
        'unknown field "metadata.nope"',
        'duplicate field "metadata.labels"',
        'unknown field "metadata.ownerReferences[1].odd"',
        'duplicate field "data.k"',
        'unknown field "extra"',
    ]
    assert decoded.object["data"] == {"k": "2"}
    assert decoded.object["metadata"]["labels"] == {"a": "2"}
    assert "extra" not in decoded.object


def test_problems_can_be_told_below_a_field() -> None:
    """Metadata read alone names its fields below metadata, but errors as the server words them."""
    node = CATALOGUE.definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    assert decode(BASE, {"bogus": 1}, node, under=("metadata",)).problems == ['unknown field "metadata.bogus"']
    with pytest.raises(DecodeError, match=r"Go struct field ObjectMeta\.labels of type string"):
        decode(BASE, {"labels": {"x": 5}}, node)


def test_schemas_inside_definitions_keep_their_content() -> None:
    """A schema of a custom kind may hold defaults of any type, and schemas where lists or booleans may stand."""
    props = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"a": {"items": {"type": "string"}, "default": {"x": [None, 0, ""]}, "enum": [None, 1]}},
        "minimum": 1.0,
    }
    node = CATALOGUE.definition("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert normalise(BASE, props, node) == {**props, "minimum": 1}


@given(st.binary(max_size=20) | st.text(max_size=20).map(str.encode))
@settings(max_examples=200)
def test_base64_is_read_without_surprises(raw: bytes) -> None:
    """Whatever bytes are encoded come back; line breaks within do not matter."""
    text = base64.encodebytes(raw).decode()
    read = normalise(BASE, {"data": {"k": text}}, schema_of("secret"))
    assert base64.b64decode(read["data"]["k"]) == raw


def recorded_objects() -> Iterator[dict[str, Any]]:
    """Whole objects as kube-apiservers wrote them: every kind with every field set, and two clusters."""
    for path in sorted((SHARED / "datasets" / "public" / "api-objects").glob("*.json")):
        yield orjson.loads(path.read_bytes())
    for name in ("empty-cluster", "operators-and-teams"):
        yield from json.loads(gzip.decompress((SHARED / "datasets" / f"{name}.json.gz").read_bytes()))["items"]


@needs_shared
def test_recorded_objects_come_through_unchanged() -> None:
    """Objects written by kube-apiserver are read back unchanged, without problems."""
    seen = 0
    for obj in recorded_objects():
        schema = fits(obj)
        if schema is not None:
            decoded = decode(BASE, obj, schema)
            assert decoded.object == obj, obj["kind"]
            assert not decoded.problems
            seen += 1
    assert seen > 3000


def refused_bodies() -> Iterator[tuple[str, Any, str]]:
    for path in sorted((SHARED / "conformance" / "cases").glob("*/*.json")):
        for step in orjson.loads(path.read_bytes())["steps"]:
            answer = step.get("expect", {}).get("body")
            message = answer.get("message", "") if isinstance(answer, dict) else ""
            if " cannot be handled as a " in str(message) and "{{" not in str(step.get("body", {})).split("spec")[0]:
                yield path.name, step["body"], message.split(": ", 1)[1]


@needs_shared
def test_recorded_refusals_are_worded_alike() -> None:
    """Bodies that kube-apiserver refused for their fields are refused with the same sentence."""
    compared = 0
    for name, body, expected in refused_bodies():
        if expected.startswith(("no kind", "converting", "strict decoding error: yaml")) or "<time>" in expected:
            continue
        value = strict_json.parse(body if isinstance(body, str) else orjson.dumps(body))
        schema = fits(value)
        if schema is None:
            continue
        try:
            told = "strict decoding error: " + ", ".join(decode(BASE, value, schema).problems)
        except DecodeError as error:
            told = str(error)
        assert told == expected, name
        compared += 1
    assert compared > 10


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"items": {"maxLength": "x"}}, "string into Go struct field JSONSchemaProps.openAPIV3Schema.items of type int64"),
        ({"items": {"items": {"required": 5}}}, "number into Go struct field JSONSchemaProps.openAPIV3Schema.items of type []string"),
        ({"items": [5]}, "number into Go struct field JSONSchemaProps.openAPIV3Schema.items of type v1.JSONSchemaProps"),
        ({"additionalProperties": {"required": [[]]}}, "array into Go struct field JSONSchemaProps.openAPIV3Schema.additionalProperties of type string"),
        ({"dependencies": {"a": [5]}}, "number into Go struct field JSONSchemaProps.openAPIV3Schema.dependencies of type string"),
    ],
)  # fmt: skip
def test_schemas_inside_types_that_may_hold_one(schema: dict[str, Any], why: str) -> None:
    """Values of wrong types in such a schema are errors of the field that holds it; unknown fields are not told."""
    validation = Catalogue.for_release("1.30").definition(
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceValidation"
    )
    with pytest.raises(DecodeError) as refused:
        decode(BASE, {"openAPIV3Schema": schema}, validation)
    assert str(refused.value) == f"json: cannot unmarshal {why}"
    assert decode(BASE, {"openAPIV3Schema": {"items": {"bogus": 1}}}, validation).problems == []
