"""Keeps the claims of a StatefulSet's pods, by its retention policy.

Upstream: pkg/controller/statefulset/stateful_pod_control.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, expect, replace
from simkit.client.resources import CLAIMS
from simkit.client.work_queue import RequeueError
from simkit.engine.controllers.ownership import owners_of
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.names import Key
from simkit.meta.objects import Draft, Object, at, name_of, namespace_of, with_metadata

_POLICY: Final = ("spec", "persistentVolumeClaimRetentionPolicy")


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

    def follow(self, client: Client, lister: Lister, owner: Object, pod: Object, *, beyond: bool) -> bool:
        """Have a pod's claims owned as the policy says, where the pod is ``beyond`` the wanted ones or not."""
        changed = False
        number = int(name_of(pod).rpartition("-")[2])
        for found in _present(lister, owner, number):
            owners = owners_of(found)
            wanted = _owners(owner, pod, owners, beyond=beyond)
            if wanted != list(owners):
                expect(replace(client, CLAIMS, with_metadata(found, ownerReferences=wanted)), 404, 409)
                changed = True
        return changed


def stale(lister: Lister, owner: Object, number: int) -> bool:
    """True if a claim still goes with an earlier pod of a number."""
    if (at(owner, *_POLICY, "whenScaled") or "Retain") == "Retain":
        return False
    named = (each.get("name") for found in _present(lister, owner, number) for each in owners_of(found))
    return f"{name_of(owner)}-{number}" in named


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


def _present(lister: Lister, owner: Object, number: int) -> Iterator[Object]:
    for wanted in wanted_claims(owner, number):
        found = lister.get(Key(CLAIMS, namespace_of(owner), wanted["metadata"]["name"]))
        if found is not None:
            yield found


def _owners(
    owner: Object, pod: Object, owners: Sequence[Mapping[str, Any]], *, beyond: bool
) -> list[Mapping[str, Any]]:
    scaled = at(owner, *_POLICY, "whenScaled") == "Delete"
    deleted = at(owner, *_POLICY, "whenDeleted") == "Delete"
    wanted = {uid_of(owner): deleted and not (scaled and beyond), uid_of(pod): scaled and beyond}
    kept = [each for each in owners if wanted.get(each.get("uid", ""), True)]
    known = {each.get("uid") for each in kept}
    for version, kind, each in (("apps/v1", "StatefulSet", owner), ("v1", "Pod", pod)):
        if wanted[uid_of(each)] and uid_of(each) not in known:
            kept.append({"apiVersion": version, "kind": kind, "name": name_of(each), "uid": uid_of(each)})
    return kept
