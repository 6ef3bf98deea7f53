"""Filters of nodes by the volumes of a pod (claims, number, zones), and the writes to claims before a pod is bound.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go (``BindPodVolumes``), release 1.30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.client.controller import Client
from simkit.client.lister import uid_of
from simkit.client.requests import expect, merge
from simkit.client.resources import CLAIMS, VOLUMES
from simkit.logic.workloads.nodes import term_fits
from simkit.logic.workloads.volumes import CSI_DRIVERS, best, class_of
from simkit.meta.domain import api_group, label
from simkit.meta.fielderror import quoted
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of, namespace_of
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.view import Filter, Rejection, Unschedulable, View, rejected

# Nodes that reach the volumes of a pod's claims, and on which volumes can be had for claims that wait for a pod.
# Upstream: pkg/scheduler/framework/plugins/{volumebinding,volumerestrictions}, release 1.30.

SELECTED_NODE: Final = label("selected-node", "volume")
_BOUND: Final = label("bind-completed", "pv")
NO_PROVISIONER: Final = label("no-provisioner")
_ONCE: Final = (
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
)
_UNREACHED: Final = (
    "node(s) had volume node affinity conflict",
    "node(s) didn't match PersistentVolume's node affinity",
)

_DISKS: Final[Mapping[str, Sequence[str]]] = {
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "iscsi": ("iqn",),
    "rbd": ("pool", "image"),
}
"""Sources of volumes that one node attaches once, with the fields that identify the disk."""


def claims_of(pod: Object) -> Iterable[tuple[str, bool]]:
    """The names of the claims that a pod uses, and whether each is made for the pod alone."""
    for volume in at(pod, "spec", "volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"].get("claimName", ""), False
        elif volume.get("ephemeral"):
            yield f"{name_of(pod)}-{volume.get('name', '')}", True


def volume_binding(pod: PodInfo, view: View) -> Filter | None:
    """Nodes that reach the bound volumes, and have volumes for claims that wait. Raises Unschedulable."""
    claims = [_claim(view, pod, name, own) for name, own in claims_of(pod.pod)]
    if not claims:
        return None
    bound = [each for each in claims if is_bound(each)]
    waiting = [each for each in claims if not is_bound(each)]
    if not all(waits_for_pod(view, each) for each in waiting):
        raise Unschedulable("pod has unbound immediate PersistentVolumeClaims")
    volumes = [view.volume(at(each, "spec", "volumeName")) for each in bound]
    unreached = _UNREACHED[view.behaviour.applies("scheduler-tells-of-volumes-affinity")]

    def check(info: NodeInfo) -> Rejection | None:
        reasons = []
        if not all(each is None or reaches(each, info.object) for each in volumes):
            reasons.append(unreached)
        if not all(_obtainable(view, each, info) for each in waiting):
            reasons.append("node(s) didn't find available persistent volumes to bind")
        if any(each is None for each in volumes):
            reasons.append("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
        return Rejection(tuple(reasons), resolvable=False) if reasons else None

    return check


def _claim(view: View, pod: PodInfo, name: str, own: bool) -> Object:
    claim = view.claim(pod.namespace, name)
    if claim is None and own:
        raise Unschedulable(
            f"waiting for ephemeral volume controller to create the persistentvolumeclaim {quoted(name)}"
        )
    if claim is None:
        raise Unschedulable(f"persistentvolumeclaim {quoted(name)} not found")
    if at(claim, "status", "phase") == "Lost":
        volume = at(claim, "spec", "volumeName") or ""
        raise Unschedulable(
            f"persistentvolumeclaim {quoted(name)} bound to non-existent persistentvolume {quoted(volume)}"
        )
    if metadata(claim).get("deletionTimestamp"):
        raise Unschedulable(f"persistentvolumeclaim {quoted(name)} is being deleted")
    return claim


def is_bound(claim: Object) -> bool:
    """True if a claim has its volume for good."""
    return bool(at(claim, "spec", "volumeName")) and _BOUND in annotations_of(claim)


def waits_for_pod(view: View, claim: Object) -> bool:
    """True if a claim without a volume is one that gets it once a pod needs it."""
    found = view.storage_class(class_of(claim))
    waits = found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
    return waits and not at(claim, "spec", "volumeName")


def reaches(volume: Object, node: Object) -> bool:
    """True if the node affinity of a volume means a node."""
    required = at(volume, "spec", "nodeAffinity", "required")
    terms: Sequence[Mapping[str, Any]] = at(required, "nodeSelectorTerms") or ()
    return required is None or any(term_fits(term, node) for term in terms)


def available_volume(view: View, claim: Object, node: Object) -> Object | None:
    """The volume that a claim would get on a node, of those that are there."""
    return best(claim, [each for each in view.volumes() if reaches(each, node)])


def _obtainable(view: View, claim: Object, info: NodeInfo) -> bool:
    selected = annotations_of(claim).get(SELECTED_NODE)
    if selected:
        return selected == info.name
    if available_volume(view, claim, info.object) is not None:
        return True
    found = view.storage_class(class_of(claim)) or {}
    if found.get("provisioner") in (None, "", NO_PROVISIONER):
        return False
    topologies = found.get("allowedTopologies") or ()
    return not topologies or any(_allowed(each, info.labels) for each in topologies)


def _allowed(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    expressions = term.get("matchLabelExpressions") or ()
    return all(labels.get(each.get("key")) in (each.get("values") or ()) for each in expressions)


def volume_restrictions(pod: PodInfo, view: View) -> Filter | None:
    """Nodes without pods that have the pod's disks, unless another pod has a claim for one pod alone.

    Raises Unschedulable for a claim that is missing.
    """
    once, disks = _claims_for_one(pod, view), _disks(pod)
    if not once and not disks:
        return None
    in_use = rejected(_ONCE[view.behaviour.applies("scheduler-tells-of-claims-in-use")])
    taken = rejected("node(s) had no available disk")

    def check(info: NodeInfo) -> Rejection | None:
        if disks and any(_conflicts(disks, _disks(other)) for other in info.pods.values()):
            return taken
        users = (other for other, _ in view.cache.pods() if once and other.namespace == pod.namespace)
        return in_use if any(name in once for other in users for name, _ in claims_of(other.pod)) else None

    return check


def _claims_for_one(pod: PodInfo, view: View) -> set[str]:
    once = set()
    for name, own in claims_of(pod.pod):
        claim = view.claim(pod.namespace, name)
        if claim is None and not own:
            raise Unschedulable(f"persistentvolumeclaim {quoted(name)} not found")
        if "ReadWriteOncePod" in (at(claim, "spec", "accessModes") or ()):
            once.add(name)
    return once


def _disks(pod: PodInfo) -> list[tuple[tuple[str, ...], bool]]:
    """The disks that a pod names itself, and whether it only reads them; an RBD image once for each monitor."""
    found = []
    for volume in at(pod.pod, "spec", "volumes") or ():
        for field, names in _DISKS.items():
            source = volume.get(field)
            if source:
                identity = (field, *(str(source.get(name) or "") for name in names))
                alone = field == "awsElasticBlockStore"
                monitors = source.get("monitors") or ("",)
                found += [((*identity, each), not alone and bool(source.get("readOnly"))) for each in monitors]
    return found


def _conflicts(wanted: Sequence[tuple[tuple[str, ...], bool]], present: Sequence[tuple[tuple[str, ...], bool]]) -> bool:
    return any(disk == other and not (reads and also) for disk, reads in wanted for other, also in present)


# The filter of nodes by the number of volumes that the driver of each can attach there.
# Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, release 1.30. Volumes of the old in-tree plugins
# count for the drivers that they were migrated to. Their own limits, which old releases had, are not checked.

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


# The filter of nodes by the zones and regions in the labels of volumes.
# Upstream: pkg/scheduler/framework/plugins/volumezone, release 1.30.

_ZONE, _REGION = label("zone", "topology"), label("region", "topology")
_PRESENT: Final = {
    label("zone", "failure-domain.beta"): _ZONE,
    label("region", "failure-domain.beta"): _REGION,
    _ZONE: _ZONE,
    _REGION: _REGION,
}
"""The labels that count, and the present name of each."""
_SEPARATOR: Final = "__"


class _Place(NamedTuple):
    """A label of a volume, and the values that nodes may have."""

    key: str
    values: frozenset[str]

    def has(self, info: NodeInfo) -> bool:
        value = info.labels.get(self.key, info.labels.get(_PRESENT[self.key]))
        return value in self.values


def volume_zone(pod: PodInfo, view: View) -> Filter | None:
    """Nodes in the zones that the labels of bound volumes name. Raises Unschedulable."""
    places = [place for claim in _claims(pod, view) for place in _places(pod, view, claim)]
    if not places:
        return None
    rejection = rejected("node(s) had no available volume zone", resolvable=False)

    def check(info: NodeInfo) -> Rejection | None:
        if not any(key in info.labels for key in _PRESENT):
            return None
        return None if all(each.has(info) for each in places) else rejection

    return check


def _claims(pod: PodInfo, view: View) -> Iterator[Object]:
    for volume in at(pod.pod, "spec", "volumes") or ():
        name = at(volume, "persistentVolumeClaim", "claimName")
        if name:
            claim = view.claim(pod.namespace, name)
            if claim is None:
                raise Unschedulable(f"persistentvolumeclaim {quoted(name)} not found")
            yield claim


def _places(pod: PodInfo, view: View, claim: Object) -> list[_Place]:
    name = at(claim, "spec", "volumeName")
    if not name:
        return _unbound(view, class_of(claim))
    volume = view.volume(name)
    if volume is None:
        raise Unschedulable(f"persistentvolume {quoted(name)} not found")
    labels = labels_of(volume)
    return [_Place(key, _values(labels[key])) for key in _PRESENT if labels.get(key)]


def _unbound(view: View, storage_class: str) -> list[_Place]:
    """No places, for a claim that waits for its pod."""
    if not storage_class:
        raise Unschedulable("PersistentVolumeClaim had no pv name and storageClass name")
    found = view.storage_class(storage_class)
    if found is None:
        raise Unschedulable(f"storageclass.{api_group('storage')} {quoted(storage_class)} not found")
    if found.get("volumeBindingMode") != "WaitForFirstConsumer":
        raise Unschedulable("PersistentVolume had no name")
    return []


def _values(text: str) -> frozenset[str]:
    """The zones that a label lists.

    Examples
    --------
    >>> sorted(_values("z1__z2"))
    ['z1', 'z2']
    """
    return frozenset(each.strip() for each in text.split(_SEPARATOR))


def prepare_claims(client: Client, view: View, pod: PodInfo, info: NodeInfo) -> bool:
    """True if all claims of a pod are bound; for those that are not, volumes are chosen or asked for."""
    waiting = []
    for name, _ in claims_of(pod.pod):
        claim = view.claim(pod.namespace, name)
        if claim is not None and not is_bound(claim):
            waiting.append(claim)
    for claim in waiting:
        _prepare(client, view, claim, info)
    return not waiting


def _prepare(client: Client, view: View, claim: Object, info: NodeInfo) -> None:
    if annotations_of(claim).get(SELECTED_NODE):
        return
    volume = available_volume(view, claim, info.object)
    if volume is not None:
        expect(merge(client, VOLUMES, volume, {"spec": {"claimRef": claim_reference(claim)}}), 404, 409)
        return
    expect(merge(client, CLAIMS, claim, {"metadata": {"annotations": {SELECTED_NODE: info.name}}}), 404, 409)


def claim_reference(claim: Object) -> dict[str, str]:
    """What a volume says of the claim that it is bound to."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "resourceVersion": metadata(claim).get("resourceVersion", ""),
    }
