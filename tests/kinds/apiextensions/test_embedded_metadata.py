"""Objects inside of custom objects are checked as objects."""

from __future__ import annotations

from typing import Any

from simkit.kinds.apiextensions.validation.defaults import embedded
from simkit.meta.wording import told as worded
from simkit.schema.catalogue import Catalogue
from simkit.schema.custom.structural import schema_of
from simkit.schema.structural import Schema
from tests.releases import BASE

RESOLVE = Catalogue.for_release("1.30").definition


def _node(**fields: Any) -> Schema:
    return schema_of({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}, RESOLVE)


def test_embedded_objects_say_what_they_are() -> None:
    """Kind and apiVersion are demanded of embedded objects, and their labels must be labels."""
    node = _node(t={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {}})
    assert [error.told(BASE) for error in embedded(BASE, {"spec": {"t": {}}}, node)] == [
        "spec.t.apiVersion: Required value: must not be empty",
        "spec.t.kind: Required value: must not be empty",
    ]
    good = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}
    assert embedded(BASE, {"spec": {"t": good}}, node) == []
    names = {"name": "a/b", "generateName": "a%", "namespace": "N"}
    wrong = {"apiVersion": "a/b/c", "kind": "no kind", "metadata": {**names, "labels": {"a": "b c"}}}
    assert [error.field for error in embedded(BASE, {"spec": {"t": wrong}}, node)] == [
        "spec.t.apiVersion",
        "spec.t.kind",
        "spec.t.metadata.generateName",
        "spec.t.metadata.name",
        "spec.t.metadata.namespace",
        "spec.t.metadata.labels",
    ]


def test_owners_and_finalizers_of_embedded_objects_are_checked() -> None:
    """Owners need names, only one controls, and finalizers are names with or without a group."""
    node = _node(t={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {}})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    lists = {"ownerReferences": [owner, {**owner, "name": ""}], "finalizers": ["plain", "a b", "orphan"]}
    wrong = {"apiVersion": "v1", "kind": "Pod", "metadata": lists}
    assert [
        (error.field, worded(error.detail, BASE)[:40]) for error in embedded(BASE, {"spec": {"t": wrong}}, node)
    ] == [
        ("spec.t.metadata.ownerReferences.name", "name must not be empty"),
        ("spec.t.metadata.ownerReferences", "Only one reference can have Controller s"),
        ("spec.t.metadata.finalizers", "name part must consist of alphanumeric c"),
    ]
    malformed = {"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": [1], "ownerReferences": 3, "labels": 1}}
    assert embedded(BASE, {"spec": {"t": malformed}}, node) == []
