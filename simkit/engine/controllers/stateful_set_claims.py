"""Makes the claims of a StatefulSet's pods, and keeps them.

Upstream: pkg/controller/statefulset/stateful_pod_control.go, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import create
from simkit.client.resources import CLAIMS
from simkit.client.work_queue import RequeueError
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.names import Key
from simkit.meta.objects import Draft, Object, at, name_of, namespace_of

KEPT: Final = "simkit keeps the claims of a stateful set, whatever its persistentVolumeClaimRetentionPolicy says"
"""The text of the Event about a policy that would delete claims."""


class StatefulSetClaims:
    """The claims of one pod of a StatefulSet at a time."""

    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def make(self, client: Client, lister: Lister, owner: Object, number: int) -> None:
        """Make the claims that a pod misses. Raises RequeueError where one cannot be had."""
        failures = []
        for wanted in wanted_claims(owner, number):
            name = wanted["metadata"]["name"]
            found = lister.get(Key(CLAIMS, namespace_of(owner), name))
            if found is not None:
                failures += [f"pvc {name} is being deleted"] if is_terminating(found) else []
                continue
            response = create(client, CLAIMS, namespace_of(owner), wanted)
            pod, place = f"Pod {name_of(owner)}-{number}", f"in StatefulSet {name_of(owner)}"
            if response.succeeded:
                self._events.event(client, owner, "SuccessfulCreate", f"create Claim {name} {pod} {place} success")
                continue
            said = str(response.object.get("message"))
            failures.append(f"failed to create PVC {name}: {said}")
            if response.status != 409:
                text = f"create Claim {name} for {pod} {place} failed error: {said}"
                self._events.event(client, owner, "FailedCreate", text, warning=True)
        if failures:
            raise RequeueError(aggregate_errors(failures))


def wanted_claims(owner: Object, number: int) -> list[Draft]:
    """The claims of a pod."""
    made: list[Draft] = []
    labels = at(owner, "spec", "selector", "matchLabels") or {}
    for template in at(owner, "spec", "volumeClaimTemplates") or ():
        given = template.get("metadata") or {}
        meta = {key: value for key, value in given.items() if key in ("labels", "annotations") and value}
        meta["labels"] = {**(given.get("labels") or {}), **labels}
        meta["name"] = f"{given['name']}-{name_of(owner)}-{number}"
        spec = template.get("spec") or {}
        made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})
    return made


def own_volumes(owner: Object, name: str) -> list[Draft]:
    """The volumes that a pod of some name has by its claims."""
    templates = [each["metadata"]["name"] for each in at(owner, "spec", "volumeClaimTemplates") or ()]
    return [{"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in templates]
