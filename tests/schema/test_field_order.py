"""The order of fields, held against recorded answers of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pytest

from simkit.meta.names import GroupVersionKind
from simkit.schema.catalogue import Catalogue
from simkit.schema.field_order import Fields
from tests.conformance.recordings import lines


def answers(recording: str) -> Iterator[Mapping[str, Any]]:
    """Recorded objects of known kinds, those in lists among them."""
    for case in lines(recording):
        for step in case["steps"]:
            body = step.get("expect", {}).get("body")
            if isinstance(body, dict) and body.get("kind") and body.get("apiVersion"):
                yield body
                head = {"kind": body["kind"].removesuffix("List"), "apiVersion": body["apiVersion"]}
                yield from ({**head, **item} for item in body.get("items") or () if isinstance(item, dict))


@pytest.mark.parametrize("release", ["1.30", "1.33", "1.36"])
def test_recorded_answers_are_in_this_order(release: str) -> None:
    """No built-in object that kube-apiserver sent is put in another order."""
    catalogue, held = Catalogue.for_release(release, everything=True), 0
    for answer in answers(release):
        group, _, version = answer["apiVersion"].rpartition("/")
        resource = catalogue.kind(GroupVersionKind(group, version, answer["kind"]))
        if resource is not None:
            assert orjson.dumps(Fields(catalogue.schema(resource.gvk))(answer)) == orjson.dumps(answer)
            held += 1
    assert held > 300


def test_types_may_hold_themselves() -> None:
    """Schemas of custom resources nest without an end."""
    order = Fields(Catalogue.for_release("1.30").definition(f"{_CRD}.CustomResourceDefinitionVersion"))
    deep = {"openAPIV3Schema": {"properties": {"b": {"items": {"type": "string", "description": "x"}}, "a": {}}}}
    found = order({"schema": deep, "name": "v1"})
    assert list(found) == ["name", "schema"]
    properties = found["schema"]["openAPIV3Schema"]["properties"]
    assert list(properties) == ["a", "b"]
    assert properties["b"] == {"items": {"type": "string", "description": "x"}}


_CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
