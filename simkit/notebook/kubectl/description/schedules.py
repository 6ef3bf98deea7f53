"""Cron jobs and autoscalers as kubectl describes them.

Upstream: describeCronJob and describeHorizontalPodAutoscalerV2 in k8s.io/kubectl/pkg/describe/describe.go, 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import (
    annotation_lines,
    label_lines,
    name_lines,
    selector_text,
    shown_time,
)
from simkit.notebook.kubectl.description.pods import template_lines

_UNSET = "<unset>"


def cron_job_lines(client: Client, obj: Object) -> Iterator[str]:
    """A cron job with its schedule, the template of its jobs, and those that run."""
    spec, status = obj["spec"], obj.get("status") or {}
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield f"Schedule:\t{spec['schedule']}"
    yield f"Concurrency Policy:\t{spec.get('concurrencyPolicy', '')}"
    yield f"Suspend:\t{spec.get('suspend', _UNSET)!s}"
    yield f"Successful Job History Limit:\t{spec.get('successfulJobsHistoryLimit', _UNSET)}"
    yield f"Failed Job History Limit:\t{spec.get('failedJobsHistoryLimit', _UNSET)}"
    deadline = spec.get("startingDeadlineSeconds")
    yield f"Starting Deadline Seconds:\t{_UNSET if deadline is None else f'{deadline}s'}"
    job = spec["jobTemplate"].get("spec") or {}
    yield f"Selector:\t{selector_text(job['selector'], none='') if job.get('selector') else _UNSET}"
    yield f"Parallelism:\t{job.get('parallelism', _UNSET)}"
    yield f"Completions:\t{job.get('completions', _UNSET)}"
    if job.get("activeDeadlineSeconds") is not None:
        yield f"Active Deadline Seconds:\t{job['activeDeadlineSeconds']}s"
    yield from template_lines(job["template"])
    last = status.get("lastScheduleTime")
    yield f"Last Schedule Time:\t{shown_time(last) if last else _UNSET}"
    yield f"Active Jobs:\t{', '.join(each['name'] for each in status.get('active') or ()) or '<none>'}"
    yield from event_lines(client, events_of(client, obj, kind="CronJob"))


def autoscaler_lines(client: Client, obj: Object) -> Iterator[str]:
    """An autoscaler with its metrics, limits, behaviour and conditions."""
    spec, status = obj["spec"], obj.get("status") or {}
    target = spec["scaleTargetRef"]
    yield from name_lines(obj)
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield f"CreationTimestamp:\t{shown_time(obj['metadata']['creationTimestamp'])}"
    yield f"Reference:\t{target['kind']}/{target['name']}"
    yield "Metrics:\t( current / target )"
    known = status.get("currentMetrics") or ()
    for number, metric in enumerate(spec.get("metrics") or ()):
        yield f"  {_metric(metric, known[number] if number < len(known) else {})}"
    yield f"Min replicas:\t{spec.get('minReplicas', _UNSET)}"
    yield f"Max replicas:\t{spec['maxReplicas']}"
    if spec.get("behavior"):
        yield "Behavior:"
        for title, field in (("Scale Up", "scaleUp"), ("Scale Down", "scaleDown")):
            yield from _direction(title, spec["behavior"].get(field))
    counts = f"{status.get('currentReplicas', 0)} current / {status.get('desiredReplicas', 0)} desired"
    yield f"{target['kind']} pods:\t{counts}"
    if status.get("conditions"):
        yield from ("Conditions:", "  Type\tStatus\tReason\tMessage", "  ----\t------\t------\t-------")
        for each in status["conditions"]:
            yield f"  {each['type']}\t{each['status']}\t{each.get('reason', '')}\t{each.get('message', '')}"
    yield from event_lines(client, events_of(client, obj, kind="HorizontalPodAutoscaler"))


def _metric(metric: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    """A metric with what it is now, and what it should be."""
    kind = metric["type"]
    field = kind[:1].lower() + kind[1:]
    source, known = metric.get(field) or {}, at(current, field, "current") or {}
    target = source.get("target") or {}
    if kind in ("Resource", "ContainerResource"):
        where = f'of container "{source.get("container", "")}" on pods' if kind == "ContainerResource" else "on pods"
        head = f"resource {source['name']} {where}"
        if target.get("averageValue") is not None:
            return f"{head}:\t{known.get('averageValue', '<unknown>')} / {target['averageValue']}"
        used = known.get("averageUtilization")
        shown = "<unknown>" if used is None else f"{used}% ({known.get('averageValue', '')})"
        wanted = target.get("averageUtilization")
        return f"{head}  (as a percentage of request):\t{shown} / {'<auto>' if wanted is None else f'{wanted}%'}"
    name = at(source, "metric", "name") or ""
    if kind == "Pods":
        return f'"{name}" on pods:\t{known.get("averageValue", "<unknown>")} / {target.get("averageValue", "")}'
    unit = "averageValue" if target.get("averageValue") is not None else "value"
    told = f" (target {'average value' if unit == 'averageValue' else 'value'}):"
    if kind == "Object":
        described = source.get("describedObject") or {}
        told = f" on {described.get('kind', '')}/{described.get('name', '')}{told}"
    return f'"{name}"{told}\t{known.get(unit, "<unknown>")} / {target.get(unit, "")}'


def _direction(title: str, rules: Mapping[str, Any] | None) -> Iterator[str]:
    """The speed with which an autoscaler goes up or down."""
    if not rules:
        return
    yield f"  {title}:"
    if rules.get("stabilizationWindowSeconds") is not None:
        yield f"    Stabilization Window: {rules['stabilizationWindowSeconds']} seconds"
    if rules.get("policies"):
        yield f"    Select Policy: {rules.get('selectPolicy') or 'Max'}"
        yield "    Policies:"
        for each in rules["policies"]:
            yield f"      - Type: {each['type']}\tValue: {each['value']}\tPeriod: {each['periodSeconds']} seconds"
