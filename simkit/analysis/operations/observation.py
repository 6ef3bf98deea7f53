"""Observes a rehearsal: pods before and after, and the number of ready pods of each workload meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from simkit.analysis.operations.result import Moment, Operation, PodOutcome, WorkloadAvailability
from simkit.analysis.rbac.objects import captured_objects
from simkit.logic.workloads.pods import has_ended, is_ready
from simkit.logic.workloads.status_conditions import find
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, controller_of, metadata, name_of, namespace_of
from simkit.seams.snapshot import Sandbox, Snapshot

PODS: Final = GroupResource("", "pods")
NODES: Final = GroupResource("", "nodes")
NOT_CREATED: Final = "(not created)"
"""In the place of the name of a pod: those that the server refuses, in one row for a workload."""
_COMBINED: Final = "(combined from similar events): "
"""The text that recorders of events put before the message of one that stands for many."""
_EVENTS: Final = GroupResource("", "events")
_REPLICA_SETS: Final = GroupResource("apps", "replicasets")
_STATEFUL_SETS: Final = GroupResource("apps", "statefulsets")
_DAEMON_SETS: Final = GroupResource("apps", "daemonsets")
_JOBS: Final = GroupResource("batch", "jobs")
_COUNTED: Final = tuple(GroupResource("apps", each) for each in ("deployments", "statefulsets", "replicasets"))
_KINDS: Final = {
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "replicasets": "ReplicaSet",
    "daemonsets": "DaemonSet",
    "jobs": "Job",
}
Workload = tuple[str, str]
"""Namespace, and kind and name."""


class Observation:
    """A rehearsal from its start to its end.

    Parameters
    ----------
    cluster
        The fork that everything is done on.
    settling
        The seconds that are left to controllers and kubelets before the operation begins.
    """

    def __init__(self, cluster: RehearsalCluster, *, settling: float = 120.0) -> None:
        self.cluster = cluster
        self.seconds = 0.0
        cluster.advance(settling)
        self.before = {uid_of(pod): pod for pod in self._pods()}
        self._owners = {uid_of(each): each for each in captured_objects(self.snapshot, _REPLICA_SETS)}
        self.lacking: dict[Workload, int] = {}
        """How many pods a workload lacks that the server refused."""
        self._refused_before = {uid for uid, _, _ in self._refused()}
        self._ready = self._ready_by_workload()
        self._least = dict(self._ready)
        self._seen: dict[str, Object] = dict(self.before)
        self._moments = [self._moment()]
        self.blocked: dict[str, str] = {}
        """The messages of disruption budgets, by uid of the pod."""

    @property
    def snapshot(self) -> Snapshot:
        """The objects as they are now."""
        return self.cluster.snapshot()

    def send(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> Response:
        """The answer to a request of an administrator."""
        return self.cluster.perform(Request.of(method, path, body, content_type=content_type), identity=administrator())

    def demand(self, response: Response) -> Any:
        """The object of an answer. Raises SimkitError if the request failed."""
        if not response.succeeded:
            raise SimkitError(f"the rehearsal failed: {response.message or response.status}")
        return response.object

    def wait(self, seconds: float) -> None:
        """Let time pass, and look."""
        self.cluster.advance(seconds)
        self.seconds += seconds
        for pod in self._pods():
            self._seen[uid_of(pod)] = pod
        for workload, count in self._ready_by_workload().items():
            self._least[workload] = min(self._least.get(workload, count), count)
        for workload in self._least.keys() - self._ready_by_workload().keys():
            self._least[workload] = 0
        self._moments.append(self._moment())

    def wait_for(self, holds: Callable[[], bool], limit: float, step: float) -> bool:
        """Let time pass until something holds; False if it does not in time."""
        end = self.seconds + limit
        while not holds():
            if self.seconds >= end:
                return False
            self.wait(min(step, end - self.seconds))
        return True

    def pods_on(self, nodes: Iterable[str]) -> list[Object]:
        """The pods on some nodes."""
        wanted = set(nodes)
        return [pod for pod in self._pods() if at(pod, "spec", "nodeName") in wanted]

    def unsettled(self) -> list[Object]:
        """Pods that wait for a node, for their containers, or for their end."""
        return [
            pod
            for pod in self._pods()
            if not has_ended(pod) and (metadata(pod).get("deletionTimestamp") or not is_ready(pod))
        ]

    # The result

    def result(self, name: str, touched: Mapping[str, str], *, complete: bool, planned: bool = False) -> Operation:
        """The outcomes of the pods, of which ``touched`` names those the operation was about, with a word for each.

        ``planned`` says that pods without a replacement were to go, as in a rollout.
        """
        now = {uid_of(pod): pod for pod in self._pods()}
        fresh = [pod for uid, pod in now.items() if uid not in self.before]
        found, used = [], set[str]()
        for uid, word in touched.items():
            pod = self.before.get(uid) or self._seen[uid]
            found.append(self._outcome(pod, word, now.get(uid), fresh, used, planned=planned))
        rest = [pod for pod in fresh if uid_of(pod) not in used]
        waiting = [pod for uid, pod in now.items() if uid in self.before and uid not in touched]
        found += [self._started(pod) for pod in rest]
        found += [self._started(pod) for pod in waiting if _waits(pod) and not _waits(self.before[uid_of(pod)])]
        found += self._never_created({each.workload for each in found if each.outcome == "lost"})
        availability = tuple(self._availability())
        return Operation(name, complete, self.seconds, tuple(found), tuple(self._moments), availability)

    def _outcome(
        self, pod: Object, word: str, now: Object | None, fresh: list[Object], used: set[str], *, planned: bool
    ) -> PodOutcome:
        told = PodOutcome(namespace_of(pod), name_of(pod), self._shown(pod), _node(pod), "kept")
        if now is not None and word == "kept":
            return told._replace(to=_node(now), why="daemon sets and static pods stay")
        if now is not None:
            why = self.blocked.get(uid_of(pod), "")
            stuck = bool(metadata(now).get("deletionTimestamp"))
            if not stuck:
                return told._replace(outcome="blocked" if why else "kept", to=_node(now), why=why)
        replacement = self._replacement(pod, fresh, used)
        if replacement is None:
            stays = now is not None
            gone = "removed" if planned and not stays else "stuck" if stays else "lost"
            why = "" if planned and not stays else self._refusal(pod)
            why = f"its kubelet does not answer; {why}" if stays else why
            return told._replace(outcome=gone, why=why)
        used.add(uid_of(replacement))
        if _waits(replacement):
            return told._replace(outcome="pending", to=_node(replacement), why=_why(replacement))
        return told._replace(outcome="moved", to=_node(replacement))

    def _refusal(self, pod: Object) -> str:
        """The reason why no replacement of a pod was created, in the words of its controller."""
        uid = str((controller_of(pod) or {}).get("uid") or "")
        return (uid and self._failures().get(uid)) or "nothing replaces it"

    def _failures(self) -> dict[str, str]:
        """What controllers say of pods that they could not create, by the uid of the set."""
        return {
            str(at(event, "involvedObject", "uid")): str(event.get("message")).removeprefix(_COMBINED)
            for event in captured_objects(self.snapshot, _EVENTS)
            if event.get("reason") == "FailedCreate"
        }

    def _refused(self) -> Iterator[tuple[str, Workload, str]]:
        """The sets that want more pods than they have, since the server refuses them: uid, workload, its message."""
        refusals = self._failures()
        for resource in (_REPLICA_SETS, _STATEFUL_SETS, _DAEMON_SETS, _JOBS):
            for held in captured_objects(self.snapshot, resource):
                failure = find(at(held, "status", "conditions"), "ReplicaFailure") or {}
                why = refusals.get(uid_of(held)) or str(failure.get("message") or "")  # of many Events some are dropped
                if why and _lacking_pods(held):
                    owner = controller_of(held) or {"kind": _KINDS[resource.resource], "name": name_of(held)}
                    workload = namespace_of(held), f"{owner.get('kind', '')}/{owner.get('name', '')}"
                    self.lacking[workload] = _lacking_pods(held)
                    yield uid_of(held), workload, why

    def _never_created(self, told: Collection[str]) -> Iterator[PodOutcome]:
        """A row for each workload whose new pods are refused; of lost pods it is told already."""
        for uid, (namespace, workload), why in self._refused():
            if uid not in self._refused_before and workload not in told:
                yield PodOutcome(namespace, NOT_CREATED, workload, "", "pending", why=why)

    def _started(self, pod: Object) -> PodOutcome:
        told = PodOutcome(namespace_of(pod), name_of(pod), self._shown(pod), "", "started", _node(pod))
        return told._replace(outcome="pending", why=_why(pod)) if _waits(pod) else told

    def _replacement(self, pod: Object, fresh: list[Object], used: set[str]) -> Object | None:
        workload = self._workload(pod)
        left = [each for each in fresh if uid_of(each) not in used and workload is not None]
        same = [each for each in left if self._workload(each) == workload]
        return next((each for each in same if name_of(each) == name_of(pod)), same[0] if same else None)

    def _availability(self) -> Iterable[WorkloadAvailability]:
        after, wanted = self._ready_by_workload(), self._wanted()
        for workload in sorted({*self._ready, *after}):
            before, least, now = self._ready.get(workload, 0), self._least.get(workload, 0), after.get(workload, 0)
            if not before == least == now:
                yield WorkloadAvailability(*workload, before, least, now, wanted.get(workload, now))

    # Facts

    def _pods(self) -> Iterable[Object]:
        return self.snapshot.scan(PODS)

    def _workload(self, pod: Object) -> Workload | None:
        owner = controller_of(pod)
        if owner is None:
            return None
        if owner.get("kind") == "ReplicaSet":
            held = self._owners.get(owner.get("uid", "")) or self.snapshot.get(
                _REPLICA_SETS, owner.get("name", ""), namespace_of(pod)
            )
            if held is not None:
                self._owners[uid_of(held)] = held
                owner = controller_of(held) or owner
        return namespace_of(pod), f"{owner.get('kind', '')}/{owner.get('name', '')}"

    def _shown(self, pod: Object) -> str:
        workload = self._workload(pod)
        return workload[1] if workload is not None else ""

    def _ready_by_workload(self) -> dict[Workload, int]:
        found: dict[Workload, int] = {}
        for pod in self._pods():
            workload = self._workload(pod)
            if workload is not None and not has_ended(pod):
                found[workload] = found.get(workload, 0) + is_ready(pod)
        return found

    def _wanted(self) -> dict[Workload, int]:
        return {
            (namespace_of(each), f"{_KINDS[resource.resource]}/{name_of(each)}"): at(each, "spec", "replicas") or 0
            for resource in _COUNTED
            for each in captured_objects(self.snapshot, resource)
        }

    def _moment(self) -> Moment:
        pods = [pod for pod in self._pods() if not has_ended(pod)]
        ready = sum(map(is_ready, pods))
        pending = sum(1 for pod in pods if at(pod, "status", "phase") == "Pending")
        terminating = sum(1 for pod in pods if metadata(pod).get("deletionTimestamp"))
        return Moment(self.seconds, ready, pending, terminating)


def _lacking_pods(held: Object) -> int:
    """How many pods more than it has a set wants."""
    status = held.get("status") or {}
    if "desiredNumberScheduled" in status:
        wanted, there = status.get("desiredNumberScheduled"), status.get("currentNumberScheduled")
    elif "replicas" in (held.get("spec") or {}):
        wanted, there = at(held, "spec", "replicas"), status.get("replicas")
    else:  # a Job
        wanted, there = 1, any(status.get(name) for name in ("active", "succeeded", "failed"))
    return max(0, int(wanted or 0) - int(there or 0))


def uid_of(obj: Object) -> str:
    """The uid of an object; of one from a manifest, which has none, its namespace and name."""
    return str(metadata(obj).get("uid") or f"{namespace_of(obj)}/{name_of(obj)}")


def _node(pod: Object) -> str:
    return str(at(pod, "spec", "nodeName") or "")


def _waits(pod: Object) -> bool:
    return not has_ended(pod) and not is_ready(pod)


def _why(pod: Object) -> str:
    """The reason why a pod does not run, in the words of the scheduler or the kubelet."""
    conditions = at(pod, "status", "conditions")
    scheduled = find(conditions, "PodScheduled") or {}
    if scheduled.get("status") == "False":
        return str(scheduled.get("message") or scheduled.get("reason") or "")
    for each in at(pod, "status", "containerStatuses") or ():
        waiting = at(each, "state", "waiting") or {}
        if waiting.get("message") or waiting.get("reason"):
            return str(waiting.get("message") or waiting.get("reason"))
    ready = find(conditions, "Ready") or {}
    return str(ready.get("message") or ready.get("reason") or "")


class RehearsalCluster(Sandbox, Protocol):
    """A fork in which all nodes are simulated, on a clock of its own."""

    def settle(self) -> int:
        """Run controllers and kubelets until nothing is left to do now."""
        ...

    def advance(self, seconds: float) -> None:
        """Let time pass, with controllers, scheduler and kubelets at work."""
        ...

    def stop_node(self, name: str) -> None:
        """Have the machine of a node fail."""
        ...


class OperationSandbox(Protocol):
    """A cluster that gives such forks. A Cluster is one."""

    def rehearsal(self, *, settings: Mapping[str, str]) -> RehearsalCluster:
        """A fork with simulated nodes in the place of all; settings are those of all its pods."""
        ...
