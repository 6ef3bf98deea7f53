"""Keeps as many pods as a ReplicaSet or a ReplicationController asks for.

Upstream: pkg/controller/replicaset, release 1.30.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simkit.engine.controllers.client_requests import keys_of, replace_status
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.controller_refs import ClaimRules, claim, owners_concerned, selector_of
from simkit.engine.controllers.event_recorder import EventRecorder
from simkit.engine.controllers.lister import Lister, is_terminating, uid_of
from simkit.engine.controllers.pod_control import MOST_AT_ONCE, PodControl
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS
from simkit.engine.controllers.work_queue import RequeueError
from simkit.engine.seams import Change
from simkit.logic.workloads.pods import available_from, is_active, is_ready, owner_reference, pod_of, removal_rank
from simkit.meta.clock import Clock, timestamp
from simkit.meta.labels import LabelSelector, of_object
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, controller_of, labels_of, metadata, name_of, namespace_of


class ReplicaSetController(ResourceWatcher):
    """Creates missing pods, deletes surplus ones, and writes the status."""

    def __init__(self, clock: Clock, resource: GroupResource, kind: str, name: str, account: str) -> None:
        super().__init__(PODS, resource)
        self._clock, self._resource, self._kind = clock, resource, kind
        self.name, self.account = name, account
        self._pods = PodControl(EventRecorder(clock, account))

    @classmethod
    def sets(cls, clock: Clock) -> ReplicaSetController:
        """For ReplicaSets."""
        return cls(clock, REPLICA_SETS, "ReplicaSet", "replicaset-controller", "replicaset-controller")

    @classmethod
    def controllers(cls, clock: Clock) -> ReplicaSetController:
        """For ReplicationControllers."""
        name, account = "replicationcontroller-controller", "replication-controller"
        return cls(clock, REPLICATION_CONTROLLERS, "ReplicationController", name, account)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return owners_concerned(change, lister, self._resource, self._kind, PODS, self._selector)

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(self._resource, lister.scan(self._resource))

    def _selector(self, owner: Object) -> LabelSelector:
        if self._resource == REPLICA_SETS:
            return selector_of(owner)
        return of_object({"matchLabels": at(owner, "spec", "selector") or {}})

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        owner = lister.get(key)
        if owner is None:
            return None
        api_version = f"{key.resource.group}/v1" if key.resource.group else "v1"
        reference = owner_reference(api_version, self._kind, owner)
        wanted = ClaimRules(self._selector(owner), looks_at=is_active)
        pods, failure = claim(client, lister, PODS, owner, reference, wanted), ""
        if pods is None:
            return None
        missing = (at(owner, "spec", "replicas") or 0) - len(pods)
        if missing and not is_terminating(owner):
            failure = self._adjust(client, lister, owner, reference, pods, missing)
            if not failure:
                return None  # the pods that come or go bring us back here
        again = self._count(client, owner, pods, failure)
        if failure:
            raise RequeueError(failure)
        return again

    def _adjust(
        self,
        client: Client,
        lister: Lister,
        owner: Object,
        reference: Mapping[str, Any],
        pods: Sequence[Object],
        missing: int,
    ) -> str:
        """Make or remove pods; gives back what went wrong."""
        template = at(owner, "spec", "template") or {}
        pod = pod_of(template, reference, generateName=f"{name_of(owner)}-")
        pod["spec"] = template.get("spec") or {}  # the very same for all pods: what is found out about it once holds
        for _ in range(min(missing, MOST_AT_ONCE)):
            failure = self._pods.create(client, owner, pod)
            if failure:
                return failure
        crowds = self._crowds(lister, owner) if missing < 0 else {}
        ranked = sorted(pods, key=lambda pod: removal_rank(pod, crowds.get(at(pod, "spec", "nodeName") or "", 0)))
        for each in ranked[: max(0, min(-missing, MOST_AT_ONCE))]:
            self._pods.remove(client, owner, each)
        return ""

    def _crowds(self, lister: Lister, owner: Object) -> Mapping[str, int]:
        """Returns, by node, the number of pods of the workload that an owner belongs to."""
        whole = controller_of(owner)
        alike = lister.controlled(self._resource, namespace_of(owner), whole["uid"]) if whole is not None else ()
        pods = (pod for each in alike for pod in lister.controlled(PODS, namespace_of(owner), uid_of(each)))
        return Counter(at(pod, "spec", "nodeName") or "" for pod in pods if is_active(pod))

    def _count(self, client: Client, owner: Object, pods: Sequence[Object], failure: str) -> float | None:
        """Write the status; gives back when another pod becomes available."""
        now, wait = self._clock.now(), at(owner, "spec", "minReadySeconds") or 0
        labels: Mapping[str, str] = at(owner, "spec", "template", "metadata", "labels") or {}
        starts = [start for start in (available_from(pod, wait) for pod in pods) if start is not None]
        counts = {
            "fullyLabeledReplicas": sum(labels.items() <= labels_of(pod).items() for pod in pods),
            "readyReplicas": sum(map(is_ready, pods)),
            "availableReplicas": sum(start <= now for start in starts),
            "observedGeneration": metadata(owner).get("generation") or 0,
        }
        status: dict[str, Any] = {"replicas": len(pods), **{name: number for name, number in counts.items() if number}}
        conditions = self._conditions(at(owner, "status", "conditions") or (), failure, now)
        if conditions:
            status["conditions"] = conditions
        replace_status(client, self._resource, owner, status)
        return min((start for start in starts if start > now), default=None)

    def _conditions(self, present: Sequence[Mapping[str, Any]], failure: str, now: float) -> Any:
        kept = [each for each in present if each.get("type") != "ReplicaFailure"]
        if not failure:
            return kept
        if len(kept) < len(present):
            return list(present)
        failed = {"type": "ReplicaFailure", "status": "True", "lastTransitionTime": timestamp(now)}
        return [*kept, {**failed, "reason": "FailedCreate", "message": failure}]
