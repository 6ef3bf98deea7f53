"""Keeps the numbered pods of StatefulSets, created and replaced in order.

Upstream: pkg/controller/statefulset, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, expect, keys_of, remove, replace, replace_status
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import CLAIMS, PODS, REVISIONS, STATEFUL_SETS
from simkit.client.work_queue import RequeueError
from simkit.engine.controllers import ownership
from simkit.engine.controllers.ownership import MOST_AT_ONCE, owners_concerned, selector_of
from simkit.logic.workloads.pods import available_from, has_ended, is_ready, pod_of
from simkit.logic.workloads.revisions import POD_HASH, template_of
from simkit.meta.clock import Clock
from simkit.meta.domain import label
from simkit.meta.fielderror import aggregate_errors
from simkit.meta.integers import is_digits, parse_int
from simkit.meta.message import Response
from simkit.meta.names import Key
from simkit.meta.objects import Draft, Object, at, labels_of, metadata, name_of, namespace_of, with_metadata
from simkit.seams import Change

_POD_NAME: Final = label("pod-name", "statefulset")
_POD_INDEX: Final = label("pod-index", "apps")


@dataclass(frozen=True, slots=True)
class _SetState:
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
    def beyond(self) -> list[int]:
        """The numbers of pods that are too many, from the last."""
        return sorted((number for number in self.pods if number not in self.wanted), reverse=True)

    @property
    def in_order(self) -> bool:
        return bool(at(self.owner, "spec", "podManagementPolicy") != "Parallel")

    @property
    def partition(self) -> int | None:
        found: int | None = at(self.owner, "spec", "updateStrategy", "rollingUpdate", "partition")
        return found


class StatefulSetController(ResourceWatcher):
    """Takes one step at a time under OrderedReady, and all at once under Parallel."""

    name = account = "statefulset-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(STATEFUL_SETS, PODS, REVISIONS, CLAIMS)
        self._clock = clock
        self._events = EventRecorder(clock, self.name)
        self._claims = StatefulSetClaims(self._events)

    def concerns(self, change: Change) -> bool:
        return super().concerns(change) and (change.entry.key.resource != CLAIMS or change.type == "DELETED")

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource != CLAIMS:
            return owners_concerned(change, lister, STATEFUL_SETS, "StatefulSet", PODS, selector_of)
        rest, _, number = key.name.rpartition("-")
        owners = lister.scan(STATEFUL_SETS, key.namespace) if is_digits(number) else ()
        return keys_of(STATEFUL_SETS, [each for each in owners if rest.endswith(f"-{name_of(each)}")])

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        owner = lister.get(key)
        if owner is None:
            return None
        if is_terminating(owner):
            return self._tell(client, _last_scene(lister, owner))
        held = ownership.claim_history(client, lister, owner, "StatefulSet", partial(_is_named, owner))
        if held is None:
            return None
        if "Delete" in (at(owner, "spec", "persistentVolumeClaimRetentionPolicy") or {}).values():
            self._events.event(client, owner, "NotSimulated", KEPT, warning=True)
        reference, revisions, pods, update = held
        named = {name_of(each): each for each in revisions}
        current = named.get(at(owner, "status", "currentRevision") or "", update)
        state = _SetState(owner, reference, _numbered(owner, pods), current, update)
        try:
            if self._act(client, lister, state):
                return None  # the pods that come or go bring us back here
        except RequeueError:
            self._tell(client, state)
            raise
        used = {name_of(current), name_of(update)}
        used |= {labels_of(pod).get(POD_HASH, "") for pod in pods}
        ownership.truncate_history(client, owner, revisions, used)
        return self._tell(client, state)

    # What to do

    def _act(self, client: Client, lister: Lister, state: _SetState) -> bool:
        """Make, remove or replace pods; False when there is nothing to do for now."""
        acted = 0
        for number in state.wanted:
            done = self._tend(client, lister, state, number)
            acted += bool(done)
            if (state.in_order and done is not False) or acted >= MOST_AT_ONCE:
                return acted > 0
        return self._shrink(client, state) or acted > 0 or self._update(client, state)

    def _tend(self, client: Client, lister: Lister, state: _SetState, number: int) -> bool | None:
        """True if a wanted pod was changed. None: it must make progress before the next one."""
        pod = state.pods.get(number)
        if pod is None:
            self._create(client, lister, state, number)
            return True
        if has_ended(pod):
            if is_terminating(pod):
                return None
            self._recreate(client, state, pod)
            return True
        if at(pod, "status", "phase") == "Pending":
            self._claims.make(client, lister, state.owner, number)
        if state.in_order and (is_terminating(pod) or not self._serves(state, pod)):
            return None
        self._correct(client, lister, state, number, pod)
        return False

    def _correct(self, client: Client, lister: Lister, state: _SetState, number: int, pod: Object) -> None:
        """Bring back what makes a pod one of the set: its label and its volumes."""
        owner, own = state.owner, own_volumes(state.owner, name_of(pod))
        wanted = pod
        if labels_of(pod).get(_POD_NAME) != name_of(pod):
            own_labels = {_POD_NAME: name_of(pod), _POD_INDEX: str(number)}
            wanted = with_metadata(pod, labels={**labels_of(pod), **own_labels})
        volumes = at(pod, "spec", "volumes") or ()
        claimed = {each["name"]: at(each, "persistentVolumeClaim", "claimName") for each in volumes}
        if any(claimed.get(each["name"]) != each["persistentVolumeClaim"]["claimName"] for each in own):
            self._claims.make(client, lister, owner, number)
            wanted = {**wanted, "spec": {**wanted["spec"], "volumes": _volumes(own, volumes)}}
        if wanted != pod:
            response = replace(client, PODS, wanted)
            self._tell_of(client, owner, "update", name_of(pod), response)
            expect(response, 404, 409)

    def _serves(self, state: _SetState, pod: Object) -> bool:
        """True if a pod is far enough for the next one."""
        start = available_from(pod, at(state.owner, "spec", "minReadySeconds") or 0) if _is_running(pod) else None
        return start is not None and start <= self._clock.now()

    def _shrink(self, client: Client, state: _SetState) -> bool:
        """Remove pods beyond the wanted ones, from the last; in order, those that serve or the first that does not."""
        acted = False
        sick = min((each for each in state.beyond if not _is_healthy(state.pods[each])), default=None)
        for number in state.beyond:
            pod = state.pods[number]
            waits = is_terminating(pod) or not (number == sick or self._serves(state, pod))
            if state.in_order and waits:
                return acted
            if not is_terminating(pod):
                self._remove(client, state, pod)
                acted = True
            if state.in_order:
                return True
        return acted

    def _update(self, client: Client, state: _SetState) -> bool:
        """Remove the last pod of an old revision, if all after it are healthy."""
        if at(state.owner, "spec", "updateStrategy", "type") == "OnDelete":
            return False
        least = state.first + (state.partition or 0)
        for number in reversed(state.wanted):
            pod = state.pods.get(number)
            if pod is None or number < least:
                return False
            if _revision_of(pod) != name_of(state.update) and not is_terminating(pod):
                self._remove(client, state, pod)
                return True
            if not _is_healthy(pod):
                return False
        return False

    # Pods

    def _create(self, client: Client, lister: Lister, state: _SetState, number: int) -> None:
        owner, name = state.owner, f"{name_of(state.owner)}-{number}"
        try:
            self._claims.make(client, lister, owner, number)
        except RequeueError as failure:
            self._tell_failure(client, owner, "create", name, str(failure))
            raise
        revision = state.current if _needs_current(state, number) else state.update
        made = create(client, PODS, namespace_of(owner), _pod(state, revision, name, number))
        self._tell_of(client, owner, "create", name, made)
        if not made.succeeded and made.status != 409:
            raise RequeueError(str(made.object.get("message")))

    def _remove(self, client: Client, state: _SetState, pod: Object) -> None:
        self._tell_of(client, state.owner, "delete", name_of(pod), remove(client, PODS, pod))

    def _recreate(self, client: Client, state: _SetState, pod: Object) -> None:
        """Remove a pod that has ended; another one takes its place when it is gone."""
        failed = at(pod, "status", "phase") == "Failed"
        word, owner = "failed" if failed else "terminated", state.owner
        about = f"StatefulSet {metadata(owner)['namespace']}/{name_of(owner)}"
        text = f"{about} is recreating {word} Pod {name_of(pod)}"
        self._events.event(client, owner, f"Recreating{word.capitalize()}Pod", text, warning=failed)
        self._remove(client, state, pod)

    def _tell_of(self, client: Client, owner: Object, verb: str, name: str, response: Response) -> None:
        """An event about what was done to a pod."""
        if response.succeeded:
            text = f"{verb} Pod {name} in StatefulSet {name_of(owner)} successful"
            self._events.event(client, owner, f"Successful{verb.capitalize()}", text)
        elif response.status not in (404, 409):
            self._tell_failure(client, owner, verb, name, str(response.object.get("message")))

    def _tell_failure(self, client: Client, owner: Object, verb: str, name: str, said: str) -> None:
        text = f"{verb} Pod {name} in StatefulSet {name_of(owner)} failed error: {said}"
        self._events.event(client, owner, f"Failed{verb.capitalize()}", text, warning=True)

    # Status

    def _tell(self, client: Client, state: _SetState) -> float | None:
        now, wait = self._clock.now(), at(state.owner, "spec", "minReadySeconds") or 0
        pods = list(state.pods.values())
        starts = [start for start in (available_from(pod, wait) for pod in pods) if start is not None]
        live = [pod for pod in pods if not is_terminating(pod)]
        current = name_of(state.current)
        counts = {
            "observedGeneration": metadata(state.owner).get("generation") or 0,
            "readyReplicas": sum(is_ready(pod) and _is_running(pod) for pod in pods),
            "updatedReplicas": sum(_revision_of(pod) == name_of(state.update) for pod in live),
        }
        rolled = counts["updatedReplicas"] == counts["readyReplicas"] == len(pods) == len(state.wanted)
        if rolled and at(state.owner, "spec", "updateStrategy", "type") != "OnDelete":
            current = name_of(state.update)
        counts["currentReplicas"] = sum(_revision_of(pod) == current for pod in live)
        status: dict[str, Any] = {name: number for name, number in counts.items() if number}
        status |= {"replicas": len(pods), "availableReplicas": sum(start <= now for start in starts)}
        status |= {"currentRevision": current, "updateRevision": name_of(state.update)}
        status["collisionCount"] = at(state.owner, "status", "collisionCount") or 0
        replace_status(client, STATEFUL_SETS, state.owner, status)
        return min((start for start in starts if start > now), default=None)


def _is_named(owner: Object, pod: Object) -> bool:
    """True if a pod has a name that the set would give."""
    parent, _, number = name_of(pod).rpartition("-")
    return parent == name_of(owner) and parse_int(number, bits=32) is not None


def _numbered(owner: Object, pods: Sequence[Object]) -> dict[int, Object]:
    return {int(name_of(pod).rpartition("-")[2]): pod for pod in pods if _is_named(owner, pod)}


def _last_scene(lister: Lister, owner: Object) -> _SetState:
    """A set that goes: it makes and takes in nothing any more, but says which pods are left."""
    pods = lister.controlled(PODS, namespace_of(owner), uid_of(owner))
    status = owner.get("status") or {}
    current, update = ({"metadata": {"name": status.get(each, "")}} for each in ("currentRevision", "updateRevision"))
    return _SetState(owner, {}, _numbered(owner, pods), current, update)


def _revision_of(pod: Object) -> str:
    return labels_of(pod).get(POD_HASH, "")


def _needs_current(state: _SetState, number: int) -> bool:
    """True if a pod that has to be made anew still gets the old template."""
    if at(state.owner, "spec", "updateStrategy", "type") == "OnDelete":
        return False
    partition = state.partition
    if partition is not None:
        return number < state.first + partition
    return number < state.first + (at(state.owner, "status", "currentReplicas") or 0)


def _pod(state: _SetState, revision: Object, name: str, number: int) -> dict[str, Any]:
    owner = state.owner
    template = template_of(revision)
    pod = pod_of(template, state.reference, name=name, generateName=f"{name_of(owner)}-")
    own = {POD_HASH: name_of(revision), _POD_NAME: name, _POD_INDEX: str(number)}
    pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **own}
    pod["spec"] |= {"hostname": name, "subdomain": at(owner, "spec", "serviceName") or ""}
    volumes = _volumes(own_volumes(owner, name), pod["spec"].get("volumes") or ())
    if volumes:
        pod["spec"]["volumes"] = volumes
    return pod


def _volumes(own: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """The volumes of a pod: those by its claims take the place of others of their names."""
    taken = {each["name"] for each in own}
    return [*own, *(each for each in others if each["name"] not in taken)]


def _is_running(pod: Object) -> bool:
    return bool(at(pod, "status", "phase") == "Running")


def _is_healthy(pod: Object) -> bool:
    return _is_running(pod) and is_ready(pod) and not is_terminating(pod)


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
