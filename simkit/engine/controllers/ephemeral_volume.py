"""Creates the claims of generic ephemeral volumes.

Upstream: pkg/controller/volume/ephemeral, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable

from simkit.engine.controllers.client_requests import create, expect, keys_of
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.event_recorder import EventRecorder
from simkit.engine.controllers.lister import Lister, is_terminating, uid_of
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import CLAIMS, PODS
from simkit.engine.seams import Change
from simkit.logic.workloads.pods import owner_reference
from simkit.meta.clock import Clock
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, controller_of, name_of


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

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(PODS, lister.scan(PODS))

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
