"""Validation of the status of a job: what may stand together, and what may follow what.

Follows ``pkg/apis/batch/validation/validation.go`` and ``pkg/registry/batch/job/strategy.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.go_printing.structures import time as shown_time
from simkit.kinds.parts.job.spec import BadIndexes, counted, overlap
from simkit.kinds.parts.template_owner import validate_nonnegative_fields
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import moment
from simkit.meta.fielderror import OMITTED, Errors, FieldError, duplicate, invalid_value, required
from simkit.meta.objects import Object, at

_COUNTS: Final = ("active", "succeeded", "failed", "ready", "terminating")
_CONDITIONS: Final = "status.conditions"
_MET: Final = "SuccessCriteriaMet"
_INCOMPLETE: Final = "cannot set completionTime when there is no Complete=True condition"
_END: Final = "completionTime"
_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")


class _Changed:
    """A job before and after the write of its status: most rules look only at what the write changes."""

    def __init__(self, new: Object, old: Object) -> None:
        self.spec = new.get("spec") or {}
        self.status, self.before = new.get("status") or {}, old.get("status") or {}
        self.true, self.were = _true(self.status), _true(self.before)
        self.indexed = self.spec.get("completionMode") == "Indexed"
        self.finished = bool(self.true & {"Complete", "Failed"})

    def field(self, *names: str) -> bool:
        """True if one of some fields of the status changes."""
        return any(self.status.get(name) != self.before.get(name) for name in names)

    def condition(self, *names: str) -> bool:
        """True if one of some conditions comes or goes."""
        return any((name in self.true) != (name in self.were) for name in names)

    @property
    def ends(self) -> bool:
        """True if the job finishes, or goes on again."""
        return self.finished != bool(self.were & {"Complete", "Failed"})


def _true(status: Object) -> set[Any]:
    return {one.get("type") for one in status.get("conditions") or () if one.get("status") == "True"}


def validate_job_status(behaviour: ServedBehaviour, job: Object, old: Object | None) -> Errors:
    """The errors of a written status of a job."""
    changed = _Changed(job, old or {})
    strict = behaviour.applies("job-status-transitions")
    yield from validate_nonnegative_fields("status", changed.status, _COUNTS)
    yield from _validate_uncounted(changed.status)
    if strict:
        yield from _validate_completion(behaviour, changed)
        yield from _validate_finish(behaviour, changed)
        yield from _validate_indexes(changed)
        yield from _validate_running(changed)
    yield from _validate_success(behaviour, changed)
    if strict:
        yield from _validate_transition(behaviour, changed)
    yield from _validate_success_transition(changed)


def _refused(detail: str) -> FieldError:
    return invalid_value(_CONDITIONS, OMITTED, detail)


def _validate_uncounted(status: Object) -> Errors:
    seen: set[str] = set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(at(status, "uncountedTerminatedPods", name) or ()):
            path = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                yield invalid_value(path, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(path, uid)
            seen.add(uid)


def _validate_completion(behaviour: ServedBehaviour, job: _Changed) -> Errors:
    """The condition Complete, the time of completion, and what they ask for."""
    end, start, complete = job.status.get("completionTime"), job.status.get("startTime"), "Complete" in job.true
    path = "status.completionTime"
    if complete and "Failed" in job.true and job.condition("Complete", "Failed"):
        yield _refused("cannot set Complete=True and Failed=true conditions")
    if complete and "FailureTarget" in job.true and job.condition("Complete", "FailureTarget"):
        yield _refused("cannot set Complete=True and FailureTarget=true conditions")
    if job.condition("Complete") or job.field("completionTime"):
        if end is not None and not complete:
            yield invalid_value(path, shown_time(end), _INCOMPLETE)
        if end is None and complete:
            yield required(path, "completionTime is required for Complete jobs")
    if job.field("startTime", "completionTime") and start and end and moment(end) < moment(start):
        told = "must be equal to or after `startTime`"
        yield invalid_value(
            path, shown_time(end), told if _in_plain_words(behaviour) else f"{_END} cannot be set before startTime"
        )
    untargeted = "Failed" in job.true and "FailureTarget" not in job.true
    if untargeted and (job.condition("Failed") or job.field("failedIndexes")):
        yield _refused("cannot set Failed=True condition without the FailureTarget=true condition")
    if job.condition("Complete", _MET) and complete and _MET not in job.true:
        yield _refused("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")


def _validate_finish(behaviour: ServedBehaviour, job: _Changed) -> Errors:
    """The errors of fields that a finished job may not have."""
    if not job.finished:
        return
    active = job.status.get("active") or 0
    if active > 0 and (job.ends or job.field("active")):
        yield invalid_value("status.active", active, "active>0 is invalid for finished job")
    never = bool(job.spec.get("suspend")) and job.spec.get("completions") == 0
    if job.status.get("startTime") is None and (job.ends or job.field("startTime")) and not never:
        yield required("status.startTime", "startTime is required for finished job")
    left = any(at(job.status, "uncountedTerminatedPods", name) for name in ("failed", "succeeded"))
    if left and (job.ends or job.field("uncountedTerminatedPods")):
        shown = structure("batch.UncountedTerminatedPods", job.status["uncountedTerminatedPods"])
        told = "must be" if _in_plain_words(behaviour) else "uncountedTerminatedPods needs to be"
        yield invalid_value("status.uncountedTerminatedPods", shown, f"{told} empty for finished job")


def _validate_indexes(job: _Changed) -> Errors:
    done, failed = job.status.get("completedIndexes") or "", job.status.get("failedIndexes")
    completions, limit = job.spec.get("completions"), job.spec.get("backoffLimitPerIndex")
    of_done, of_failed = job.field("completedIndexes"), job.field("failedIndexes")
    paths = ("status.completedIndexes", "status.failedIndexes")
    if of_done and completions is not None:
        yield from _validate_format(paths[0], done, completions)
    if of_failed and None not in (completions, limit, failed):
        yield from _validate_format(paths[1], failed or "", completions or 0)
    if of_done and done and not job.indexed:
        yield invalid_value(paths[0], done, "cannot set non-empty completedIndexes when non-indexed completion mode")
    if of_failed and limit is None and failed is not None:
        yield invalid_value(paths[1], failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
    if (of_done or of_failed) and completions is not None and failed is not None:
        common = overlap(done, failed, completions)
        if common is not None:
            yield invalid_value(paths[1], failed, f"failedIndexes and completedIndexes overlap at index: {common}")


def _validate_format(path: str, text: str, completions: int) -> Errors:
    try:
        counted(text, completions)
    except BadIndexes as error:
        yield invalid_value(path, text, f"error parsing {path.removeprefix('status.')}: {error}")


def _validate_running(job: _Changed) -> Errors:
    ending, ready = job.status.get("terminating") or 0, job.status.get("ready")
    if ending > 0 and job.finished and (job.ends or job.field("terminating")):
        yield invalid_value("status.terminating", ending, "terminating>0 is invalid for finished job")
    if ready is not None and job.field("ready", "active") and ready > (job.status.get("active") or 0):
        yield invalid_value("status.ready", ready, "cannot set more ready pods than active")


def _validate_success(behaviour: ServedBehaviour, job: _Changed) -> Errors:
    """A job meets the criteria of success only if it has not failed, and at first only if it has any."""
    met, policy, any_job = (
        _MET in job.true,
        job.spec.get("successPolicy"),
        behaviour.applies("any-job-meets-success-criteria"),
    )
    if met and not job.indexed and not any_job:
        yield _refused("cannot set SuccessCriteriaMet to NonIndexed Job")
    for name in ("Failed", "FailureTarget"):
        if met and name in job.true:
            yield _refused(f"cannot set SuccessCriteriaMet=True and {name}=true conditions")
    if met and policy is None and not any_job:
        yield _refused("cannot set SuccessCriteriaMet=True for Job without SuccessPolicy")
    if not met and policy is not None and "Complete" in job.true:
        yield _refused("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _validate_transition(behaviour: ServedBehaviour, job: _Changed) -> Errors:
    for name in _TERMINAL:
        if name in job.were and name not in job.true:
            yield _refused(f"cannot disable the terminal {name}=True condition")
    scaled = job.indexed and job.spec.get("completions") == job.spec.get("parallelism")
    for name in ("failed",) if scaled else ("failed", "succeeded"):
        count = job.status.get(name) or 0
        if count < (job.before.get(name) or 0):
            yield invalid_value(f"status.{name}", count, f"cannot decrease the {name} counter")
    end, before = job.status.get("completionTime"), job.before.get("completionTime")
    if None not in (end, before) and end != before:
        told = "field is immutable" if _in_plain_words(behaviour) else f"{_END} cannot be mutated"
        yield invalid_value(f"status.{_END}", shown_time(end or ""), told)
    start, began = job.status.get("startTime"), job.before.get("startTime")
    if began is not None and start != began and not job.spec.get("suspend") and not _resuming(job):
        if behaviour.applies("start-of-jobs-is-immutable"):
            shown = shown_time(start) if start is not None else None
            yield invalid_value("status.startTime", shown, "field is immutable for unsuspended job once set")
        else:
            yield required("status.startTime", "startTime cannot be removed for unsuspended job")


def _in_plain_words(behaviour: ServedBehaviour) -> bool:
    return behaviour.applies("job-times-in-plain-words")


def _resuming(job: _Changed) -> bool:
    conditions: Sequence[Object] = job.status.get("conditions") or ()
    over = any(one.get("type") == "Suspended" and one.get("status") == "False" for one in conditions)
    return over and "Suspended" in job.were


def _validate_success_transition(job: _Changed) -> Errors:
    if _MET in job.were and _MET not in job.true:
        yield _refused("cannot disable the SuccessCriteriaMet=True condition")
    if "Complete" in job.were and _MET not in job.were and _MET in job.true:
        yield _refused("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
