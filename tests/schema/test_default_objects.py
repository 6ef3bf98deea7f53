"""The default roles and bindings in the tables are those that kube-apiserver makes."""

from __future__ import annotations

from typing import Any

from simkit.meta import datasets
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import decode
from tests.conformance.recordings import fresh_cluster
from tests.releases import BASE

OBJECTS: list[dict[str, Any]] = datasets.load("rbac/default-objects-1.30.json")
RBAC = "rbac.authorization.k8s.io/v1"


OTHER_RULES = (
    "system:controller:endpointslice-controller",
    "system:controller:endpointslicemirroring-controller",
    "system:kube-scheduler",
)
"""Roles that have rules of its own in the build that was recorded; the tables hold the plain release's."""


def key(obj: dict[str, Any]) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def test_default_objects_are_whole_and_distinct() -> None:
    """Every object has its kind, name and marks, and reads without problems."""
    catalogue = Catalogue.for_release("1.30")
    assert len({key(obj) for obj in OBJECTS}) == len(OBJECTS) == 64 + 45 + 7 + 7
    for obj in OBJECTS:
        schema = catalogue.schema(GroupVersionKind(*GroupVersion.parse(obj["apiVersion"]), obj["kind"]))
        assert not decode(BASE, obj, schema).problems
        assert obj["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"


def test_default_objects_are_those_of_an_empty_cluster() -> None:
    """Roles, rules and subjects agree with a recorded cluster; aggregated roles are filled there, empty here."""
    recorded = {key(obj): obj for obj in fresh_cluster() if obj["apiVersion"] == RBAC}
    for obj in OBJECTS:
        other = recorded[key(obj)]
        assert {name: other["metadata"][name] for name in ("labels", "annotations")} == {
            name: obj["metadata"][name] for name in ("labels", "annotations")
        }, key(obj)
        parts = [part for part in ("roleRef", "subjects", "aggregationRule", "rules") if part in obj]
        if "aggregationRule" in obj or obj["metadata"]["name"] in OTHER_RULES:
            parts = [part for part in parts if part != "rules"]
        assert {part: other[part] for part in parts} == {part: obj[part] for part in parts}, key(obj)
