"""What random comparisons with kube-apiserver 1.36 found."""

from __future__ import annotations

from typing import Any

import simkit
from simkit.meta.message import Request

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def endpoint_slice(*endpoints: Any) -> dict[str, Any]:
    """A slice with endpoints."""
    head = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "e"}}
    return {**head, "addressType": "IPv4", "endpoints": list(endpoints), "ports": []}


def test_deprecated_topology_counts_for_the_generation_and_is_dropped() -> None:
    """Written in v1 it is not stored, but it is a change."""
    cluster = simkit.Cluster(release="1.36")
    one = {"addresses": ["10.1.1.1"], "conditions": {}}
    cluster.perform(Request.of("POST", SLICES, endpoint_slice(one)))
    same = cluster.perform(Request.of("PUT", f"{SLICES}/e", endpoint_slice(one))).object
    assert same["metadata"]["generation"] == 1
    written = {**one, "deprecatedTopology": {"kubernetes.io/hostname": "n"}}
    found = cluster.perform(Request.of("PUT", f"{SLICES}/e", endpoint_slice(written))).object
    assert (found["metadata"]["generation"], found["endpoints"]) == (2, [one])


def definition(schema: Any) -> dict[str, Any]:
    """A definition of a kind with a schema."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "as", "kind": "A"}
    spec = {"group": "x.io", "scope": "Cluster", "names": names, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": "as.x.io"}, "spec": spec}


def test_dependencies_of_a_wrong_type_in_schemas() -> None:
    """The error names the type of Go."""
    cluster = simkit.Cluster(release="1.36")
    wrong = definition({"type": "object", "dependencies": []})
    answer = cluster.perform(Request.of("POST", DEFINITIONS, wrong))
    assert answer.object["message"].endswith("openAPIV3Schema.dependencies of type v1.JSONSchemaDependencies")
