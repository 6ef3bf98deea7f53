"""Creates the pods of Jobs, counts how they end, and sets the conditions Complete and Failed.

Upstream: pkg/controller/job, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating
from simkit.client.requests import expect, merge, replace_status
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import JOBS, PODS
from simkit.client.work_queue import RequeueError
from simkit.engine.controllers.ownership import (
    MOST_AT_ONCE,
    ClaimRules,
    PodControl,
    claim,
    owners_concerned,
    selector_of,
)
from simkit.logic.workloads import indexes, jobs
from simkit.logic.workloads.jobs import Progress
from simkit.logic.workloads.pods import has_ended, owner_reference, pod_of
from simkit.logic.workloads.status_conditions import find
from simkit.meta.clock import Clock, timestamp
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, controller_of, metadata, name_of
from simkit.meta.podspec import NON_EPHEMERAL
from simkit.seams import Change

_TOO_MANY: Final = "Too many succeeded pods running after completion count reached"


class JobController(ResourceWatcher):
    """Counts every pod once: a finalizer keeps it until it stands in the Job's status.

    Releases whose jobs have no place for that do without: they count the pods that are there, each time.

    ``in_two_steps`` tells whether a job first says which end is to come, and ends when its last pod has.
    """

    name = account = "job-controller"

    def __init__(self, clock: Clock, *, tracked: bool = True, in_two_steps: bool = False) -> None:
        super().__init__(JOBS, PODS)
        self._clock, self._tracked, self._in_two_steps = clock, tracked, in_two_steps
        self._events = EventRecorder(clock, self.name)
        self._pods = PodControl(self._events)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return owners_concerned(change, lister, JOBS, "Job", PODS, selector_of)

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        job = lister.get(key)
        if job is None:
            self._free_orphans(client, lister, key)
            return None
        reference, wanted = (
            owner_reference("batch/v1", "Job", job),
            ClaimRules(selector_of(job), finalizer=jobs.TRACKING),
        )
        pods = claim(client, lister, PODS, job, reference, wanted)
        if pods is None:
            return None
        if jobs.is_finished(job) or is_terminating(job):
            self._untrack(client, pods)
            return None
        unsupported = [name for name in jobs.UNSUPPORTED if at(job, "spec", name) is not None]
        if unsupported:
            text = f"simkit does not run jobs with {' and '.join(unsupported)}"
            self._events.event(client, job, "NotSimulated", text, warning=True)
            return None
        return self._work(client, job, reference, pods)

    def _work(self, client: Client, job: Object, reference: Mapping[str, Any], pods: Sequence[Object]) -> float | None:
        now = self._clock.now()
        progress = jobs.progress_of(job, pods, tracked=self._tracked)
        end = jobs.verdict(progress, now, reasoned=self._in_two_steps)
        suspended = bool(at(job, "spec", "suspend"))
        if end is not None and self._in_two_steps and not self._promise(client, progress, end):
            return None  # the write that came in between brings us back here
        if progress.active and (end is not None or suspended):
            self._remove(client, job, progress.active, counted=end is not None and end[0] == "Failed")
            return None  # the pods that go bring us back here
        if end is not None and (not self._in_two_steps or not progress.terminating):
            self._finish(client, progress, end)
            return None
        if self._count(client, progress):
            return None
        if suspended or end is not None:
            self._tell(client, progress, None, suspended=suspended)
            return None  # pods that still end bring us back here
        started = at(job, "status", "startTime")
        if not started or _was_suspended(job):
            self._tell(client, progress, None, suspended=False)
            return None
        changed, again = self._staff(client, progress, reference)
        if changed:
            return None  # the pods that come or go bring us back here
        self._tell(client, progress, None, suspended=False)
        times = [when for when in (again, jobs.deadline_of(job)) if when is not None and when > now]
        return min(times, default=None)

    # Counting

    def _count(self, client: Client, progress: Progress) -> bool:
        """Take ended pods into the count, step by step; True while a step is under way.

        First their uids are noted, then they are let go, then the numbers grow and the notes are dropped. So none is
        counted twice, wherever this is interrupted.
        """
        if not progress.tracked:
            return False
        job = progress.job
        noted = at(job, "status", "uncountedTerminatedPods") or {}
        known = {uid for uids in noted.values() for uid in uids or ()}
        wanted = _uncounted(progress)
        ended = _ended(progress)
        indexes_noted = _indexes(progress).items() <= (job.get("status") or {}).items()
        if wanted - known or (ended and not indexes_noted):
            self._note(client, progress)
            return True
        if ended:
            for pod in ended:
                self._let_go(client, pod)
            return True
        if known:
            self._settle(client, progress)
            return True
        return False

    def _promise(self, client: Client, progress: Progress, end: tuple[str, str, str]) -> bool:
        """True if the status of the job says which end is to come; no pod needs to be asked again why."""
        status = progress.job.get("status") or {}
        conditions = status.get("conditions") or ()
        kind = jobs.INTERIM[end[0]]
        if find(conditions, kind) is not None:
            return True
        now = timestamp(self._clock.now())
        made = _condition(kind, end[1], end[2], now)
        started = {"startTime": status.get("startTime") or now}
        written = replace_status(client, JOBS, progress.job, {**status, **started, "conditions": [*conditions, made]})
        if written is not None and written.succeeded:
            progress.job = written.object
        return written is None or written.succeeded

    def _finish(self, client: Client, progress: Progress, end: tuple[str, str, str]) -> None:
        """Count what is left and say how the job has ended, at once: pods that are let go cannot be asked again why."""
        ended = _ended(progress)
        if ended and not self._note(client, progress):
            return
        for pod in ended:
            self._let_go(client, pod)
        self._tell(client, progress, end, suspended=bool(at(progress.job, "spec", "suspend")))

    def _note(self, client: Client, progress: Progress) -> bool:
        """True if it could be written down which pods are to be counted; the job has these notes from now on."""
        status = dict(progress.job.get("status") or {})
        status["uncountedTerminatedPods"] = {name: list(uids) for name, uids in progress.uncounted.items() if uids}
        status |= _indexes(progress)
        written = replace_status(client, JOBS, progress.job, status)
        if written is None:
            return True
        if written.succeeded:
            progress.job = written.object
        return written.succeeded

    def _settle(self, client: Client, progress: Progress) -> None:
        status = {**(progress.job.get("status") or {}), "uncountedTerminatedPods": {}}
        status |= _totals(progress)
        replace_status(client, JOBS, progress.job, status)

    def _let_go(self, client: Client, pod: Object) -> None:
        left = [name for name in metadata(pod).get("finalizers") or () if name != jobs.TRACKING]
        expect(merge(client, PODS, pod, {"metadata": {"finalizers": left or None}}), 404, 409)

    def _untrack(self, client: Client, pods: Sequence[Object]) -> None:
        for pod in pods:
            if jobs.is_tracked(pod):
                self._let_go(client, pod)

    def _free_orphans(self, client: Client, lister: Lister, key: Key) -> None:
        """Let go of pods whose job is gone."""
        for pod in lister.scan(PODS, key.namespace):
            owner = controller_of(pod)
            lost = owner is None or (owner.get("kind"), owner.get("name")) == ("Job", key.name)
            if lost and jobs.is_tracked(pod):
                self._let_go(client, pod)

    # Pods

    def _remove(self, client: Client, job: Object, pods: Sequence[Object], *, counted: bool) -> None:
        """Remove pods that still work. They count as failed when the job has ended, else not at all."""
        for pod in pods:
            if not counted and jobs.is_tracked(pod):
                self._let_go(client, pod)
            self._pods.remove(client, job, pod)

    def _staff(self, client: Client, progress: Progress, reference: Mapping[str, Any]) -> tuple[bool, float | None]:
        """Make or remove pods: whether any, and until when failures keep it from making more."""
        surplus = jobs.surplus_pods(progress)[:MOST_AT_ONCE]
        if surplus:
            self._remove(client, progress.job, surplus, counted=False)
            return True, None
        held_back = progress.terminating if at(progress.job, "spec", "podReplacementPolicy") == "Failed" else 0
        missing = min(jobs.wanted_pods(progress) - len(progress.active) - held_back, MOST_AT_ONCE)
        if missing <= 0:
            return False, None
        pause = jobs.pause_until(progress)
        if pause > self._clock.now():
            return False, pause
        numbers: list[int | None] = [None] * missing
        if jobs.is_indexed(progress.job):
            numbers = list(jobs.free_indexes(progress, missing))
        for number in numbers:
            failure = self._pods.create(client, progress.job, _pod(progress, reference, number))
            if failure:
                raise RequeueError(failure)
        return bool(numbers), None

    # Status

    def _tell(self, client: Client, progress: Progress, end: tuple[str, str, str] | None, *, suspended: bool) -> None:
        job, now = progress.job, timestamp(self._clock.now())
        before = job.get("status") or {}
        conditions = _suspension(before.get("conditions") or (), suspended, now)
        status: dict[str, Any] = {name: before[name] for name in ("startTime", "completionTime") if before.get(name)}
        if suspended:
            status.pop("startTime", None)
        elif not status.get("startTime") or _was_suspended(job):
            status["startTime"] = now
        status |= _totals(progress)
        if progress.active:
            status["active"] = len(progress.active)
        status |= {"ready": progress.ready, "terminating": progress.terminating, "uncountedTerminatedPods": {}}
        if end is not None:
            conditions = [*conditions, _condition(*end, now)]
            if end[0] == "Complete":
                status["completionTime"] = now
        if conditions:
            status["conditions"] = conditions
        changed = replace_status(client, JOBS, job, status)
        if changed is not None and changed.succeeded:
            wanted = at(job, "spec", "completions")
            if end is not None and end[0] == "Complete" and wanted is not None and progress.succeeded > wanted:
                self._events.event(client, job, "TooManySucceededPods", _TOO_MANY, warning=True)
            self._announce(client, job, before.get("conditions") or (), conditions)

    def _announce(
        self, client: Client, job: Object, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
    ) -> None:
        """An event for each condition that has become another one."""
        for each in after:
            old = find(before, each.get("type", ""))
            if old is not None and old.get("status") == each.get("status"):
                continue
            if each.get("type") == "Complete":
                self._events.event(client, job, "Completed", "Job completed")
            elif each["type"] == "Failed":
                self._events.event(client, job, each.get("reason", ""), each.get("message", ""), warning=True)
            elif each["type"] == "Suspended":
                word = "Suspended" if each["status"] == "True" else "Resumed"
                self._events.event(client, job, word, f"Job {word.lower()}")


def _uncounted(progress: Progress) -> set[str]:
    return {uid for uids in progress.uncounted.values() for uid in uids}


def _ended(progress: Progress) -> list[Object]:
    """Tracked pods that are not needed any more."""
    counted = _uncounted(progress)
    return [pod for pod in progress.pods if jobs.is_tracked(pod) and _is_over(pod, counted, progress)]


def _is_over(pod: Object, counted: set[str], progress: Progress) -> bool:
    """True if a tracked pod is not needed any more: it is counted, or its end does not count."""
    if jobs.uid_of(pod) in counted:
        return True
    ended = has_ended(pod)
    return ended or (is_terminating(pod) and at(progress.job, "spec", "podReplacementPolicy") != "Failed")


def _totals(progress: Progress) -> dict[str, Any]:
    found: dict[str, Any] = {"succeeded": progress.succeeded, "failed": progress.failed}
    return {name: number for name, number in found.items() if number} | _indexes(progress)


def _indexes(progress: Progress) -> dict[str, str]:
    if not jobs.is_indexed(progress.job):
        return {}
    return {"completedIndexes": indexes.write(progress.done)} if progress.done else {}


def _condition(kind: str, reason: str, message: str, now: str, status: str = "True") -> dict[str, Any]:
    made = {"type": kind, "status": status, "lastProbeTime": now, "lastTransitionTime": now}
    return made | {name: value for name, value in (("reason", reason), ("message", message)) if value}


def _was_suspended(job: Object) -> bool:
    found = find(at(job, "status", "conditions"), "Suspended")
    return found is not None and found.get("status") == "True" and not at(job, "spec", "suspend")


def _suspension(present: Sequence[Mapping[str, Any]], suspended: bool, now: str) -> list[Mapping[str, Any]]:
    found = find(present, "Suspended")
    if suspended:
        wanted = _condition("Suspended", "JobSuspended", "Job suspended", now)
    elif found is None:
        return list(present)
    else:
        wanted = _condition("Suspended", "JobResumed", "Job resumed", now, "False")
    if found is not None and found.get("status") == wanted["status"]:
        return list(present)
    if found is None:
        return [*present, wanted]
    return [wanted if each is found else each for each in present]


def _pod(progress: Progress, reference: Mapping[str, Any], index: int | None) -> dict[str, Any]:
    job = progress.job
    template = at(job, "spec", "template") or {}
    if index is None:
        pod = pod_of(template, reference, generateName=f"{name_of(job)}-")
    else:
        pod = pod_of(template, reference, generateName=f"{name_of(job)}-{index}-")
        _give_index(pod, job, index)
    if progress.tracked:
        meta = pod["metadata"]
        meta["finalizers"] = [*(meta.get("finalizers") or ()), jobs.TRACKING]
    return pod


def _give_index(pod: dict[str, Any], job: Object, index: int) -> None:
    """Tell a pod its index: in annotation and label, in the environment, and in its host name."""
    meta, spec = pod["metadata"], pod["spec"]
    meta["annotations"] = {**(meta.get("annotations") or {}), jobs.INDEX: str(index)}
    meta["labels"] = {**(meta.get("labels") or {}), jobs.INDEX: str(index)}
    if not spec.get("hostname"):
        spec["hostname"] = f"{name_of(job)}-{index}"
    field = {"fieldRef": {"fieldPath": f"metadata.labels['{jobs.INDEX}']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": field}
    for part in NON_EPHEMERAL:
        if spec.get(part):
            spec[part] = [_with_variable(container, variable) for container in spec[part]]


def _with_variable(container: Mapping[str, Any], variable: Mapping[str, Any]) -> Mapping[str, Any]:
    present = container.get("env") or ()
    if any(each.get("name") == variable["name"] for each in present):
        return container
    return {**container, "env": [*present, variable]}
