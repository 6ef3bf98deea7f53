"""Removes the protection finalizers of volumes and claims that are no longer in use.

Upstream: pkg/controller/volume/pvcprotection and pkg/controller/volume/pvprotection, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from simkit.engine.controllers.client_requests import expect, keys_of, replace
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister, is_terminating
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import CLAIMS, PODS, VOLUMES
from simkit.engine.seams import Change
from simkit.logic.workloads.pods import has_ended
from simkit.meta.domain import label
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, name_of, with_metadata

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

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(CLAIMS, lister.scan(CLAIMS))

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

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(VOLUMES, lister.scan(VOLUMES))

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
