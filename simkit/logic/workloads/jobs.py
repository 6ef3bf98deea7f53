"""The progress of a Job, and its next steps: decisions over the job and its pods.

pkg/controller/job, release 1.30: job_controller.go, indexed_job_utils.go, backoff_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from simkit.logic.workloads.indexes import Indexes, parse
from simkit.logic.workloads.pods import has_ended, is_active, is_ready, removal_rank
from simkit.logic.workloads.status_conditions import find
from simkit.meta.clock import moment
from simkit.meta.domain import label
from simkit.meta.integers import parse_int
from simkit.meta.objects import Object, annotations_of, at, metadata

TRACKING: Final = label("job-tracking", "batch")
INDEX: Final = label("job-completion-index", "batch")
UNSUPPORTED: Final = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex")
"""The fields of a job's spec with which no job is run."""
INTERIM: Final = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}
"""The conditions that say which end of a job is to come, by those that say that it has come."""
_ENOUGH: Final = ("CompletionsReached", "Reached expected number of succeeded pods")
_FIRST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 600.0


def is_finished(job: Object) -> bool:
    """True if a job has finished."""
    return finished_at(job) is not None


def finished_at(job: Object) -> float | None:
    """The time at which a job finished; None if it has not."""
    for condition in at(job, "status", "conditions") or ():
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return moment(condition["lastTransitionTime"]) if condition.get("lastTransitionTime") else 0.0
    return None


def is_indexed(job: Object) -> bool:
    """True if each pod of a job has an index of its own."""
    return bool(at(job, "spec", "completionMode") == "Indexed")


def index_of(pod: Object) -> int:
    """The completion index of a pod; -1 if it has none."""
    number = parse_int(annotations_of(pod).get(INDEX, ""))
    return -1 if number is None else max(-1, number)


def uid_of(pod: Object) -> str:
    return metadata(pod).get("uid") or ""


def is_tracked(pod: Object) -> bool:
    """True if a pod is kept until its job has counted it."""
    return TRACKING in (metadata(pod).get("finalizers") or ())


@dataclass(slots=True)
class Progress:
    """The progress of a job, with its pods counted."""

    job: Object
    pods: Sequence[Object]
    succeeded: int = 0
    failed: int = 0
    done: Indexes = field(default_factory=Indexes)
    """Indexes that have succeeded."""
    uncounted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tracked: bool = True
    """True if finished pods are kept until they are counted; else all existing pods are counted each time."""

    @property
    def active(self) -> list[Object]:
        return [pod for pod in self.pods if is_active(pod)]

    @property
    def terminating(self) -> int:
        going = (pod for pod in self.pods if metadata(pod).get("deletionTimestamp"))
        return sum(not has_ended(pod) for pod in going)

    @property
    def ready(self) -> int:
        return sum(map(is_ready, self.active))


def progress_of(job: Object, pods: Sequence[Object], *, tracked: bool = True) -> Progress:
    """The progress of a job: the counts in its status, and pods that finished since; untracked, only the pods."""
    status = (job.get("status") or {}) if tracked else {}
    uncounted = status.get("uncountedTerminatedPods") or {}
    known = {uid for name in ("succeeded", "failed") for uid in uncounted.get(name) or ()}
    ended = [pod for pod in pods if is_tracked(pod) is tracked and uid_of(pod) not in known and _has_ended(job, pod)]
    good = [pod for pod in ended if at(pod, "status", "phase") == "Succeeded"]
    bad = [pod for pod in ended if at(pod, "status", "phase") != "Succeeded"]
    found = Progress(job, pods, tracked=tracked)
    found.done = parse(status.get("completedIndexes") or "", below=_completions(job))
    fresh = [*(uncounted.get("succeeded") or ()), *map(uid_of, good)]
    failing = [*(uncounted.get("failed") or ()), *map(uid_of, bad)]
    if is_indexed(job):
        found.done = found.done.with_all(index_of(pod) for pod in good if 0 <= index_of(pod) < _completions(job))
        found.succeeded, fresh = len(found.done), []
    else:
        found.succeeded = (status.get("succeeded") or 0) + len(fresh)
    found.failed = (status.get("failed") or 0) + len(failing)
    found.uncounted = {"succeeded": fresh, "failed": failing}
    return found


def _completions(job: Object) -> int:
    return at(job, "spec", "completions") or 0


def _has_ended(job: Object, pod: Object) -> bool:
    """True if a pod can be counted: it finished, or is deleted before it could."""
    if has_ended(pod):
        return True
    replaced = at(job, "spec", "podReplacementPolicy") != "Failed"
    return bool(metadata(pod).get("deletionTimestamp")) and replaced


