"""Numbered pods with claims of their own, made and replaced one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.engine.controllers import history
from simkit.engine.controllers.claiming import owners_concerned, selector_of
from simkit.engine.controllers.events import Events
from simkit.engine.controllers.keyed import Unfinished
from simkit.engine.controllers.kinds import CLAIMS, PODS, REVISIONS, STATEFUL_SETS
from simkit.engine.controllers.runner import Client
from simkit.engine.controllers.sending import create, expect, keys_of, merge, remove, replace_status
from simkit.engine.controllers.view import View, going, uid_of
from simkit.engine.controllers.watching import Watching
from simkit.engine.seams import Change
from simkit.logic.workloads.pods import available_from, is_ready, pod_of
from simkit.logic.workloads.revisions import POD_HASH, template_of
from simkit.meta.clock import Clock
from simkit.meta.domain import label
from simkit.meta.message import Response
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, labels_of, metadata, name_of

_POD_NAME: Final = label("pod-name", "statefulset")
_POD_INDEX: Final = label("pod-index", "apps")


@dataclass(frozen=True, slots=True)
class _Scene:
    """A set with all that belongs to it."""

    owner: Object
    reference: Mapping[str, Any]
    pods: Mapping[int, Object]
    """By number."""
    current: Object
    update: Object
    """The revisions that pods have and are to have."""

    @property
    def first(self) -> int:
        return at(self.owner, "spec", "ordinals", "start") or 0

    @property
    def wanted(self) -> range:
        return range(self.first, self.first + (at(self.owner, "spec", "replicas") or 0))

    @property
    def in_order(self) -> bool:
        return bool(at(self.owner, "spec", "podManagementPolicy") != "Parallel")

    @property
    def partition(self) -> int | None:
        found: int | None = at(self.owner, "spec", "updateStrategy", "rollingUpdate", "partition")
        return found


class StatefulSets(Watching):
    """One step at a time where pods are in order, all at once where they are parallel."""

    name = account = "statefulset-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(STATEFUL_SETS, PODS, REVISIONS)
        self._clock = clock
        self._events = Events(clock, self.name)

    def affected(self, change: Change, view: View) -> Iterable[Key]:
        return owners_concerned(change, view, STATEFUL_SETS, "StatefulSet", PODS, selector_of)

    def everything(self, view: View) -> Iterable[Key]:
        return keys_of(STATEFUL_SETS, view.scan(STATEFUL_SETS))

    def reconcile(self, client: Client, view: View, key: Key) -> float | None:
        owner = view.get(key)
        if owner is None or going(owner):
            return None
        held = history.held(client, view, owner, "StatefulSet")
        if held is None:
            return None
        reference, revisions, pods, update = held
        named = {name_of(each): each for each in revisions}
        current = named.get(at(owner, "status", "currentRevision") or "", update)
        scene = _Scene(owner, reference, _numbered(owner, pods), current, update)
        if self._act(client, view, scene):
            return None  # the pods that come or go bring us back here
        used = {name_of(current), name_of(update)}
        used |= {labels_of(pod).get(POD_HASH, "") for pod in pods}
        history.forget(client, owner, revisions, used)
        return self._tell(client, scene)

    # What to do

    def _act(self, client: Client, view: View, scene: _Scene) -> bool:
        """Make, remove or replace pods; False when there is nothing to do for now."""
        acted = False
        for number in scene.wanted:
            pod = scene.pods.get(number)
            if pod is None:
                self._create(client, view, scene, number)
                acted = True
            elif at(pod, "status", "phase") in ("Failed", "Succeeded") and not going(pod):
                self._recreate(client, scene, pod)
                acted = True
            elif scene.in_order and not self._serves(scene, pod):
                return acted
            if acted and scene.in_order:
                return True
        return self._shrink(client, view, scene) or acted or self._update(client, scene)

    def _serves(self, scene: _Scene, pod: Object) -> bool:
        """Whether a pod is far enough for the next one."""
        if going(pod) or at(pod, "status", "phase") != "Running":
            return False
        start = available_from(pod, at(scene.owner, "spec", "minReadySeconds") or 0)
        return start is not None and start <= self._clock.now()

    def _shrink(self, client: Client, view: View, scene: _Scene) -> bool:
        """Remove pods beyond the wanted ones, from the last."""
        beyond = sorted((number for number in scene.pods if number not in scene.wanted), reverse=True)
        acted = False
        for number in beyond:
            pod = scene.pods[number]
            if going(pod):
                if scene.in_order:
                    return acted
                continue
            self._hand_claims_to(client, view, scene, number, pod)
            self._remove(client, scene, pod)
            acted = True
            if scene.in_order:
                return True
        return acted

    def _update(self, client: Client, scene: _Scene) -> bool:
        """Remove the last pod of an old revision, if all after it serve."""
        if at(scene.owner, "spec", "updateStrategy", "type") == "OnDelete":
            return False
        least = scene.first + (scene.partition or 0)
        for number in reversed(scene.wanted):
            pod = scene.pods.get(number)
            if pod is None or number < least:
                return False
            if _revision_of(pod) != name_of(scene.update) and not going(pod):
                self._remove(client, scene, pod)
                return True
            if not self._serves(scene, pod):
                return False
        return False

    # Pods and their claims

    def _create(self, client: Client, view: View, scene: _Scene, number: int) -> None:
        owner, name = scene.owner, f"{name_of(scene.owner)}-{number}"
        namespace = metadata(owner)["namespace"]
        for wanted in _claims(owner, number):
            if view.get(Key(CLAIMS, namespace, wanted["metadata"]["name"])) is None:
                if at(owner, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete":
                    reference = {**scene.reference, "blockOwnerDeletion": False, "controller": False}
                    wanted["metadata"]["ownerReferences"] = [reference]
                made = create(client, CLAIMS, namespace, wanted)
                self._tell_of(client, owner, "create", f"Claim {wanted['metadata']['name']} Pod {name}", made)
                expect(made, 409)
        revision = scene.current if _needs_current(scene, number) else scene.update
        made = create(client, PODS, namespace, _pod(scene, revision, name, number))
        self._tell_of(client, owner, "create", f"Pod {name}", made)
        if not made.succeeded and made.status != 409:
            raise Unfinished(str(made.object.get("message")))

    def _remove(self, client: Client, scene: _Scene, pod: Object) -> None:
        self._tell_of(client, scene.owner, "delete", f"Pod {name_of(pod)}", remove(client, PODS, pod))

    def _recreate(self, client: Client, scene: _Scene, pod: Object) -> None:
        """Remove a pod that has ended; another one takes its place when it is gone."""
        failed = at(pod, "status", "phase") == "Failed"
        word, owner = "failed" if failed else "terminated", scene.owner
        about = f"StatefulSet {metadata(owner)['namespace']}/{name_of(owner)}"
        text = f"{about} is recreating {word} Pod {name_of(pod)}"
        self._events.tell(client, owner, f"Recreating{word.capitalize()}Pod", text, warning=failed)
        self._remove(client, scene, pod)

    def _tell_of(self, client: Client, owner: Object, verb: str, what: str, response: Response) -> None:
        """An event about a pod, or a claim of a pod: the real server's words for the two differ."""
        place, claim = f"in StatefulSet {name_of(owner)}", what.startswith("Claim")
        if response.succeeded:
            text = f"{verb} {what} {place} success{'' if claim else 'ful'}"
            self._events.tell(client, owner, f"Successful{verb.capitalize()}", text)
        elif response.status not in (404, 409):
            what = what.replace(" Pod ", " for Pod ")
            text = f"{verb} {what} {place} failed error: {response.object.get('message')}"
            self._events.tell(client, owner, f"Failed{verb.capitalize()}", text, warning=True)

    def _hand_claims_to(self, client: Client, view: View, scene: _Scene, number: int, pod: Object) -> None:
        """Claims that are not kept when a set shrinks go with their pod."""
        if at(scene.owner, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled") != "Delete":
            return
        reference = {"apiVersion": "v1", "kind": "Pod", "name": name_of(pod), "uid": uid_of(pod)}
        for each in _claims(scene.owner, number):
            found = view.get(Key(CLAIMS, metadata(pod)["namespace"], each["metadata"]["name"]))
            if found is not None:
                owners = [*(metadata(found).get("ownerReferences") or ()), reference]
                expect(merge(client, CLAIMS, found, {"metadata": {"ownerReferences": owners}}), 404, 409)

    # Status

    def _tell(self, client: Client, scene: _Scene) -> float | None:
        now, wait = self._clock.now(), at(scene.owner, "spec", "minReadySeconds") or 0
        pods = list(scene.pods.values())
        starts = [start for start in (available_from(pod, wait) for pod in pods) if start is not None]
        live = [pod for pod in pods if not going(pod)]
        current = name_of(scene.current)
        counts = {
            "observedGeneration": metadata(scene.owner).get("generation") or 0,
            "readyReplicas": sum(is_ready(pod) and at(pod, "status", "phase") == "Running" for pod in pods),
            "updatedReplicas": sum(_revision_of(pod) == name_of(scene.update) for pod in live),
        }
        rolled = counts["updatedReplicas"] == counts["readyReplicas"] == len(pods) == len(scene.wanted)
        if rolled and at(scene.owner, "spec", "updateStrategy", "type") != "OnDelete":
            current = name_of(scene.update)
        counts["currentReplicas"] = sum(_revision_of(pod) == current for pod in live)
        status: dict[str, Any] = {name: number for name, number in counts.items() if number}
        status |= {"replicas": len(pods), "availableReplicas": sum(start <= now for start in starts)}
        status |= {"currentRevision": current, "updateRevision": name_of(scene.update)}
        status["collisionCount"] = at(scene.owner, "status", "collisionCount") or 0
        replace_status(client, STATEFUL_SETS, scene.owner, status)
        return min((start for start in starts if start > now), default=None)


def _numbered(owner: Object, pods: Sequence[Object]) -> dict[int, Object]:
    found: dict[int, Object] = {}
    for pod in pods:
        parent, _, number = name_of(pod).rpartition("-")
        if parent == name_of(owner) and number.isdigit():
            found[int(number)] = pod
    return found


def _revision_of(pod: Object) -> str:
    return labels_of(pod).get(POD_HASH, "")


def _needs_current(scene: _Scene, number: int) -> bool:
    """Whether a pod that has to be made anew still gets the old template."""
    if at(scene.owner, "spec", "updateStrategy", "type") == "OnDelete":
        return False
    partition = scene.partition
    if partition is not None:
        return number < scene.first + partition
    return number < scene.first + (at(scene.owner, "status", "currentReplicas") or 0)


def _pod(scene: _Scene, revision: Object, name: str, number: int) -> dict[str, Any]:
    owner = scene.owner
    template = template_of(revision)
    pod = pod_of(template, scene.reference, name=name, generateName=f"{name_of(owner)}-")
    own = {POD_HASH: name_of(revision), _POD_NAME: name, _POD_INDEX: str(number)}
    pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **own}
    pod["spec"] |= {"hostname": name, "subdomain": at(owner, "spec", "serviceName") or ""}
    volumes = [
        {"name": template_name, "persistentVolumeClaim": {"claimName": f"{template_name}-{name}"}}
        for template_name in _claim_names(owner)
    ]
    kept = [each for each in pod["spec"].get("volumes") or () if each["name"] not in _claim_names(owner)]
    if volumes or kept:
        pod["spec"]["volumes"] = [*volumes, *kept]
    return pod


def _claim_names(owner: Object) -> list[str]:
    return [each["metadata"]["name"] for each in at(owner, "spec", "volumeClaimTemplates") or ()]


def _claims(owner: Object, number: int) -> list[dict[str, Any]]:
    """The claims of a pod."""
    made: list[dict[str, Any]] = []
    labels = at(owner, "spec", "selector", "matchLabels") or {}
    for template in at(owner, "spec", "volumeClaimTemplates") or ():
        given = template.get("metadata") or {}
        meta = {key: value for key, value in given.items() if key in ("labels", "annotations") and value}
        meta["labels"] = {**(given.get("labels") or {}), **labels}
        meta["name"] = f"{given['name']}-{name_of(owner)}-{number}"
        spec = template.get("spec") or {}
        made.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})
    return made
