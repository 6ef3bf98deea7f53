"""A custom resource for tests of what all kinds do."""

from __future__ import annotations

from simkit.cluster.cluster import Cluster
from tests.kinds.comparison import cluster_of

WIDGET = "/apis/example.com/v1/namespaces/default/widgets/w"


def with_widgets(release: str) -> Cluster:
    """A server with a custom resource that has a status and a scale, and one object of it."""
    cluster = cluster_of(release)
    integer = {"type": "integer"}
    fields = {
        "spec": {"type": "object", "properties": {"replicas": {**integer, "minimum": 0}, "color": {"type": "string"}}},
        "status": {"type": "object", "properties": {"replicas": integer}},
    }
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": paths},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": fields}},
    }
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    head = {"name": "widgets.example.com"}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": head}
    cluster.create({**kind, "spec": spec})
    cluster.settle()
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"color": "red"}}
    cluster.create(widget)
    return cluster
