"""Controllers of persistent volumes and their claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, expect, keys_of, remove, replace
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import CLAIMS, PODS, STORAGE_CLASSES, VOLUMES
from simkit.logic.workloads.pods import has_ended, owner_reference
from simkit.logic.workloads.volumes import (
    ClaimIndex,
    VolumeIndex,
    class_of,
    is_for,
    is_of_others,
    mismatch,
    undeletable,
)
from simkit.meta.clock import Clock
from simkit.meta.domain import label
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import (
    Object,
    annotations_of,
    at,
    controller_of,
    metadata,
    name_of,
    namespace_of,
    with_metadata,
)
from simkit.seams import Change

# Binds PersistentVolumeClaims to PersistentVolumes, and keeps the phase of both.
# Upstream: pkg/controller/volume/persistentvolume, release 1.30.

_NAME: Final = "persistentvolume-binder-controller"
_ACCOUNT: Final = "persistent-volume-binder"
_COMPLETED: Final = label("bind-completed", "pv")
_BY_CONTROLLER: Final = label("bound-by-controller", "pv")
_SELECTED: Final = label("selected-node", "volume")
_PROVISIONERS: Final = (
    label("storage-provisioner", "volume.beta"),
    label("storage-provisioner", "volume"),
)
_INTERNAL: Final = label("")
"""Provisioners under this domain were part of the controllers once; none is left."""
_WAITING: Final = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


class PersistentVolumeController(ResourceWatcher):
    """Reconciles claims and volumes that name each other. Nothing is provisioned."""

    name, account = _NAME, _ACCOUNT

    def __init__(self, clock: Clock) -> None:
        super().__init__(CLAIMS, VOLUMES, STORAGE_CLASSES, PODS)
        self._events = EventRecorder(clock, "persistentvolume-controller")

    def concerns(self, change: Change) -> bool:
        resource = change.entry.key.resource
        if resource == PODS:
            return change.type == "ADDED" and any(map(_claim_name, at(change.entry.object, "spec", "volumes") or ()))
        return resource in self.watches

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource == PODS:
            names = filter(None, map(_claim_name, at(obj, "spec", "volumes") or ()))
            return [Key(CLAIMS, key.namespace, name) for name in names]
        if key.resource == CLAIMS:
            volume = at(obj, "spec", "volumeName")
            named = _volumes(lister).kept_for(obj)
            return [key, *([Key(VOLUMES, "", volume)] if volume else []), *keys_of(VOLUMES, named)]
        if key.resource == VOLUMES:
            claims = lister.once(ClaimIndex, lambda: ClaimIndex(lister.scan(CLAIMS)))
            return [key, *keys_of(CLAIMS, claims.concerned(obj))]
        return lister.once(
            STORAGE_CLASSES,
            lambda: keys_of(CLAIMS, [one for one in lister.scan(CLAIMS) if at(one, "status", "phase") != "Bound"]),
        )

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return [*keys_of(CLAIMS, lister.scan(CLAIMS)), *keys_of(VOLUMES, lister.scan(VOLUMES))]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        obj = lister.get(key)
        if obj is None:
            return
        if key.resource == VOLUMES:
            self._look_at_volume(client, lister, obj)
        elif _COMPLETED in annotations_of(obj):
            self._look_at_bound(client, lister, obj)
        else:
            self._look_at_waiting(client, lister, obj)

    # Volumes

    def _look_at_volume(self, client: Client, lister: Lister, volume: Object) -> None:
        reference = at(volume, "spec", "claimRef")
        if not reference:
            _set_phase(client, volume, "Available")
            return
        if not reference.get("uid"):
            _set_phase(client, volume, "Available")  # kept for a claim that is still to come
            return
        claim = lister.get(Key(CLAIMS, reference.get("namespace", ""), reference.get("name", "")))
        if claim is None or uid_of(claim) != reference["uid"]:
            self._reclaim(client, volume)
        elif at(claim, "spec", "volumeName") == name_of(volume):
            _set_phase(client, volume, "Bound")

    def _reclaim(self, client: Client, volume: Object) -> None:
        """Let go of a volume whose claim is gone, and delete it where that is wanted and can be done."""
        if at(volume, "status", "phase") not in ("Released", "Failed"):
            _set_phase(client, volume, "Released")
        elif at(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete" and not is_of_others(volume):
            why = undeletable(volume)
            if not why:
                remove(client, VOLUMES, volume)
            elif at(volume, "status", "phase") != "Failed":
                _set_phase(client, volume, "Failed", why)
                self._events.event(client, volume, "VolumeFailedDelete", why, warning=True)

    # Claims

    def _look_at_bound(self, client: Client, lister: Lister, claim: Object) -> None:
        volume = lister.get(Key(VOLUMES, "", at(claim, "spec", "volumeName") or ""))
        if volume is None:
            text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self._lose(client, claim, "ClaimLost", text)
        elif not at(volume, "spec", "claimRef") or at(volume, "spec", "claimRef", "uid") == uid_of(claim):
            _bind(client, volume, claim)
        else:
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
            self._lose(client, claim, "ClaimMisbound", text)

    def _lose(self, client: Client, claim: Object, reason: str, message: str) -> None:
        if at(claim, "status", "phase") != "Lost":
            expect(replace(client, CLAIMS, {**claim, "status": {"phase": "Lost"}}, "status"), 404, 409)
            self._events.event(client, claim, reason, message, warning=True)

    def _look_at_waiting(self, client: Client, lister: Lister, claim: Object) -> None:
        named = at(claim, "spec", "volumeName")
        if named:
            volume = lister.get(Key(VOLUMES, "", named))
            if volume is not None:
                self._take(client, claim, volume)
            return
        if is_terminating(claim):
            return
        volumes = _volumes(lister)
        kept = bool(volumes.kept_for(claim))
        storage = lister.get(Key(STORAGE_CLASSES, "", class_of(claim))) if class_of(claim) else None
        delayed = at(storage, "volumeBindingMode") == "WaitForFirstConsumer" and _SELECTED not in annotations_of(claim)
        found = None if delayed and not kept else volumes.best(claim)
        if found is not None:
            volumes.take(found)
            _bind(client, found, claim)
        elif delayed:
            self._wait(client, lister, claim)
        else:
            self._ask(client, claim, storage)

    def _take(self, client: Client, claim: Object, volume: Object) -> None:
        """Bind a claim to the volume that it asks for by name, or say why not."""
        free = not at(volume, "spec", "claimRef")
        why = mismatch(claim, volume) if free else ""
        if why:
            text = f'Cannot bind to requested volume "{name_of(volume)}": {why}'
            self._events.event(client, claim, "VolumeMismatch", text, warning=True)
        elif free or is_for(volume, claim):
            _bind(client, volume, claim)
        else:
            text = f'volume "{name_of(volume)}" already bound to a different claim.'
            self._events.event(client, claim, "FailedBinding", text, warning=True)

    def _wait(self, client: Client, lister: Lister, claim: Object) -> None:
        """Say what a claim waits for that is bound when a pod that uses it is placed."""
        users = lister.once((PODS, namespace_of(claim)), lambda: _waiting_users(lister, namespace_of(claim)))
        if name_of(claim) in users:
            text = f"waiting for pod {users[name_of(claim)]} to be scheduled"
            self._events.event(client, claim, "WaitForPodScheduled", text)
        else:
            text = "waiting for first consumer to be created before binding"
            self._events.event(client, claim, "WaitForFirstConsumer", text)

    def _ask(self, client: Client, claim: Object, storage: Object | None) -> None:
        """Say what stands in the way of a claim that no volume fits, or who is to make one."""
        name = class_of(claim)
        if not name:
            text = "no persistent volumes available for this claim and no storage class is set"
            self._events.event(client, claim, "FailedBinding", text)
        elif storage is None:
            text = f'{STORAGE_CLASSES.resource.removesuffix("es")}.{STORAGE_CLASSES.group} "{name}" not found'
            self._events.event(client, claim, "ProvisioningFailed", text, warning=True)
        elif storage.get("provisioner", "").startswith(_INTERNAL):
            text = f"no volume plugin matched name: {storage['provisioner']}"
            self._events.event(client, claim, "ProvisioningFailed", text, warning=True)
        else:
            wanted = {name: str(storage["provisioner"]) for name in _PROVISIONERS}
            if not wanted.items() <= annotations_of(claim).items():
                expect(replace(client, CLAIMS, _annotated(claim, wanted)), 404, 409)
            self._events.event(client, claim, "ExternalProvisioning", _WAITING.format(storage["provisioner"]))


def _volumes(lister: Lister) -> VolumeIndex:
    return lister.once(VolumeIndex, lambda: VolumeIndex(lister.scan(VOLUMES)))


def _waiting_users(lister: Lister, namespace: str) -> dict[str, str]:
    """The first pod without a node that uses each claim, by the names of both."""
    found: dict[str, str] = {}
    for pod in lister.scan(PODS, namespace):
        if not at(pod, "spec", "nodeName"):
            for name in filter(None, map(_claim_name, at(pod, "spec", "volumes") or ())):
                found.setdefault(name, name_of(pod))
    return found


def _claim_name(volume: Any) -> str:
    return (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""


def _annotated(obj: Object, notes: dict[str, str]) -> Object:
    return with_metadata(obj, annotations={**annotations_of(obj), **notes})


def _set_phase(client: Client, volume: Object, phase: str, message: str = "") -> None:
    if at(volume, "status", "phase") != phase:
        told = {"message": message} if message else {}
        kept = {name: value for name, value in (volume.get("status") or {}).items() if name != "message"}
        status = {**kept, "phase": phase, **told}
        expect(replace(client, VOLUMES, {**volume, "status": status}, "status"), 404, 409)


def _bind(client: Client, volume: Object, claim: Object) -> None:
    """One step of binding at a time, each seen before the next: the volume first, then the claim, then its status."""
    if at(volume, "spec", "claimRef", "uid") != uid_of(claim):
        reference = {
            "kind": "PersistentVolumeClaim",
            "namespace": namespace_of(claim),
            "name": name_of(claim),
            "uid": uid_of(claim),
            "apiVersion": "v1",
            "resourceVersion": metadata(claim)["resourceVersion"],
        }
        kept = bool(at(volume, "spec", "claimRef"))
        taken = {**volume, "spec": {**volume["spec"], "claimRef": reference}}
        expect(replace(client, VOLUMES, taken if kept else _annotated(taken, {_BY_CONTROLLER: "yes"})), 404, 409)
        return
    if at(claim, "spec", "volumeName") != name_of(volume) or _COMPLETED not in annotations_of(claim):
        notes = {_COMPLETED: "yes"} | ({} if at(claim, "spec", "volumeName") else {_BY_CONTROLLER: "yes"})
        wanted = _annotated({**claim, "spec": {**claim["spec"], "volumeName": name_of(volume)}}, notes)
        expect(replace(client, CLAIMS, wanted), 404, 409)
        return
    status: dict[str, Any] = {
        **(claim.get("status") or {}),
        "phase": "Bound",
        "accessModes": at(volume, "spec", "accessModes"),
        "capacity": at(claim, "status", "capacity") or at(volume, "spec", "capacity"),
    }
    if status != claim.get("status"):
        expect(replace(client, CLAIMS, {**claim, "status": status}, "status"), 404, 409)


# Creates the claims of generic ephemeral volumes.
# Upstream: pkg/controller/volume/ephemeral, release 1.30.


class EphemeralVolumeController(ResourceWatcher):
    """Creates a claim named after pod and volume, which the pod owns."""

    name = account = "ephemeral-volume-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(PODS, CLAIMS)
        self._events = EventRecorder(clock, "ephemeral_volume")

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource == PODS:
            return [key] if any(_template(each) for each in at(obj, "spec", "volumes") or ()) else ()
        owner = controller_of(obj)
        gone = change.type == "DELETED" and owner is not None and owner.get("kind") == "Pod"
        return [Key(PODS, key.namespace, owner["name"])] if gone and owner is not None else ()

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        pod = lister.get(key)
        if pod is None or is_terminating(pod):
            return
        for volume in at(pod, "spec", "volumes") or ():
            if _template(volume):
                self._claim(client, lister, pod, volume)

    def _claim(self, client: Client, lister: Lister, pod: Object, volume: Object) -> None:
        name, namespace = f"{name_of(pod)}-{volume['name']}", pod["metadata"]["namespace"]
        present = lister.get(Key(CLAIMS, namespace, name))
        if present is not None:
            if (controller_of(present) or {}).get("uid") != uid_of(pod):
                whose = f'was not created for pod "{namespace}/{name_of(pod)}" (pod is not owner)'
                text = f'ephemeral volume {volume["name"]}: PVC "{namespace}/{name}" {whose}'
                self._events.event(client, pod, "FailedBinding", text, warning=True)
            return
        template = _template(volume) or {}
        given = template.get("metadata") or {}
        meta = {part: given[part] for part in ("labels", "annotations") if given.get(part)}
        meta |= {"name": name, "ownerReferences": [owner_reference("v1", "Pod", pod)]}
        spec = template.get("spec") or {}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}
        expect(create(client, CLAIMS, namespace, claim), 409)


def _template(volume: Object) -> Object | None:
    found: Object | None = at(volume, "ephemeral", "volumeClaimTemplate")
    return found


# Removes the protection finalizers of volumes and claims that are no longer in use.
# Upstream: pkg/controller/volume/pvcprotection and pkg/controller/volume/pvprotection, release 1.30.

_CLAIM: Final = label("pvc-protection")
_VOLUME: Final = label("pv-protection")


class PVCProtectionController(ResourceWatcher):
    """Protects claims that are used by scheduled pods which have not ended."""

    name = "persistentvolumeclaim-protection-controller"
    account = "pvc-protection-controller"

    def __init__(self) -> None:
        super().__init__(CLAIMS, PODS)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == CLAIMS:
            return [key]
        return [Key(CLAIMS, key.namespace, name) for name in _claims_of(change.entry.object)]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        claim = lister.get(key)
        if claim is None:
            return
        pods = lister.scan(PODS, key.namespace) if is_terminating(claim) else ()
        used = any(_uses(pod, key.name) for pod in pods)
        _keep(client, CLAIMS, claim, _CLAIM, held=used or not is_terminating(claim))


class PVProtectionController(ResourceWatcher):
    """Protects volumes that are bound to a claim."""

    name = "persistentvolume-protection-controller"
    account = "pv-protection-controller"

    def __init__(self) -> None:
        super().__init__(VOLUMES)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        volume = lister.get(key)
        if volume is not None:
            held = at(volume, "status", "phase") == "Bound" or not is_terminating(volume)
            _keep(client, VOLUMES, volume, _VOLUME, held=held)


def _claims_of(pod: Object) -> list[str]:
    found: list[str] = []
    for volume in at(pod, "spec", "volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.append(at(volume, "persistentVolumeClaim", "claimName") or "")
        elif "ephemeral" in volume:
            found.append(f"{name_of(pod)}-{volume['name']}")
    return found


def _uses(pod: Object, claim: str) -> bool:
    ended = has_ended(pod)
    return not ended and bool(at(pod, "spec", "nodeName")) and claim in _claims_of(pod)


def _keep(client: Client, resource: GroupResource, obj: Object, finalizer: str, *, held: bool) -> None:
    """Set or take away the finalizer. An object that is going already gets none any more."""
    present = list(metadata(obj).get("finalizers") or ())
    if held == (finalizer in present) or (held and is_terminating(obj)):
        return
    wanted = [*present, finalizer] if held else [name for name in present if name != finalizer]
    expect(replace(client, resource, with_metadata(obj, finalizers=wanted)), 404, 409)
