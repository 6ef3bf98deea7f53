"""Definitions and custom resources: schemas, numbers, scales, and the deletion of many."""

from __future__ import annotations

from typing import Any

import pytest

import simkit
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.message import Request
from simkit.schema.custom.validation import Check
from simkit.schema.releases import minor_of
from tests.kinds.comparison import cluster_of, told
from tests.kinds.widgets import WIDGET, with_widgets

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(schema: Any) -> dict[str, Any]:
    """A definition of a kind with a schema."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "as", "kind": "A"}
    spec = {"group": "x.io", "scope": "Cluster", "names": names, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": "as.x.io"}, "spec": spec}


@pytest.mark.parametrize(("release", "count"), [("1.27", 1), ("1.28", 2)])
def test_the_fields_of_an_object_with_too_many_are_checked(release: str, count: int) -> None:
    """Since 1.28."""
    check = Check(
        ServedBehaviour(minor_of(release)),
        {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}},
    )
    assert len(check.errors({"a": "b", "c": 1})) == count


@pytest.mark.parametrize(
    ("factor", "value", "told"),
    [
        (2, 1e300, "multiple of 2"),
        (2, 1e17, "multiple of 2"),
        (2, 10**17, ""),
        (0.5, 3, "must be positive: 0"),
        (0.5, 3.5, ""),
        (1.5, 4, ""),
        (1.5, 4.0, "multiple of 1.5"),
        (0.1, 0.3, ""),
    ],
)
def test_factors_of_numbers(factor: float, value: float, told: str) -> None:
    """Whole numbers are divided by whole factors, and no fraction beyond 53 bits is a multiple."""
    errors = [
        error.told(ServedBehaviour(34))
        for error in Check(ServedBehaviour(34), {"type": "number", "multipleOf": factor}).errors(value)
    ]
    assert len(errors) == bool(told)
    assert all(told in each for each in errors)


def test_dependencies_of_a_wrong_type_in_schemas() -> None:
    """The error names the type of Go."""
    cluster = simkit.Cluster(release="1.36")
    wrong = definition({"type": "object", "dependencies": []})
    answer = cluster.perform(Request.of("POST", DEFINITIONS, wrong))
    assert answer.object["message"].endswith("openAPIV3Schema.dependencies of type v1.JSONSchemaDependencies")


def test_fields_of_later_types_are_written_as_their_go_types_say() -> None:
    """A claim without requests has null there, and nobody owns what holds them."""
    cluster = cluster_of("1.36")
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {}}
    assert cluster.create(claim)["spec"] == {"devices": {"requests": None}}
    devices = {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}
    made = cluster.create({**claim, "metadata": {"name": "d"}, "spec": {"devices": devices}})
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:devices": {"f:requests": {}}}}


def test_a_value_of_extra_that_is_no_list_is_told_with_its_type() -> None:
    """The type has a name of its own."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "a", "extra": {"a": "b"}},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = cluster_of("1.30").perform(Request.of("POST", path, review)).object
    assert answer["message"].endswith("SubjectAccessReviewSpec.spec.extra of type v1.ExtraValue")


def test_a_definition_deleted_in_a_collection_leaves_its_objects() -> None:
    """It goes at once, without its finalizer; its objects are there again once it is."""
    cluster = simkit.Cluster(release="1.36")
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    names = {"plural": "ws", "kind": "W"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "q.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    kind = "CustomResourceDefinition"
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "metadata": {"name": "ws.q.example.com"}}
    path = "/apis/q.example.com/v1/namespaces/default/ws"
    cluster.perform(Request.of("POST", definitions, {**definition, "spec": spec}))
    cluster.settle()
    widget = {"apiVersion": "q.example.com/v1", "kind": "W", "metadata": {"name": "a"}}
    assert cluster.perform(Request.of("POST", path, widget)).status == 201
    chosen = f"{definitions}?fieldSelector=metadata.name%3Dws.q.example.com"
    wrong = cluster.perform(Request.of("DELETE", chosen, {"preconditions": {"resourceVersion": "1"}}))
    assert "the ResourceVersion in the precondition (1) does not match" in wrong.object["message"]
    assert cluster.perform(Request.of("DELETE", chosen)).status == 200
    assert cluster.perform(Request.of("GET", f"{path}/a")).status == 404
    cluster.perform(Request.of("POST", definitions, {**definition, "spec": spec}))
    cluster.settle()
    assert cluster.perform(Request.of("GET", f"{path}/a")).status == 200


@pytest.mark.parametrize(("release", "place"), [("1.30", "replicas"), ("1.36", "status.replicas")])
def test_faults_of_the_status_of_a_custom_resource(release: str, place: str) -> None:
    """Their places began below the status."""
    causes = told(with_widgets(release), "PATCH", f"{WIDGET}/status", {"status": {"replicas": "x"}})
    assert causes[0] == f'{place}: Invalid value: "string": replicas in body must be of type integer: "string"'


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_a_negative_scale_of_a_custom_resource_is_a_fault_of_the_resource(release: str) -> None:
    """The Scale itself is not looked at."""
    assert told(with_widgets(release), "PATCH", f"{WIDGET}/scale", {"spec": {"replicas": -3}}) == [
        "spec.replicas: Invalid value: -3: spec.replicas in body should be greater than or equal to 0",
        ".spec.replicas: Invalid value: -3: should be a non-negative integer",
    ]
