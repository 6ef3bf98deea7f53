"""Makes volumes for claims, in the place of the provisioners that storage classes name, and removes them again.

Upstream: sigs.k8s.io/sig-storage-lib-external-provisioner, which the provisioners outside use.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, expect, keys_of, remove
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import CLAIMS, NODES, STORAGE_CLASSES, VOLUMES
from simkit.logic.workloads.volumes import class_of
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, name_of
from simkit.seams import Change
from simkit.simulation.scheduler.volume_filters import NO_PROVISIONER, SELECTED_NODE, claim_reference

_PROVISIONED_BY: Final = label("provisioned-by", "pv")
_ZONE: Final = label("zone", "topology")


class VolumeProvisioner(ResourceWatcher):
    """Reconciles claims whose class has a provisioner, and released volumes that it made."""

    name = "simulated-volume-provisioner"
    account = "persistent-volume-binder"

    def __init__(self) -> None:
        super().__init__(CLAIMS, VOLUMES, STORAGE_CLASSES)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        if change.entry.key.resource == STORAGE_CLASSES:
            return self.all_keys(lister)
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return [*keys_of(CLAIMS, lister.scan(CLAIMS)), *keys_of(VOLUMES, lister.scan(VOLUMES))]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        obj = lister.get(key)
        if obj is None or is_terminating(obj):
            return
        if key.resource == CLAIMS:
            self._provision(client, lister, obj)
        elif _is_done(obj, lister):
            remove(client, VOLUMES, obj)

    def _provision(self, client: Client, lister: Lister, claim: Object) -> None:
        if at(claim, "spec", "volumeName"):
            return
        found = lister.get(Key(STORAGE_CLASSES, "", class_of(claim)))
        provisioner = at(found, "provisioner")
        if found is None or provisioner in (None, "", NO_PROVISIONER):
            return
        node = annotations_of(claim).get(SELECTED_NODE, "")
        if found.get("volumeBindingMode") == "WaitForFirstConsumer" and not node:
            return
        zone = labels_of(lister.get(Key(NODES, "", node)) or {}).get(_ZONE, "") if node else ""
        expect(create(client, VOLUMES, "", _volume(claim, found, str(provisioner), zone)), 409)


def _volume(claim: Object, storage_class: Object, provisioner: str, zone: str) -> dict[str, Any]:
    name, spec = f"pvc-{uid_of(claim)}", claim.get("spec") or {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONED_BY: provisioner}},
        "spec": {
            "capacity": {"storage": at(spec, "resources", "requests", "storage") or "1Gi"},
            "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
            "volumeMode": spec.get("volumeMode") or "Filesystem",
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
            "storageClassName": name_of(storage_class),
            "hostPath": {"path": f"/var/lib/simkit/{name}", "type": "DirectoryOrCreate"},
            **({"nodeAffinity": _in_zone(zone)} if zone else {}),
            "claimRef": claim_reference(claim),
        },
    }


def _in_zone(zone: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def _is_done(volume: Object, lister: Lister) -> bool:
    """True if a volume that was made here is released, and to be removed."""
    made = _PROVISIONED_BY in annotations_of(volume)
    policy = at(volume, "spec", "persistentVolumeReclaimPolicy")
    return made and policy == "Delete" and at(volume, "status", "phase") == "Released"
