"""Deployments, replica sets, stateful sets, daemon sets and jobs as kubectl describes them.

Upstream: k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.printers.cells import duration, seconds
from simkit.logic.workloads.rollout import newest
from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import (
    annotation_lines,
    condition_lines,
    controller_lines,
    label_lines,
    name_lines,
    selector_text,
    shown_time,
    yes_or_no,
)
from simkit.notebook.kubectl.description.pods import template_lines

_INDEXES: Final = 50
"""The length at which a list of completed indexes is cut."""


def deployment_lines(client: Client, obj: Object) -> Iterator[str]:
    """A deployment with its template, its old and new replica sets and events."""
    spec, status = obj["spec"], obj.get("status") or {}
    yield from name_lines(obj)
    yield f"CreationTimestamp:\t{shown_time(obj['metadata']['creationTimestamp'])}"
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield f"Selector:\t{selector_text(spec['selector'], none='')}"
    fields = ("updatedReplicas", "replicas", "availableReplicas", "unavailableReplicas")
    updated, total, available, unavailable = (status.get(field, 0) for field in fields)
    yield (
        f"Replicas:\t{spec.get('replicas', 0)} desired | {updated} updated | {total} total | {available} available | "
        f"{unavailable} unavailable"
    )
    strategy = spec.get("strategy") or {}
    yield f"StrategyType:\t{strategy.get('type', '')}"
    yield f"MinReadySeconds:\t{spec.get('minReadySeconds', 0)}"
    if strategy.get("rollingUpdate"):
        rolling = strategy["rollingUpdate"]
        yield f"RollingUpdateStrategy:\t{rolling['maxUnavailable']} max unavailable, {rolling['maxSurge']} max surge"
    yield from template_lines(spec["template"])
    yield from condition_lines(obj)
    yield from _replica_sets(client, obj)
    yield from event_lines(client, events_of(client, obj, kind="Deployment"))


def _replica_sets(client: Client, deployment: Object) -> Iterator[str]:
    owned = _controlled(client, "replicasets.apps", deployment)
    new = newest(deployment, owned)
    old = [each for each in owned if each is not new]
    if owned:
        yield f"OldReplicaSets:\t{_counted(old)}"
        yield f"NewReplicaSet:\t{_counted([new] if new else [])}"


def _counted(sets: Sequence[Object]) -> str:
    shown = []
    for each in sets:
        numbers = f"{at(each, 'status', 'replicas') or 0}/{each['spec']['replicas']}"
        shown.append(f"{each['metadata']['name']} ({numbers} replicas created)")
    return ", ".join(shown) or "<none>"


def _controlled(client: Client, word: str, owner: Object) -> list[dict[str, Any]]:
    """The objects that a workload selects and controls."""
    path = client.path(client.resource(word), owner["metadata"].get("namespace", ""))
    query = {"labelSelector": selector_text(owner["spec"]["selector"], none="")}
    uid = owner["metadata"]["uid"]
    return [
        each
        for each in client.ask("GET", path, query=query).object["items"]
        if any(one["uid"] == uid and one.get("controller") for one in each["metadata"].get("ownerReferences") or ())
    ]


def _pods_line(client: Client, owner: Object) -> str:
    phases = [at(each, "status", "phase") for each in _controlled(client, "pods", owner)]
    words = {"Running": "Running", "Waiting": "Pending", "Succeeded": "Succeeded", "Failed": "Failed"}
    return "Pods Status:\t" + " / ".join(f"{phases.count(phase)} {word}" for word, phase in words.items())


def replica_set_lines(client: Client, obj: Object) -> Iterator[str]:
    """A replica set with its template and events."""
    return _replicas_lines(client, obj, "ReplicaSet", controller_lines(obj))


def replication_controller_lines(client: Client, obj: Object) -> Iterator[str]:
    """A replication controller, whose selector is a map of labels, with its template and events."""
    selected = {**obj, "spec": {**obj["spec"], "selector": {"matchLabels": obj["spec"].get("selector") or {}}}}
    return _replicas_lines(client, selected, "ReplicationController", ())


def _replicas_lines(client: Client, obj: Object, kind: str, controlled: Iterable[str]) -> Iterator[str]:
    yield from name_lines(obj)
    yield f"Selector:\t{selector_text(obj['spec']['selector'])}"
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield from controlled
    yield f"Replicas:\t{at(obj, 'status', 'replicas') or 0} current / {obj['spec'].get('replicas', 0)} desired"
    yield _pods_line(client, obj)
    yield from template_lines(obj["spec"]["template"])
    yield from condition_lines(obj)
    yield from event_lines(client, events_of(client, obj, kind=kind))


def stateful_set_lines(client: Client, obj: Object) -> Iterator[str]:
    """A stateful set with its template, volume claims and events."""
    spec = obj["spec"]
    yield from name_lines(obj)
    yield f"CreationTimestamp:\t{shown_time(obj['metadata']['creationTimestamp'])}"
    yield f"Selector:\t{selector_text(spec['selector'], none='')}"
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield f"Replicas:\t{spec.get('replicas', 0)} desired | {at(obj, 'status', 'replicas') or 0} total"
    yield f"Update Strategy:\t{at(spec, 'updateStrategy', 'type') or ''}"
    rolling = at(spec, "updateStrategy", "rollingUpdate") or {}
    if rolling.get("partition") is not None:
        yield f"  Partition:\t{rolling['partition']}"
        if rolling.get("maxUnavailable") is not None:
            yield f"  MaxUnavailable:\t{rolling['maxUnavailable']}"
    yield _pods_line(client, obj)
    yield from template_lines(spec["template"])
    yield from _claims(spec.get("volumeClaimTemplates") or ())
    yield from event_lines(client, events_of(client, obj, kind="StatefulSet"))


def _claims(templates: Any) -> Iterator[str]:
    yield "Volume Claims:" + ("" if templates else "\t<none>")
    for each in templates:
        spec, data = each["spec"], each["metadata"]
        yield f"  Name:\t{data['name']}"
        yield f"  StorageClass:\t{spec.get('storageClassName') or ''}"
        yield from label_lines(data.get("labels"), "  Labels")
        yield from label_lines(data.get("annotations"), "  Annotations")
        yield f"  Capacity:\t{at(spec, 'resources', 'requests', 'storage') or '<default>'}"
        yield f"  Access Modes:\t[{' '.join(spec.get('accessModes') or ())}]"


def daemon_set_lines(client: Client, obj: Object) -> Iterator[str]:
    """A daemon set with its numbers of nodes, template and events."""
    spec, status = obj["spec"], obj.get("status") or {}
    yield from name_lines(obj, namespace=False)
    yield f"Selector:\t{selector_text(spec['selector'], none='')}"
    chosen = at(spec, "template", "spec", "nodeSelector") or {}
    yield f"Node-Selector:\t{','.join(f'{name}={text}' for name, text in sorted(chosen.items())) or '<none>'}"
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    for title, field in (
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ):
        yield f"{title}: {status.get(field, 0)}"
    yield _pods_line(client, obj)
    yield from template_lines(spec["template"])
    yield from event_lines(client, events_of(client, obj, kind="DaemonSet"))


def job_lines(client: Client, obj: Object) -> Iterator[str]:
    """A job with its progress, template and events."""
    spec, status = obj["spec"], obj.get("status") or {}
    yield from name_lines(obj)
    yield f"Selector:\t{selector_text(spec.get('selector'), none='')}"
    yield from label_lines(obj["metadata"].get("labels"))
    yield from annotation_lines(obj)
    yield from controller_lines(obj)
    for title, field in (
        ("Parallelism", "parallelism"),
        ("Completions", "completions"),
        ("Completion Mode", "completionMode"),
        ("Suspend", "suspend"),
        ("Backoff Limit", "backoffLimit"),
        ("TTL Seconds After Finished", "ttlSecondsAfterFinished"),
    ):
        value = spec.get(field)
        if value is not None or field == "completions":
            yield f"{title}:\t{'<unset>' if value is None else yes_or_no(value) if field == 'suspend' else value}"
    started, ended = status.get("startTime"), status.get("completionTime")
    yield from (f"{title}:\t{shown_time(time)}" for title, time in _times(started, ended))
    if started and ended:
        yield f"Duration:\t{duration(seconds(ended) - seconds(started))}"
    if spec.get("activeDeadlineSeconds") is not None:
        yield f"Active Deadline Seconds:\t{spec['activeDeadlineSeconds']}s"
    ready = f" ({status['ready']} Ready)" if status.get("ready") is not None else ""
    counts = f"{status.get('succeeded', 0)} Succeeded / {status.get('failed', 0)} Failed"
    yield f"Pods Statuses:\t{status.get('active', 0)} Active{ready} / {counts}"
    if spec.get("completionMode") == "Indexed":
        yield f"Completed Indexes:\t{_indexes(status.get('completedIndexes') or '')}"
    yield from template_lines(spec["template"])
    yield from event_lines(client, events_of(client, obj, kind="Job"))


def _times(started: str | None, ended: str | None) -> Iterator[tuple[str, str]]:
    yield from (("Start Time", started),) if started else ()
    yield from (("Completed At", ended),) if ended else ()


def _indexes(text: str) -> str:
    if len(text) <= _INDEXES:
        return text or "<none>"
    return f"{text[: text.rfind(',', 0, _INDEXES + 1) + 1]}..."
