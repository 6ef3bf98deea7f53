"""The scheduler as a controller: binds pods to nodes, tells why it cannot, and preempts.

Upstream: pkg/scheduler, release 1.30, with its default profile.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister
from simkit.client.requests import delete, expect, path_of, path_to
from simkit.client.resources import NODES, PODS
from simkit.client.work_queue import RequeueError
from simkit.logic.workloads.pods import has_ended
from simkit.logic.workloads.status_conditions import find
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock, timestamp
from simkit.meta.message import Request
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of
from simkit.seams import Change
from simkit.seams.snapshot import Snapshot
from simkit.simulation.scheduler.algorithm import Algorithm, Findings
from simkit.simulation.scheduler.node_info import PodInfo
from simkit.simulation.scheduler.preemption import Candidate, candidates, chosen, ineligible
from simkit.simulation.scheduler.queue import SchedulingQueue, Waiting, frees_or_attracts, matters
from simkit.simulation.scheduler.scheduler_cache import SchedulerCache
from simkit.simulation.scheduler.view import WATCHED, View, fit_message, not_preempted
from simkit.simulation.scheduler.volume_filters import prepare_claims

_LOG: Final = logging.getLogger("simkit.scheduler")
NAME: Final = "default-scheduler"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_NO_NODES: Final = "no nodes available to schedule pods"
_DISRUPTED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": f"{NAME}: preempting to accommodate a higher priority pod",
}
_IN_ONE_SYNC: Final = 500
"""The pods of one sync; the others are due at once. The revision that a sync reads must not be compacted meanwhile."""
_LONGEST_MESSAGE: Final = 1024


class Scheduler:
    """Schedules the pods that ask for the default scheduler, in the order of their priorities."""

    name = NAME
    account = "system:kube-scheduler"

    def __init__(self, clock: Clock, behaviour: ServedBehaviour, seed: int | None = None) -> None:
        self._clock = clock
        self._behaviour = behaviour
        self.cache, self.queue = SchedulerCache(behaviour), SchedulingQueue()
        self._random = Random(seed)
        self._algorithm = Algorithm(self._random)
        self._events = EventRecorder(clock, NAME)
        self._known = False
        self._nominated: dict[tuple[str, str], tuple[str, PodInfo]] = {}

    @property
    def next_time(self) -> float | None:
        return self.queue.next_time

    def concerns(self, change: Change) -> bool:
        resource = change.entry.key.resource
        return resource in (PODS, NODES) or resource in WATCHED

    def reset_backoff(self) -> None:
        self.queue.reset_pauses()

    def resume_from(self, other: Scheduler) -> None:
        """Look at everything anew: the cache is made from the snapshot."""
        self.queue.resume_from(other.queue)
        self._random.setstate(other._random.getstate())

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        if changes is None or not self._known:
            self._start(snapshot)
        else:
            for change in changes:
                self._take(change)
        lister = Lister(snapshot)
        view = View(self.cache, lister, self._clock.now())
        self.queue.wake(self._clock.now())
        for _ in range(_IN_ONE_SYNC):
            waiting = self.queue.pop(self._clock.now())
            if waiting is None:
                break
            try:
                self._schedule(client, view, waiting)
            except RequeueError as refused:
                _LOG.warning("%s/%s: %s", namespace_of(waiting.pod), name_of(waiting.pod), refused)
                self.queue.failed(waiting, self._clock.now())

    def _start(self, snapshot: Snapshot) -> None:
        self.cache, self._known = SchedulerCache(self._behaviour), True
        for node in snapshot.scan(NODES):
            self.cache.set_node(node)
        present = set()
        for pod in snapshot.scan(PODS):
            present.add((namespace_of(pod), name_of(pod)))
            self._take_pod(pod)
        for name in set(self.queue.waiting) - present:
            self.queue.remove(*name)
        self.queue.something_changed()

    def _take(self, change: Change) -> None:
        key, obj = change.entry.key, change.entry.object
        if key.resource == PODS:
            if change.type == "DELETED":
                self.cache.remove_pod(key.namespace, key.name)
                self._forget(key.namespace, key.name)
            else:
                self._take_pod(obj)
            if frees_or_attracts(change):
                self.queue.something_changed()
        elif key.resource == NODES:
            if change.type == "DELETED":
                self.cache.remove_node(key.name)
            else:
                self.cache.set_node(obj)
            if matters(change):
                self.queue.something_changed()
        else:
            self.queue.something_changed()

    def _take_pod(self, pod: Object) -> None:
        self.cache.set_pod(pod)
        namespace, name = namespace_of(pod), name_of(pod)
        spec = pod.get("spec") or {}
        wanted = (spec.get("schedulerName") or NAME) == NAME and not spec.get("schedulingGates")
        if spec.get("nodeName") or has_ended(pod) or metadata(pod).get("deletionTimestamp") or not wanted:
            self._forget(namespace, name)
            return
        self.queue.put(pod)
        node = at(pod, "status", "nominatedNodeName")
        if node:
            self._nominated[namespace, name] = (node, PodInfo(pod))
        else:
            self._nominated.pop((namespace, name), None)

    def _forget(self, namespace: str, name: str) -> None:
        self.queue.remove(namespace, name)
        self._nominated.pop((namespace, name), None)

    def _promised(self) -> dict[str, list[PodInfo]]:
        found: dict[str, list[PodInfo]] = {}
        for node, pod in self._nominated.values():
            found.setdefault(node, []).append(pod)
        return found

    def _schedule(self, client: Client, view: View, waiting: Waiting) -> None:
        pod = PodInfo(waiting.pod)
        if not self.cache.nodes():
            self._fail(client, waiting, _NO_NODES, None)
            return
        preferred = waiting.reserved or at(waiting.pod, "status", "nominatedNodeName") or ""
        findings = self._algorithm.find(pod, view, self._promised(), preferred)
        if not findings.feasible:
            self._no_room(client, view, waiting, pod, findings)
            return
        info = self._algorithm.best(pod, view, findings.feasible)
        if not prepare_claims(client, view, pod, info):
            waiting.reserved = info.name
            self.queue.postponed(waiting, self._clock.now())
            return
        self._bind(client, waiting, pod, info.name)

    def _place(self, pod: Object, node: str) -> None:
        """Count a pod on a node."""
        self.cache.set_pod({**pod, "spec": {**pod["spec"], "nodeName": node}})

    def _bind(self, client: Client, waiting: Waiting, pod: PodInfo, node: str) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": metadata(pod.pod).get("uid")},
            "target": {"kind": "Node", "name": node},
        }
        response = client.perform(Request.of_object("POST", path_to(PODS, pod.pod, "binding"), binding))
        if not response.succeeded:
            self.queue.failed(waiting, self._clock.now())
            if response.status not in (404, 409):
                self.queue.something_changed()
            return
        self._forget(*pod.key)
        self._place(pod.pod, node)
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self._events.event(client, pod.pod, "Scheduled", note)

    def _no_room(self, client: Client, view: View, waiting: Waiting, pod: PodInfo, findings: Findings) -> None:
        rejections = findings.rejections
        node = None
        why = ineligible(pod, view, rejections)
        if not why:
            start = self._random.randrange(max(1, len(rejections)))
            found, why = candidates(pod, view, rejections, self._promised(), start)
            if any(each.victims for each in found):
                best = chosen(found)
                node, why = best.info.name, ""
                self._preempt(client, best, pod)
        after = not_preempted(view.behaviour, why, before=findings.before)
        message = fit_message(len(view.cache.nodes()), rejections.values(), before=findings.before, after=after)
        self._fail(client, waiting, message, node)

    def _preempt(self, client: Client, candidate: Candidate, pod: PodInfo) -> None:
        for victim in candidate.victims:
            change = {"status": {"conditions": [self._dated(_DISRUPTED)]}}
            self._patch_status(client, victim.pod, change)
            expect(delete(client, path_to(PODS, victim.pod), victim.pod), 404, 409)
            uid = metadata(pod.pod).get("uid")
            text = f"Preempted by pod {uid} on node {candidate.info.name}"
            self._events.event(client, victim.pod, "Preempted", text)
        for name, (node, other) in list(self._nominated.items()):
            if node == candidate.info.name and other.priority < pod.priority:
                self._patch_status(client, other.pod, {"status": {"nominatedNodeName": None}})
                del self._nominated[name]

    def _dated(self, condition: Mapping[str, Any]) -> dict[str, Any]:
        return {**condition, "lastProbeTime": None, "lastTransitionTime": timestamp(self._clock.now())}

    def _fail(self, client: Client, waiting: Waiting, message: str, nominated: str | None) -> None:
        """Tell why no node was found, as an Event and as a condition of the pod."""
        now, pod = self._clock.now(), waiting.pod
        self.queue.failed(waiting, now)
        short = message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 4] + " ..."
        self._events.event(client, pod, "FailedScheduling", short, warning=True)
        wanted = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        known = find(at(pod, "status", "conditions"), "PodScheduled") or {}
        status: dict[str, Any] = {}
        if any(known.get(field) != value for field, value in wanted.items()):
            since = known.get("lastTransitionTime") if known.get("status") == "False" else None
            dated = self._dated(wanted)
            status["conditions"] = [{**dated, "lastTransitionTime": since} if since else dated]
        if (at(pod, "status", "nominatedNodeName") or "") != (nominated or "") and (nominated or self._gives_up(pod)):
            status["nominatedNodeName"] = nominated
        if status:
            self._patch_status(client, pod, {"status": status})
        if nominated:
            self._nominated[namespace_of(pod), name_of(pod)] = (nominated, PodInfo(pod))

    def _gives_up(self, pod: Object) -> bool:
        """True if the node that was promised to a pod is no longer being cleared for it."""
        info = self.cache.node(at(pod, "status", "nominatedNodeName") or "")
        return info is None or not any(each.terminating for each in info.pods.values())

    def _patch_status(self, client: Client, pod: Object, change: dict[str, Any]) -> None:
        path = path_of(PODS, namespace_of(pod), name_of(pod), "status")
        response = client.perform(Request.of("PATCH", path, change, content_type=_STRATEGIC))
        if not response.succeeded and response.status not in (404, 409):
            raise RequeueError(f"{response.status}: {response.body[:300].decode('utf-8', 'replace')}")
