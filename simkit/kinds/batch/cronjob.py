"""Strategy of CronJob: defaulting, validation of schedules and time zones, printer columns.

Follows ``pkg/registry/batch/cronjob/strategy.go`` and ``pkg/apis/batch/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from simkit.kinds.batch.job import default_failure_policy, many_warnings
from simkit.kinds.parts.cells import NONE, UNSET, age, created, selector_text
from simkit.kinds.parts.copy_on_write import keep_all_but_status, own_copy
from simkit.kinds.parts.go_printing.structures import selector as shown_selector
from simkit.kinds.parts.job.cron import BadSchedule, parse
from simkit.kinds.parts.job.spec import JOB_SPEC
from simkit.kinds.parts.pod.defaults import default_template
from simkit.kinds.parts.pod.template import names_and_images, prepare_template
from simkit.kinds.parts.pod.warnings import pod_warnings
from simkit.kinds.parts.template_owner import (
    default_missing,
    has_generation,
    keeping_dependents,
    name_warnings,
    validate_nonnegative_fields,
)
from simkit.kinds.rules import placed
from simkit.kinds.strategy import CHANGES, MetadataChecks, Strategy, Subresource, spec_differs
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import LABEL_DOMAIN
from simkit.meta.fielderror import Errors, invalid_value, required, unsupported
from simkit.meta.objects import Draft, Object, at, name_of, null_creation

_LONGEST_NAME: Final = 52
_POLICIES: Final = ("Allow", "Forbid", "Replace")
_ZONE_PART: Final = re.compile(r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}")
_DEFAULTS: Final = {"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}
_IN_JOB: Final = "spec.jobTemplate.spec"
_UNOFFICIAL_ZONE: Final = (
    "CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see "
    f"https://{LABEL_DOMAIN}/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
_OLD_ZONE: Final = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    f"https://{LABEL_DOMAIN}/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


def _default(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = own_copy(draft, "spec")
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    default_missing(spec, _DEFAULTS)
    template = own_copy(spec, "jobTemplate")
    template.setdefault("metadata", null_creation(behaviour))
    job = own_copy(template, "spec")
    job.setdefault("template", {})
    default_failure_policy(job)
    default_template(behaviour, job)


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    template = own_copy(own_copy(draft, "spec"), "jobTemplate")
    prepare_template(behaviour, own_copy(template, "spec"), at(old, "spec", "jobTemplate", "spec", "template", "spec"))
    if old is None:
        draft["status"] = {}


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Errors:
    spec, before = obj["spec"], (old or {}).get("spec") or {}
    yield from _validate_schedule(behaviour, "spec.schedule", spec, before)
    yield from validate_nonnegative_fields("spec", spec, ("startingDeadlineSeconds",))
    if old is None or before.get("timeZone") != spec.get("timeZone"):
        yield from _validate_zone(behaviour, "spec.timeZone", spec.get("timeZone"))
    policy = spec.get("concurrencyPolicy") or ""
    if policy not in _POLICIES:
        yield unsupported("spec.concurrencyPolicy", policy, _POLICIES)
    yield from _validate_job(behaviour, at(spec, "jobTemplate", "spec") or {})
    yield from validate_nonnegative_fields("spec", spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"))
    if old is None and len(name_of(obj)) > _LONGEST_NAME:
        text = f"must be no more than {_LONGEST_NAME} characters"
        yield invalid_value("metadata.name", name_of(obj), text)


def _validate_schedule(behaviour: ServedBehaviour, path: str, spec: Object, old: Object) -> Errors:
    schedule = spec.get("schedule") or ""
    if not schedule:
        yield required(path)
        return
    try:
        parse(schedule)
    except BadSchedule as error:
        yield invalid_value(path, schedule, str(error))
    if "TZ" not in schedule:
        return
    if "TZ" not in (old.get("schedule") or "") and behaviour.applies("zones-in-schedules-refused"):
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid_value(path, schedule, text)
    elif spec.get("timeZone") is not None:
        text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield invalid_value(path, schedule, text)


@cache
def _zones() -> frozenset[str]:
    from zoneinfo import available_timezones

    return frozenset(available_timezones() | {"UTC"})


def _validate_zone(behaviour: ServedBehaviour, path: str, zone: str | None) -> Errors:
    if zone is None:
        return
    if not zone:
        yield invalid_value(path, zone, "timeZone must be nil or non-empty string")
        return
    if behaviour.applies("parts-of-zones-checked") and any(
        part in (".", "..") or not _ZONE_PART.fullmatch(part) for part in zone.split("/")
    ):
        yield invalid_value(path, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid_value(path, zone, text)
    if zone not in _zones() and zone != "Local":
        yield invalid_value(path, zone, f"unknown time zone {zone}")


def _validate_job(behaviour: ServedBehaviour, job: Object) -> Errors:
    yield from placed(_IN_JOB, JOB_SPEC(behaviour, job))
    if job.get("selector") is not None:
        shown = shown_selector(job["selector"])
        yield invalid_value(f"{_IN_JOB}.selector", shown, "`selector` will be auto-generated")
    if job.get("manualSelector"):
        yield unsupported(f"{_IN_JOB}.manualSelector", True, ("nil", "false"))


def _warnings(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[str]:
    yield from name_warnings(behaviour, obj) if old is None else ()
    if old is None or obj["metadata"].get("generation") != old["metadata"].get("generation"):
        job = at(obj, "spec", "jobTemplate", "spec") or {}
        yield from many_warnings(behaviour, _IN_JOB, job)
        yield from pod_warnings(behaviour, f"{_IN_JOB}.template", job.get("template") or {})
    if "TZ" in (at(obj, "spec", "schedule") or "") and behaviour.applies("pods-warned-of"):
        if not behaviour.applies("zones-in-schedules-refused"):
            yield _UNOFFICIAL_ZONE
        elif old is not None:
            yield _OLD_ZONE


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    suspended = spec.get("suspend")
    shown = UNSET if suspended is None else str(suspended)
    last = status.get("lastScheduleTime")
    job = at(spec, "jobTemplate", "spec") or {}
    return [
        name_of(obj),
        spec.get("schedule") or "",
        *([spec.get("timeZone") or NONE] if behaviour.applies("zones-of-cron-jobs-shown") else ()),
        shown,
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        created(obj, now),
        *names_and_images(job.get("template")),
        selector_text(job.get("selector")),
    ]


_STABLE: Final = Strategy(
    metadata_checks=MetadataChecks((CHANGES,), part=()),
    default=_default,
    prepare=_prepare,
    validate=_validate,
    raises_generation=spec_differs,
    has_generation=has_generation,
    print_row=_row,
    subresources={"status": Subresource(keep_all_but_status)},
    warnings=_warnings,
)
STRATEGY = replace(_STABLE, older_versions=keeping_dependents(_STABLE, "batch/v1beta1", "batch/v2alpha1"))
