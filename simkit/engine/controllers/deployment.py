"""Controllers of Deployments, ReplicaSets and ReplicationControllers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, expect, remove, replace, replace_status
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import DEPLOYMENTS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS
from simkit.client.work_queue import RequeueError
from simkit.engine.controllers.ownership import (
    MOST_AT_ONCE,
    ClaimRules,
    PodControl,
    claim,
    owner_names,
    owners_concerned,
    selector_of,
)
from simkit.logic.workloads import rollout
from simkit.logic.workloads.pods import (
    available_from,
    by_age,
    has_ended,
    is_active,
    is_ready,
    owner_reference,
    pod_of,
    removal_rank,
)
from simkit.logic.workloads.revisions import template_hash
from simkit.logic.workloads.rollout import (
    deadline_of,
    has_deadline,
    is_complete,
    pause_conditions,
    set_condition,
    status_of,
)
from simkit.meta.clock import Clock, timestamp
from simkit.meta.labels import LabelSelector, of_object
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import (
    Object,
    annotations_of,
    at,
    controller_of,
    labels_of,
    metadata,
    name_of,
    namespace_of,
    with_metadata,
)
from simkit.seams import Change

# Keeps as many pods as a ReplicaSet or a ReplicationController asks for.
# Upstream: pkg/controller/replicaset, release 1.30.


class ReplicaSetController(ResourceWatcher):
    """Creates missing pods, deletes surplus ones, and writes the status."""

    def __init__(self, clock: Clock, resource: GroupResource, kind: str, name: str, account: str) -> None:
        super().__init__(resource, PODS)
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


# Rolls out Deployments through ReplicaSets, one for each template.
# Upstream: pkg/controller/deployment, release 1.30.


class DeploymentController(ResourceWatcher):
    """Reconciles a Deployment when it, one of its ReplicaSets or (for Recreate) one of their pods changes."""

    name = account = "deployment-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(DEPLOYMENTS, REPLICA_SETS, PODS)
        self._clock = clock
        self._events = EventRecorder(clock, self.name)

    def concerns(self, change: Change) -> bool:
        resource = change.entry.key.resource
        return resource in self.watches and (resource != PODS or change.type == "DELETED")

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource != PODS:
            return owners_concerned(change, lister, DEPLOYMENTS, "Deployment", REPLICA_SETS, selector_of)
        sets = [lister.get(Key(REPLICA_SETS, key.namespace, name)) for name in owner_names(obj, "ReplicaSet")]
        names = {name for each in sets if each is not None for name in owner_names(each, "Deployment")}
        return [Key(DEPLOYMENTS, key.namespace, name) for name in names]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        deployment = lister.get(key)
        if deployment is None:
            return None
        reference = owner_reference("apps/v1", "Deployment", deployment)
        sets = claim(client, lister, REPLICA_SETS, deployment, reference, ClaimRules(selector_of(deployment)))
        if sets is None:
            return None
        new = rollout.newest(deployment, sets)
        if is_terminating(deployment):
            return self._tell(client, deployment, sets, new, rolling=False)
        paused = pause_conditions(deployment, self._clock.now())
        if paused is not None:
            self._say(client, deployment, conditions=paused)
            return None  # our own word brings us back here
        old = [each for each in sets if new is None or uid_of(each) != uid_of(new)]
        if new is not None and self._annotate(client, deployment, old, new):
            return None  # the replica sets that change bring us back here
        rolling = not (at(deployment, "spec", "paused") or rollout.was_scaled(deployment, sets))
        if not rolling:
            stands = at(deployment, "spec", "paused")
            acted = self._scale(client, deployment, old, new) or (stands and self._forget(client, deployment, old))
        else:
            acted = self._act(client, lister, deployment, reference, sets, old, new)
        return None if acted else self._tell(client, deployment, sets, new, rolling=rolling)

    def _act(
        self,
        client: Client,
        lister: Lister,
        deployment: Object,
        reference: Mapping[str, Any],
        sets: Sequence[Object],
        old: Sequence[Object],
        new: Object | None,
    ) -> bool:
        """Bring the replica sets a step further; False when there is nothing to do for now."""
        recreates = at(deployment, "spec", "strategy", "type") == "Recreate"
        if recreates and self._empty_first(client, lister, deployment, old):
            return True
        if recreates and self._old_pods_run(lister, old):
            return False
        if new is None:
            self._create(client, deployment, reference, sets)
            return True
        size = rollout.new_size(deployment, sets, new)
        if size != rollout.wanted_replicas(new):
            return self._resize(client, deployment, new, size)
        if not recreates:
            sizes = rollout.old_sizes(deployment, new, old)
            for each in old:
                if name_of(each) in sizes:
                    self._resize(client, deployment, each, sizes[name_of(each)])
            if sizes:
                return True
        return self._clean(client, deployment, old)

    def _empty_first(self, client: Client, lister: Lister, deployment: Object, old: Sequence[Object]) -> bool:
        sized = [each for each in old if rollout.wanted_replicas(each)]
        for each in sized:
            self._resize(client, deployment, each, 0)
        return bool(sized)

    def _old_pods_run(self, lister: Lister, old: Sequence[Object]) -> bool:
        pods = (pod for each in old for pod in lister.controlled(PODS, namespace_of(each), uid_of(each)))
        return any(not has_ended(pod) for pod in pods)

    def _scale(self, client: Client, deployment: Object, old: Sequence[Object], new: Object | None) -> bool:
        """Give a deployment's new size to its sets without going on with the rollout."""
        sets = [*old, *([new] if new is not None else [])]
        active, wanted = [each for each in sets if rollout.wanted_replicas(each)], rollout.wanted_replicas(deployment)
        if len(active) <= 1:
            only = next(iter([*active, *reversed(by_age(sets) if new is None else [new])]), None)
            return only is not None and self._resize(client, deployment, only, wanted)
        if rollout.is_saturated(deployment, new):
            emptied = [self._resize(client, deployment, each, 0) for each in active if each is not new]
            return any(emptied)
        if at(deployment, "spec", "strategy", "type") != "RollingUpdate":
            return False
        sizes = rollout.shares(deployment, sets)
        shared = [self._share(client, deployment, each, sizes[name_of(each)]) for each in active]
        return any(shared)

    def _share(self, client: Client, deployment: Object, each: Object, size: int) -> bool:
        """Give a set its size, and note by which sizes of the deployment it is."""
        if size == rollout.wanted_replicas(each) and self._sizes(deployment).items() <= annotations_of(each).items():
            return False
        return self._write(client, deployment, each, size)

    def _sizes(self, deployment: Object) -> dict[str, str]:
        wanted = rollout.wanted_replicas(deployment)
        return {rollout.DESIRED: str(wanted), rollout.MAXIMUM: str(wanted + rollout.surge(deployment))}

    def _resize(self, client: Client, deployment: Object, each: Object, size: int) -> bool:
        return size != rollout.wanted_replicas(each) and self._write(client, deployment, each, size)

    def _write(self, client: Client, deployment: Object, each: Object, size: int) -> bool:
        notes = {**annotations_of(each), **self._sizes(deployment)}
        wanted = {**with_metadata(each, annotations=notes), "spec": {**each["spec"], "replicas": size}}
        before = rollout.wanted_replicas(each)
        if expect(replace(client, REPLICA_SETS, wanted), 404, 409).succeeded and size != before:
            word = "up" if size > before else "down"
            text = f"Scaled {word} replica set {name_of(each)} to {size} from {before}"
            self._events.event(client, deployment, "ScalingReplicaSet", text)
        return True

    def _create(self, client: Client, deployment: Object, reference: Mapping[str, Any], sets: Sequence[Object]) -> None:
        """A replica set for the deployment's template. A name that another template has counts as a collision."""
        collisions = at(deployment, "status", "collisionCount")
        name = template_hash(at(deployment, "spec", "template") or {}, collisions)
        revision = rollout.next_revision(sets)
        template = rollout.template_with(deployment, name)
        notes = {**rollout.copied_annotations(deployment), **self._sizes(deployment), rollout.REVISION: revision}
        meta: dict[str, Any] = {
            "name": f"{name_of(deployment)}-{name}",
            "labels": labels_of(template),
            "annotations": notes,
            "ownerReferences": [dict(reference)],
        }
        spec = {
            "replicas": rollout.new_size(deployment, sets, None),
            "minReadySeconds": at(deployment, "spec", "minReadySeconds") or 0,
            "selector": rollout.labelled(at(deployment, "spec", "selector") or {}, name),
            "template": template,
        }
        made = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}
        response = create(client, REPLICA_SETS, metadata(deployment)["namespace"], made)
        if response.status == 409:
            self._say(client, deployment, collisionCount=(collisions or 0) + 1)
        elif not response.succeeded:
            why = f'Failed to create new replica set "{meta["name"]}": {response.object.get("message")}'
            self._failed(client, deployment, why)
        else:
            self._started(client, deployment, meta["name"], revision)
            if spec["replicas"]:
                text = f"Scaled up replica set {meta['name']} to {spec['replicas']}"
                self._events.event(client, deployment, "ScalingReplicaSet", text)

    def _started(self, client: Client, deployment: Object, name: str, revision: str) -> None:
        """Note the number of the rollout that begins, and that it does."""
        own = {**annotations_of(deployment), rollout.REVISION: revision}
        noted = with_metadata(deployment, annotations=own)
        if has_deadline(deployment):
            present, text = at(deployment, "status", "conditions") or (), f'Created new replica set "{name}"'
            conditions = set_condition(present, "Progressing", True, "NewReplicaSetCreated", text, self._clock.now())
            noted = {**noted, "status": {**(deployment.get("status") or {}), "conditions": conditions}}
        # Through the status, as the real controller does: there annotations do not raise the generation.
        expect(replace(client, DEPLOYMENTS, noted, "status"), 404, 409)

    def _say(self, client: Client, deployment: Object, **changes: Any) -> None:
        replace_status(client, DEPLOYMENTS, deployment, {**(deployment.get("status") or {}), **changes})

    def _failed(self, client: Client, deployment: Object, message: str) -> None:
        if has_deadline(deployment):
            present, now = at(deployment, "status", "conditions") or (), self._clock.now()
            conditions = set_condition(present, "Progressing", False, "ReplicaSetCreateError", message, now)
            self._say(client, deployment, conditions=conditions)
        self._events.event(client, deployment, "ReplicaSetCreateError", message, warning=True)
        raise RequeueError(message)

    def _annotate(self, client: Client, deployment: Object, old: Sequence[Object], new: Object) -> bool:
        """Keep the number of the rollout in the deployment and its newest set."""
        revision = max(int(rollout.next_revision(old)), rollout.revision_of(new))
        notes = {**annotations_of(new), **rollout.copied_annotations(deployment)}
        if revision > rollout.revision_of(new):
            notes |= {rollout.REVISION: str(revision), **rollout.history_with(new)}
        changed = False
        wait = at(deployment, "spec", "minReadySeconds") or 0
        if notes != annotations_of(new) or wait != (at(new, "spec", "minReadySeconds") or 0):
            spec = {**new["spec"], "minReadySeconds": wait}
            expect(replace(client, REPLICA_SETS, {**with_metadata(new, annotations=notes), "spec": spec}), 404, 409)
            changed = True
        if annotations_of(deployment).get(rollout.REVISION) != str(revision):
            own = {**annotations_of(deployment), rollout.REVISION: str(revision)}
            expect(replace(client, DEPLOYMENTS, with_metadata(deployment, annotations=own), "status"), 404, 409)
            changed = True
        return changed

    def _clean(self, client: Client, deployment: Object, old: Sequence[Object]) -> bool:
        """Forget old sets beyond the history that is kept, once the rollout is complete."""
        complete = is_complete(deployment, deployment.get("status") or {})
        return complete and self._forget(client, deployment, old)

    def _forget(self, client: Client, deployment: Object, old: Sequence[Object]) -> bool:
        gone = rollout.superfluous(deployment, old)
        for each in gone:
            remove(client, REPLICA_SETS, each)
        return bool(gone)

    def _tell(
        self, client: Client, deployment: Object, sets: Sequence[Object], new: Object | None, *, rolling: bool
    ) -> float | None:
        """Write the status; gives back when the rollout is late."""
        status = status_of(deployment, sets, new, self._clock.now(), rolling=rolling)
        replace_status(client, DEPLOYMENTS, deployment, status)
        when = deadline_of(deployment, status["conditions"])
        return when if when is not None and when > self._clock.now() else None
