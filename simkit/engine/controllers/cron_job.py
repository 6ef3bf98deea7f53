"""Creates Jobs on the schedule of their CronJob.

Upstream: pkg/controller/cronjob, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, remove, replace_status
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import CRON_JOBS, JOBS
from simkit.client.work_queue import RequeueError
from simkit.engine.controllers.ownership import owner_names
from simkit.kinds.parts.job.cron import BadSchedule
from simkit.logic.workloads.jobs import finished_at, is_finished
from simkit.logic.workloads.pods import by_age, owner_reference
from simkit.logic.workloads.schedule import Firing, is_zone
from simkit.logic.workloads.status_conditions import is_true
from simkit.meta.clock import Clock, moment, timestamp
from simkit.meta.domain import LABEL_DOMAIN, label
from simkit.meta.fielderror import quoted
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.seams import Change

_SCHEDULED: Final = label("cronjob-scheduled-timestamp", "batch")
_MANY: Final = 100
"""The number of missed times from which a warning is given."""
_TOO_MANY: Final = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"

_NEVER: Final = "time difference between two schedules is less than 1 second"
"""The error for a schedule whose next time is always the zero time."""
_OLD_ZONE: Final = (
    "CRON_TZ or TZ used in schedule {} is not officially supported, see "
    f"https://{LABEL_DOMAIN}/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class CronJobController(ResourceWatcher):
    """Reconciles a CronJob whenever it changes and when it is due. Of several missed times only the last one counts."""

    name = account = "cronjob-controller"

    def __init__(self, clock: Clock) -> None:
        super().__init__(CRON_JOBS, JOBS)
        self._clock = clock
        self._events = EventRecorder(clock, self.name)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key = change.entry.key
        if key.resource == CRON_JOBS:
            return [key]
        return [Key(CRON_JOBS, key.namespace, name) for name in owner_names(change.entry.object, "CronJob")]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        owner = lister.get(key)
        if owner is None:
            return None
        made = lister.controlled(JOBS, key.namespace, uid_of(owner))
        status = _caught_up(owner, made)
        self._announce_ends(client, owner, made)
        self._clean(client, owner, made)
        again: float | None = None
        if not is_terminating(owner) and self._knows_zone(client, owner) and not at(owner, "spec", "suspend"):
            again = self._fire(client, owner, made, status)
        replace_status(client, CRON_JOBS, owner, status)
        return again

    def _announce_ends(self, client: Client, owner: Object, made: Sequence[Object]) -> None:
        """Tell of each active job that is not active any more, and of those that somebody else has made."""
        known = {uid_of(job): job for job in made}
        active = {each.get("uid") for each in at(owner, "status", "active") or ()}
        for each in made:
            if uid_of(each) not in active and not is_finished(each):
                text = f"Saw a job that the controller did not create or forgot: {name_of(each)}"
                self._warn(client, owner, "UnexpectedJob", text)
        for entry in at(owner, "status", "active") or ():
            job = known.get(entry.get("uid") or "")
            if job is None:
                text = f"Active job went missing: {entry.get('name')}"
                self._events.event(client, owner, "MissingJob", text)
            elif is_finished(job):
                end = "Complete" if is_true(at(job, "status", "conditions"), "Complete") else "Failed"
                self._events.event(
                    client, owner, "SawCompletedJob", f"Saw completed job: {name_of(job)}, status: {end}"
                )

    def _fire(self, client: Client, owner: Object, made: Sequence[Object], status: dict[str, Any]) -> float | None:
        """Make the job that is due, and note it; gives back when the next one is."""
        firing = self._firing(client, owner)
        if firing is None:
            return None  # a later change of the schedule brings us back here
        now = self._clock.now()
        since = moment(status.get("lastScheduleTime") or metadata(owner)["creationTimestamp"])
        deadline = at(owner, "spec", "startingDeadlineSeconds")
        earliest = max(since, now - deadline) if deadline is not None else since
        due = firing.last_until(now, earliest)
        if due is not None and firing.missed(now, earliest) > _MANY:
            self._warn(client, owner, "TooManyMissedTimes", _TOO_MANY)
        if due is not None and self._may_start(client, owner, made, status):
            self._start(client, owner, firing, due, status)
        return firing.next_after(now)

    def _firing(self, client: Client, owner: Object) -> Firing | None:
        """The schedule; a warning is told of one that cannot be read, or that never fires."""
        schedule = at(owner, "spec", "schedule") or ""
        zone = "" if "TZ" in schedule else at(owner, "spec", "timeZone") or ""
        if "TZ" in schedule:
            self._warn(client, owner, "UnsupportedSchedule", _OLD_ZONE.format(quoted(schedule)))
        try:
            firing = Firing(schedule, zone)
        except BadSchedule as error:
            self._warn(client, owner, "UnparseableSchedule", f"unparseable schedule: {quoted(schedule)} : {error}")
            return None
        if firing.next_after(self._clock.now()) is None:
            self._warn(client, owner, "InvalidSchedule", f"invalid schedule: {schedule} : {_NEVER}")
            return None
        return firing

    def _knows_zone(self, client: Client, owner: Object) -> bool:
        """True if the time zone is known; a warning is told of one that is not."""
        zone = at(owner, "spec", "timeZone")
        if not zone or is_zone(zone):
            return True
        self._warn(client, owner, "UnknownTimeZone", f"invalid timeZone: {quoted(zone)}: unknown time zone {zone}")
        return False

    def _warn(self, client: Client, owner: Object, reason: str, text: str) -> None:
        self._events.event(client, owner, reason, text, warning=True)

    def _may_start(self, client: Client, owner: Object, made: Sequence[Object], status: dict[str, Any]) -> bool:
        """True if another job may run now; with the policy Replace the running ones are removed."""
        active, policy = status.get("active") or (), at(owner, "spec", "concurrencyPolicy")
        if policy == "Forbid" and active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._events.event(client, owner, "JobAlreadyActive", text)
            return False
        if policy == "Replace":
            uids = {each.get("uid") for each in active}
            for job in made:
                if uid_of(job) in uids:
                    self._remove(client, owner, job)
            status.pop("active", None)
        return True

    def _start(self, client: Client, owner: Object, firing: Firing, due: float, status: dict[str, Any]) -> None:
        namespace = metadata(owner)["namespace"]
        response = create(client, JOBS, namespace, _job(owner, firing, due))
        if response.status == 409:
            status["lastScheduleTime"] = timestamp(due)
            return
        if not response.succeeded:
            message = str(response.object.get("message"))
            self._warn(client, owner, "FailedCreate", f"Error creating job: {message}")
            raise RequeueError(message)
        job = response.object
        self._events.event(client, owner, "SuccessfulCreate", f"Created job {name_of(job)}")
        reference = {
            "kind": "Job",
            "namespace": namespace,
            "name": name_of(job),
            "uid": uid_of(job),
            "apiVersion": "batch/v1",
            "resourceVersion": metadata(job)["resourceVersion"],
        }
        status["active"] = [*(status.get("active") or ()), reference]
        status["lastScheduleTime"] = timestamp(due)

    def _clean(self, client: Client, owner: Object, made: Sequence[Object]) -> None:
        """Forget finished jobs beyond those that are kept."""
        finished = [job for job in made if is_finished(job) and not is_terminating(job)]
        good = [job for job in finished if is_true(at(job, "status", "conditions"), "Complete")]
        bad = [job for job in finished if job not in good]
        for jobs, field in ((good, "successfulJobsHistoryLimit"), (bad, "failedJobsHistoryLimit")):
            limit = at(owner, "spec", field)
            if limit is not None:
                for job in by_age(jobs)[: max(0, len(jobs) - limit)]:
                    self._remove(client, owner, job)

    def _remove(self, client: Client, owner: Object, job: Object) -> None:
        if remove(client, JOBS, job, "Background").succeeded:
            self._events.event(client, owner, "SuccessfulDelete", f"Deleted job {name_of(job)}")


def _caught_up(owner: Object, made: Sequence[Object]) -> dict[str, Any]:
    """The status without jobs that have ended or gone, with those that run."""
    status = dict(owner.get("status") or {})
    running = {uid_of(job): job for job in made if not is_finished(job)}
    status["active"] = [each for each in status.get("active") or () if each.get("uid") in running]
    if not status["active"]:
        del status["active"]
    ends = [finished_at(job) for job in made if is_true(at(job, "status", "conditions"), "Complete")]
    last = max((end for end in ends if end is not None), default=None)
    if last is not None and moment(status.get("lastSuccessfulTime") or "1970-01-01T00:00:00Z") < last:
        status["lastSuccessfulTime"] = timestamp(last)
    return status


def _job(owner: Object, firing: Firing, due: float) -> dict[str, Any]:
    template = at(owner, "spec", "jobTemplate") or {}
    given = template.get("metadata") or {}
    local = datetime.fromtimestamp(due, firing.zone).isoformat().replace("+00:00", "Z")
    meta = {
        "name": f"{name_of(owner)}-{int(due) // 60}",
        "labels": dict(given.get("labels") or {}),
        "annotations": {**(given.get("annotations") or {}), _SCHEDULED: local},
        "ownerReferences": [owner_reference("batch/v1", "CronJob", owner)],
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": template.get("spec") or {}}
