"""The filter of nodes by the number of volumes that the driver of each can attach there.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, release 1.30. Volumes of the old in-tree plugins
count for the drivers that they were migrated to. Their own limits, which old releases had, are not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from simkit.logic.workloads.volumes import CSI_DRIVERS, class_of
from simkit.meta.domain import label
from simkit.meta.objects import Object, at, name_of, namespace_of
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.rejection import Filter, Rejection, rejected
from simkit.simulation.scheduler.view import View
from simkit.simulation.scheduler.volume_filters import claims_of

_MIGRATED: Final[Mapping[str, tuple[str, str]]] = {
    "awsElasticBlockStore": (label("aws-ebs"), "volumeID"),
    "gcePersistentDisk": (label("gce-pd"), "pdName"),
    "azureDisk": (label("azure-disk"), "diskURI"),
    "cinder": (label("cinder"), "volumeID"),
}
"""Sources of volumes that drivers have taken over: the old provisioner, and the field with the identity."""
_DRIVERS: Final = {provisioner: CSI_DRIVERS[field] for field, (provisioner, _) in _MIGRATED.items()}
Attached = set[tuple[str, str]]
"""Volumes: driver and identity."""


def volume_limits(pod: PodInfo, view: View) -> Filter | None:
    """Nodes whose drivers can attach the pod's volumes too."""
    volumes = _volumes(pod, view)
    if not volumes:
        return None
    rejection = rejected("node(s) exceed max volume count")

    def check(info: NodeInfo) -> Rejection | None:
        limits = _limits(view.csi_node(info.name))
        if not any(driver in limits for driver, _ in volumes):
            return None
        attached: Attached = set()
        for each in info.pods.values():
            attached |= _volumes(each, view)
        new = Counter(driver for driver, _ in volumes - attached)
        present = Counter(driver for driver, _ in attached | _attachments(view, info.name))
        exceeded = any(present[driver] + count > limits.get(driver, 2**31) for driver, count in new.items())
        return rejection if exceeded else None

    return check


def _limits(node: Object | None) -> dict[str, int]:
    drivers = at(node, "spec", "drivers") or ()
    counts = {each.get("name", ""): at(each, "allocatable", "count") for each in drivers}
    return {name: count for name, count in counts.items() if count is not None}


def _volumes(pod: PodInfo, view: View) -> Attached:
    found: Attached = set()
    for volume in at(pod.pod, "spec", "volumes") or ():
        source = _migrated(volume)
        if source is not None:
            found.add(source)
    for name, _ in claims_of(pod.pod):
        claim = view.claim(pod.namespace, name)
        source = _of_claim(view, claim) if claim is not None else None
        if source is not None:
            found.add(source)
    return found


def _migrated(source: Object) -> tuple[str, str] | None:
    for field, (_, identity) in _MIGRATED.items():
        if source.get(field):
            return CSI_DRIVERS[field], source[field].get(identity, "")
    return None


def _of_claim(view: View, claim: Object) -> tuple[str, str] | None:
    """The volume of a claim. One that is not there yet counts for the driver that will provide it."""
    name = at(claim, "spec", "volumeName")
    volume = view.volume(name) if name else None
    if volume is None:
        provisioner = str((view.storage_class(class_of(claim)) or {}).get("provisioner") or "")
        identity = f"{namespace_of(claim)}/{name_of(claim)}"
        return (_DRIVERS.get(provisioner, provisioner), identity) if provisioner else None
    spec = volume.get("spec") or {}
    source = spec.get("csi")
    return (source.get("driver", ""), source.get("volumeHandle", "")) if source else _migrated(spec)


def _attachments(view: View, node: str) -> Attached:
    """The volumes that are attached to a node; no pod there may use them any longer."""
    found: Attached = set()
    for each in view.attachments():
        spec = each.get("spec") or {}
        name = at(spec, "source", "persistentVolumeName")
        volume = view.volume(name) if name and spec.get("nodeName") == node else None
        handle = at(volume, "spec", "csi", "volumeHandle")
        if handle:
            found.add((spec.get("attacher", ""), handle))
    return found
