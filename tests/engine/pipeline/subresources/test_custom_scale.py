"""Writes of the Scale of custom objects."""

from __future__ import annotations

from typing import Any

import simkit
from simkit.meta.message import Request

HEAD = {"apiVersion": "example.com/v1", "kind": "Gadget"}
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def test_scales_of_custom_objects_need_no_version() -> None:
    """A PUT of the Scale of a custom object without a resourceVersion is no conflict, nor refused; an old one is."""
    cluster = simkit.Cluster(seed=1)
    cluster.apply(DEFINITION)
    path = "/apis/example.com/v1/namespaces/default/gadgets"
    cluster.perform(Request.of("POST", path, {**HEAD, "metadata": {"name": "g"}, "spec": {"replicas": 1}}))
    scale: dict[str, Any] = {"metadata": {"name": "g", "namespace": "default"}, "spec": {"replicas": 7}}
    done = cluster.perform(Request.of("PUT", f"{path}/g/scale", scale))
    assert (done.status, done.object["spec"]) == (200, {"replicas": 7})
    stale = {**scale, "metadata": {**scale["metadata"], "resourceVersion": "1"}}
    assert cluster.perform(Request.of("PUT", f"{path}/g/scale", stale)).status == 409
