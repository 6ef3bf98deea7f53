"""Default values of a schema make no object of any size out of a short one, when it is written and when it is read."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.message import Request

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OBJECTS = "/apis/grown.example/v1/namespaces/default/grows"


def _definition(default: str) -> dict[str, Any]:
    text = {"type": "string", **({"default": default} if default else {})}
    each = {"type": "object", "properties": {"text": text}}
    lists = {"type": "array", "items": each}
    fields = {"map": {"type": "object", "additionalProperties": each}, "list": lists}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "grows", "kind": "Grow"}
    spec = {"group": "grown.example", "scope": "Namespaced", "names": names, "versions": [version]}
    meta = {"name": "grows.grown.example"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec}


def _grown(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "grown.example/v1", "kind": "Grow", "metadata": {"name": "g"}, "spec": spec}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(options=Options(seed=1))


@pytest.mark.parametrize("spec", [{"map": {f"k{n}": {} for n in range(3000)}}, {"list": [{}] * 3000}])
def test_what_is_written(cluster: Cluster, spec: Any) -> None:
    """3,000 empty maps would become 300 MB."""
    assert cluster.perform(Request.of("POST", DEFINITIONS, _definition("x" * 100_000))).status == 201
    answer = cluster.perform(Request.of("POST", OBJECTS, _grown(spec)))
    assert (answer.status, "default values make the object larger" in answer.object["message"]) == (500, True)
    assert cluster.perform(Request.of("POST", OBJECTS, _grown({"list": [{}] * 10}))).status == 201


def test_what_is_read(cluster: Cluster) -> None:
    """A later schema gives its defaults to what is stored; the object can still be removed."""
    assert cluster.perform(Request.of("POST", DEFINITIONS, _definition(""))).status == 201
    assert cluster.perform(Request.of("POST", OBJECTS, _grown({"list": [{}] * 3000}))).status == 201
    live = cluster.perform(Request.of("GET", f"{DEFINITIONS}/grows.grown.example")).object
    later = {**live, "spec": {**live["spec"], "versions": _definition("x" * 100_000)["spec"]["versions"]}}
    assert cluster.perform(Request.of("PUT", f"{DEFINITIONS}/grows.grown.example", later)).status == 200
    for path in (OBJECTS, f"{OBJECTS}/g"):
        assert cluster.perform(Request.of("GET", path)).status == 500
    assert cluster.perform(Request.of("PUT", f"{DEFINITIONS}/grows.grown.example", live)).status in (200, 409)
