"""Volumes whose cloud is not there to be asked."""

from __future__ import annotations

from collections.abc import Callable

import simkit
from tests.engine.admission.objects import obj, refusal

Making = Callable[..., simkit.Cluster]


def test_volumes_of_clouds_that_are_not_there(making: Making) -> None:
    """They cannot be labelled, so they are refused; those that bring their labels, and all others, pass."""
    cluster = making("PersistentVolumeLabel")
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    disk = {**spec, "gcePersistentDisk": {"pdName": "d"}}
    refused = refusal(cluster, obj("v1", "PersistentVolume", "v", spec=disk)).message
    assert refused.endswith("error querying GCE PD volume d: unable to build GCE cloud provider for PD")
    labels = {"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "b"}
    meta = {"labels": labels, "annotations": {"pv.kubernetes.io/provisioned-by": "somebody"}}
    cluster.create(obj("v1", "PersistentVolume", "v", meta=meta, spec=disk))
    cluster.create(obj("v1", "PersistentVolume", "w", spec={**spec, "hostPath": {"path": "/x"}}))
