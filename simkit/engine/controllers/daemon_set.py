"""Runs one pod of a DaemonSet on every node that it fits.

Upstream: pkg/controller/daemon, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import replace_status
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import DAEMON_SETS, NODES, PODS, REVISIONS
from simkit.client.work_queue import RequeueError
from simkit.engine.controllers import ownership
from simkit.engine.controllers.ownership import PodControl, owners_concerned, selector_of
from simkit.logic.workloads.nodes import fits, tolerates
from simkit.logic.workloads.pods import available_from, by_age, has_ended, integer_or_percent, is_ready, pod_of
from simkit.logic.workloads.revisions import POD_HASH, hash_of
from simkit.meta.clock import Clock
from simkit.meta.domain import label
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of
from simkit.seams import Change

_HARD: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ALWAYS: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
"""Taints of nodes in trouble: the pods of a daemon stay."""
_GENERATION: Final = "pod-template-generation"
_TEMPLATE: Final = "deprecated.daemonset.template.generation"


@dataclass(frozen=True, slots=True)
class _SetState:
    """A set with all that belongs to it."""

    owner: Object
    reference: Mapping[str, Any]
    pods: Mapping[str, Sequence[Object]]
    """By node."""
    nodes: Mapping[str, Object]
    update: Object


class DaemonSetsController(ResourceWatcher):
    """Reconciles a DaemonSet; a change of a node that scheduling looks at concerns every DaemonSet."""

    name = "daemonset-controller"
    account = "daemon-set-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(DAEMON_SETS, PODS, NODES, REVISIONS)
        self._clock = clock
        self._events = EventRecorder(clock, self.name)
        self._pods = PodControl(self._events)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        if change.entry.key.resource == NODES:
            return self.all_keys(lister) if _node_differs(change) else ()
        return owners_concerned(change, lister, DAEMON_SETS, "DaemonSet", PODS, selector_of)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        owner = lister.get(key)
        if owner is None or is_terminating(owner):
            return None
        held = (
            ownership.claim_history(client, lister, owner, "DaemonSet", lambda _: True) if selector_of(owner) else None
        )
        if held is None:
            return None
        reference, revisions, pods, update = held
        on_nodes: dict[str, list[Object]] = {}
        for pod in sorted(by_age(pods), key=lambda pod: not at(pod, "spec", "nodeName")):
            if not (is_terminating(pod) and has_ended(pod)):
                on_nodes.setdefault(_node_of(pod), []).append(pod)
        nodes = {name_of(node): node for node in lister.scan(NODES)}
        state = _SetState(owner, reference, on_nodes, nodes, update)
        try:
            if self._place(client, state) or self._update(client, state):
                return None  # the pods that come or go bring us back here
        except RequeueError:
            self._tell(client, state)
            raise
        hashes = {labels_of(pod).get(POD_HASH, "") for pod in pods}
        used = {name_of(each) for each in revisions if hash_of(each) in hashes} | {name_of(update)}
        ownership.truncate_history(client, owner, revisions, used, counted=len(used) - 1)
        return self._tell(client, state)

    def _place(self, client: Client, state: _SetState) -> bool:
        """Make pods on nodes that lack one, remove those that should not be where they are."""
        surplus, lacking = [], []
        for name in sorted({*state.nodes, *state.pods}):
            present, node = state.pods.get(name, ()), state.nodes.get(name)
            live = [pod for pod in present if not is_terminating(pod)]
            if node is None:
                surplus += [pod for pod in live if not at(pod, "spec", "nodeName")]
                continue
            runs, stays = _judged(state.owner, node)
            if not stays:
                surplus += live
                continue
            ended = list(filter(has_ended, live))
            for pod in ended:
                self._tell_end(client, state.owner, pod, name)
            running = [pod for pod in live if pod not in ended]
            surplus += [*ended, *(self._too_many(state, running) if len(running) > 1 else ())]
            if runs and not (running if self._surges(state) else present):
                lacking.append(name)
        for pod in surplus[:_MOST_AT_ONCE]:
            self._pods.remove(client, state.owner, pod)
        for name in lacking[:_MOST_AT_ONCE]:
            self._create(client, state, name)
        return bool(surplus or lacking)

    def _too_many(self, state: _SetState, running: Sequence[Object]) -> list[Object]:
        """Of several pods on a node those that are not to stay: a surge has two until the new one is available."""
        if not self._surges(state):
            return list(running[1:])
        new = [pod for pod in running if labels_of(pod).get(POD_HASH) == hash_of(state.update)]
        old = [pod for pod in running if pod not in new]
        surplus = [*new[1:], *old[1:]]
        if new and old and (not is_ready(old[0]) or self._available(state, new[0])):
            surplus.append(old[0])
        return surplus

    def _tell_end(self, client: Client, owner: Object, pod: Object, node: str) -> None:
        failed, which = at(pod, "status", "phase") == "Failed", f"{metadata(pod)['namespace']}/{name_of(pod)}"
        word, wish = ("failed", "kill") if failed else ("succeeded", "delete")
        text = f"Found {word} daemon pod {which} on node {node}, will try to {wish} it"
        self._events.event(client, owner, f"{word.capitalize()}DaemonPod", text, warning=failed)

    def _surges(self, state: _SetState) -> bool:
        value = at(state.owner, "spec", "updateStrategy", "rollingUpdate", "maxSurge")
        return value not in (None, 0, "0%")

    def _update(self, client: Client, state: _SetState) -> bool:
        """Replace pods of old templates, so that not too many nodes are without at a time."""
        if at(state.owner, "spec", "updateStrategy", "type") != "RollingUpdate":
            return False
        wanted = sum(_judged(state.owner, node)[0] for node in state.nodes.values())
        rolling = at(state.owner, "spec", "updateStrategy", "rollingUpdate") or {}
        if self._surges(state):
            return self._surge(client, state, wanted, integer_or_percent(rolling["maxSurge"], wanted, up=True))
        most = integer_or_percent(rolling.get("maxUnavailable", 1), wanted, up=True)
        old: list[Object] = []
        surplus: list[Object] = []
        for name in sorted(state.pods):
            live = [pod for pod in state.pods[name] if not is_terminating(pod)]
            if len(live) != 1 or (self._is_new(state, live[0]) and not self._available(state, live[0])):
                most -= 1
            elif not self._is_new(state, live[0]):
                (old if self._available(state, live[0]) else surplus).append(live[0])
        surplus += old[: max(0, most)]
        for pod in surplus:
            self._pods.remove(client, state.owner, pod)
        return bool(surplus)

    def _surge(self, client: Client, state: _SetState, wanted: int, most: int) -> bool:
        """Make new pods beside old ones, and remove the old ones once the new ones are available.

        Where a pod should not be any more, it goes only when enough are available elsewhere.
        """
        available = 0
        surplus: list[Object] = []
        strays: list[str] = []
        lacking: list[str] = []
        waiting: list[str] = []
        for name in sorted(state.pods):
            live = [pod for pod in state.pods[name] if not is_terminating(pod)]
            new = [pod for pod in live if self._is_new(state, pod)]
            old = [pod for pod in live if not self._is_new(state, pod)]
            available += any(self._available(state, pod) for pod in (old or new)[:1])
            node = state.nodes.get(name)
            if not old or node is None:
                continue
            runs = _judged(state.owner, node)[0]
            if new and self._available(state, new[0]):
                surplus.append(old[0])
            elif new:
                most -= 1
            elif self._available(state, old[0]):
                (waiting if runs else strays).append(name)
            elif runs:
                lacking.append(name)
            else:
                surplus.append(old[0])
        gone = strays[: max(0, available - wanted)]
        surplus += [pod for name in gone for pod in state.pods[name] if not is_terminating(pod)]
        made = [*lacking, *waiting[: max(0, most)]]
        for pod in surplus:
            self._pods.remove(client, state.owner, pod)
        for name in made:
            self._create(client, state, name)
        return bool(surplus or made)

    def _is_new(self, state: _SetState, pod: Object) -> bool:
        generation = labels_of(pod).get(_GENERATION)
        if generation is not None and generation == annotations_of(state.owner).get(_TEMPLATE):
            return True
        return labels_of(pod).get(POD_HASH) == hash_of(state.update)

    def _available(self, state: _SetState, pod: Object) -> bool:
        start = available_from(pod, at(state.owner, "spec", "minReadySeconds") or 0)
        return start is not None and start <= self._clock.now()

    def _create(self, client: Client, state: _SetState, node: str) -> None:
        failure = self._pods.create(client, state.owner, _pod(state, node))
        if failure:
            raise RequeueError(failure)

    def _tell(self, client: Client, state: _SetState) -> float | None:
        now, counts = self._clock.now(), dict.fromkeys(_COUNTS, 0)
        later: list[float] = []
        for name, node in state.nodes.items():
            runs, _ = _judged(state.owner, node)
            live = state.pods.get(name, ())
            counts["desiredNumberScheduled"] += runs
            if not live:
                continue
            if not runs:
                counts["numberMisscheduled"] += 1
                continue
            counts["currentNumberScheduled"] += 1
            counts["numberReady"] += is_ready(live[0])
            counts["updatedNumberScheduled"] += self._is_new(state, live[0])
            start = available_from(live[0], at(state.owner, "spec", "minReadySeconds") or 0)
            counts["numberAvailable"] += start is not None and start <= now
            later += [start] if start is not None and start > now else []
        counts["numberUnavailable"] = counts["desiredNumberScheduled"] - counts["numberAvailable"]
        counts["observedGeneration"] = metadata(state.owner).get("generation") or 0
        status: dict[str, Any] = {name: number for name, number in counts.items() if number or name in _WRITTEN}
        for name in ("collisionCount", "conditions"):
            if at(state.owner, "status", name):
                status[name] = state.owner["status"][name]
        replace_status(client, DAEMON_SETS, state.owner, status)
        return min(later, default=None)


_MOST_AT_ONCE: Final = 250
"""The most pods that one sync creates or deletes: BurstReplicas of the daemon set controller."""
_WRITTEN: Final = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
_COUNTS: Final = (*_WRITTEN, "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "observedGeneration")


def _node_differs(change: Change) -> bool:
    if change.previous is None or change.type == "DELETED":
        return True
    new, old = change.entry.object, change.previous.object
    return labels_of(new) != labels_of(old) or at(new, "spec", "taints") != at(old, "spec", "taints")


def _judged(owner: Object, node: Object) -> tuple[bool, bool]:
    """Two facts: a pod of the set should run on the node, and an existing one may continue."""
    template = at(owner, "spec", "template") or {}
    if not fits(template, node):
        return False, False
    tolerations = _tolerations(template)
    stays = tolerates(tolerations, node, "NoExecute")
    return stays and tolerates(tolerations, node, "NoSchedule"), stays


def _tolerations(template: Object) -> list[Mapping[str, Any]]:
    given = list(at(template, "spec", "tolerations") or ())
    always = [(name, effect) for name, effect in _ALWAYS]
    if at(template, "spec", "hostNetwork"):
        always.append(("network-unavailable", "NoSchedule"))
    added = [{"key": label(name, "node"), "operator": "Exists", "effect": effect} for name, effect in always]
    for each in added:
        alike = [number for number, known in enumerate(given) if _without_time(known) == each]
        if alike:
            given[alike[0]] = each
        else:
            given.append(each)
    return given


def _without_time(toleration: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _node_of(pod: Object) -> str:
    """The node that a pod runs on, or is made for."""
    if at(pod, "spec", "nodeName"):
        return str(pod["spec"]["nodeName"])
    terms = at(pod, "spec", "affinity", "nodeAffinity", _HARD, "nodeSelectorTerms") or ()
    for term in terms:
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def _pod(state: _SetState, node: str) -> dict[str, Any]:
    template = at(state.owner, "spec", "template") or {}
    pod = pod_of(template, state.reference, generateName=f"{name_of(state.owner)}-")
    own = {POD_HASH: hash_of(state.update)}
    if _TEMPLATE in annotations_of(state.owner):
        own[_GENERATION] = annotations_of(state.owner)[_TEMPLATE]
    pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **own}
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = dict(pod["spec"].get("affinity") or {})
    nodes = dict(affinity.get("nodeAffinity") or {})
    nodes[_HARD] = {"nodeSelectorTerms": [here]}
    pod["spec"] |= {"affinity": {**affinity, "nodeAffinity": nodes}, "tolerations": _tolerations(template)}
    return pod