def verdict(progress: Progress, now: float, *, reasoned: bool = False) -> tuple[str, str, str] | None:
    """The condition with which a job ends, if it does: type, reason and message.

    An end that the job's status says is to come is not looked at again. ``reasoned`` gives completion a reason too.
    """
    job = progress.job
    for final, interim in INTERIM.items():
        said = find(at(job, "status", "conditions"), interim)
        if said is not None and said.get("status") == "True":
            return final, said.get("reason") or "", said.get("message") or ""
    limit = at(job, "spec", "backoffLimit")
    if limit is not None and (progress.failed > limit or _starts_again_too_often(progress, limit)):
        return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    deadline = deadline_of(job)
    if deadline is not None and deadline <= now:
        return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
    wanted = at(job, "spec", "completions")
    if progress.active or progress.succeeded < (1 if wanted is None else wanted):
        return None
    return ("Complete", *_ENOUGH) if reasoned else ("Complete", "", "")


def _starts_again_too_often(progress: Progress, limit: int) -> bool:
    """True if container restarts have used up the retries of a job."""
    if at(progress.job, "spec", "template", "spec", "restartPolicy") != "OnFailure":
        return False
    alive = [pod for pod in progress.pods if at(pod, "status", "phase") in ("Running", "Pending")]
    parts = [at(pod, "status", name) or () for pod in alive for name in ("initContainerStatuses", "containerStatuses")]
    again: int = sum(status.get("restartCount") or 0 for part in parts for status in part)
    return again >= max(1, limit)


def deadline_of(job: Object) -> float | None:
    """The time of a job's active deadline; None if it has none."""
    seconds, start = at(job, "spec", "activeDeadlineSeconds"), at(job, "status", "startTime")
    if seconds is None or not start or at(job, "spec", "suspend"):
        return None
    return moment(start) + float(seconds)


def wanted_pods(progress: Progress) -> int:
    """The number of pods that should be active now."""
    job, active = progress.job, len(progress.active)
    parallelism, completions = at(job, "spec", "parallelism"), at(job, "spec", "completions")
    most: int = 1 if parallelism is None else parallelism
    if completions is None:
        return active if progress.succeeded else most
    left: int = completions - progress.succeeded
    return max(0, min(most, left))


def surplus_pods(progress: Progress) -> list[Object]:
    """The active pods to delete, first those with a duplicate index or an index out of range."""
    left = sorted(progress.active, key=removal_rank)
    count = max(0, len(left) - wanted_pods(progress))
    surplus: list[Object] = []
    if is_indexed(progress.job):
        last = {index_of(pod): uid_of(pod) for pod in left if 0 <= index_of(pod) < _completions(progress.job)}
        kept = set(last.values())
        surplus = sorted((pod for pod in left if uid_of(pod) not in kept), key=index_of)
        left = [pod for pod in left if uid_of(pod) in kept]
    return [*surplus, *left[: max(0, count - len(surplus))]]


def free_indexes(progress: Progress, count: int) -> list[int]:
    """The first indexes without an active or successful pod."""
    active, free, index = {index_of(pod) for pod in progress.active}, list[int](), 0
    while index < _completions(progress.job) and len(free) < count:
        end = progress.done.end_of_span(index)
        if end == index and index not in active:
            free.append(index)
        index = max(end, index + 1)
    return free


def pause_until(progress: Progress) -> float:
    """The time from which a pod may be created after failures: each failure doubles the delay."""
    ends = [_ended_at(pod) for pod in progress.pods if at(pod, "status", "phase") == "Failed"]
    last_success = max(
        (_ended_at(pod) for pod in progress.pods if at(pod, "status", "phase") == "Succeeded"), default=0
    )
    recent = [end for end in ends if end >= last_success]
    if not recent:
        return 0.0
    return max(recent) + min(_FIRST_PAUSE * 2.0 ** (len(recent) - 1), _LONGEST_PAUSE)


def _ended_at(pod: Object) -> float:
    ends = [
        moment(finished)
        for status in at(pod, "status", "containerStatuses") or ()
        if (finished := at(status, "state", "terminated", "finishedAt"))
    ]
    if ends:
        return max(ends)
    ready = find(at(pod, "status", "conditions"), "Ready") or {}
    if ready.get("lastTransitionTime"):
        return moment(ready["lastTransitionTime"])
    started = metadata(pod).get("deletionTimestamp") or metadata(pod).get("creationTimestamp")
    return moment(started) if started else 0.0
