"""Pods, and templates of pods, as kubectl describes them.

Upstream: describePod and DescribePodTemplate in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator

from simkit.kinds.parts.pod.qos import qos_class
from simkit.kinds.parts.printers.cells import age
from simkit.meta.domain import MIRROR_POD
from simkit.meta.objects import Object, at
from simkit.notebook.kubectl.client import Client
from simkit.notebook.kubectl.description.containers import container_lines
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import (
    annotation_lines,
    controller_lines,
    label_lines,
    name_lines,
    resource_lines,
    seccomp_lines,
    selector_text,
    shown_time,
    toleration_lines,
)
from simkit.notebook.kubectl.description.volumes import volume_lines


def pod_lines(client: Client, pod: Object) -> Iterator[str]:
    """A pod: where it runs, its containers and their states, conditions, volumes, events."""
    spec, status = pod["spec"], pod.get("status") or {}
    yield from name_lines(pod)
    for field, title in (
        ("priority", "Priority"),
        ("priorityClassName", "Priority Class Name"),
        ("runtimeClassName", "Runtime Class Name"),
        ("serviceAccountName", "Service Account"),
    ):
        if spec.get(field) not in (None, ""):
            yield f"{title}:\t{spec[field]}"
    node = spec.get("nodeName")
    yield f"Node:\t{node}/{status.get('hostIP', '')}" if node else "Node:\t<none>"
    if status.get("startTime"):
        yield f"Start Time:\t{shown_time(status['startTime'])}"
    yield from label_lines(pod["metadata"].get("labels"))
    yield from annotation_lines(pod)
    yield from _phase(client, pod)
    yield f"IP:\t{status.get('podIP', '')}"
    addresses = status.get("podIPs") or ()
    yield "IPs:" if addresses else "IPs:\t<none>"
    yield from (f"  IP:\t{each['ip']}" for each in addresses)
    yield from controller_lines(pod)
    if status.get("nominatedNodeName"):
        yield f"NominatedNodeName:\t{status['nominatedNodeName']}"
    if spec.get("resources"):
        yield "Resources:"
        yield from resource_lines(spec["resources"], "  ")
    yield from _containers(pod)
    yield from _gates_and_conditions(pod)
    yield from volume_lines(spec.get("volumes"))
    yield f"QoS Class:\t{status.get('qosClass') or qos_class(spec)}"
    yield from label_lines(spec.get("nodeSelector"), "Node-Selectors")
    yield from toleration_lines(spec.get("tolerations"))
    yield from _spread(spec, "")
    mirror = (pod["metadata"].get("annotations") or {}).get(MIRROR_POD)
    yield from event_lines(client, events_of(client, pod, uid=mirror))


def _phase(client: Client, pod: Object) -> Iterator[str]:
    data, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    if data.get("deletionTimestamp") and status.get("phase") not in ("Failed", "Succeeded"):
        now = client.cluster.engine.clock.now()
        yield f"Status:\tTerminating (lasts {age(data['deletionTimestamp'], now)})"
        yield f"Termination Grace Period:\t{data.get('deletionGracePeriodSeconds', 0)}s"
    else:
        yield f"Status:\t{status.get('phase', '')}"
    for field, title in (("reason", "Reason"), ("message", "Message")):
        if status.get(field):
            yield f"{title}:\t{status[field]}"
    yield from seccomp_lines(spec)


def _containers(pod: Object) -> Iterator[str]:
    spec, status = pod["spec"], pod.get("status") or {}
    if spec.get("initContainers"):
        statuses = status.get("initContainerStatuses") or ()
        yield from container_lines("Init Containers", spec["initContainers"], statuses, pod)
    yield from container_lines("Containers", spec["containers"], status.get("containerStatuses") or (), pod)
    if spec.get("ephemeralContainers"):
        statuses = status.get("ephemeralContainerStatuses") or ()
        yield from container_lines("Ephemeral Containers", spec["ephemeralContainers"], statuses, pod)


def _gates_and_conditions(pod: Object) -> Iterator[str]:
    conditions = at(pod, "status", "conditions") or ()
    known = {each["type"]: each["status"] for each in conditions}
    gates = at(pod, "spec", "readinessGates")
    if gates:
        yield from ("Readiness Gates:", "  Type\tStatus")
        for each in gates:
            yield f"  {each['conditionType']} \t{known.get(each['conditionType'], '<none>')} "
    if conditions:
        yield from ("Conditions:", "  Type\tStatus")
        yield from (f"  {each['type']} \t{each['status']} " for each in conditions)


def _spread(spec: Object, space: str) -> Iterator[str]:
    found = sorted(spec.get("topologySpreadConstraints") or (), key=lambda each: str(each["topologyKey"]))
    for number, each in enumerate(found):
        text = f"{each['topologyKey']}:{each['whenUnsatisfiable']} when max skew {each['maxSkew']} is exceeded"
        if each.get("labelSelector") is not None:
            text += f" for selector {selector_text(each['labelSelector'])}"
        yield f"{space}{'Topology Spread Constraints:' if not number else ''}\t{text}"


def template_lines(template: Object) -> Iterator[str]:
    """The template of a pod in a workload."""
    data, spec = template.get("metadata") or {}, template["spec"]
    yield "Pod Template:"
    yield from label_lines(data.get("labels"), "  Labels")
    if data.get("annotations"):
        yield from annotation_lines({"metadata": data}, "  Annotations")
    if spec.get("serviceAccountName"):
        yield f"  Service Account:\t{spec['serviceAccountName']}"
    if spec.get("initContainers"):
        yield from container_lines("Init Containers", spec["initContainers"])
    yield from container_lines("Containers", spec.get("containers") or ())
    yield from volume_lines(spec.get("volumes"), "  ")
    yield from _spread(spec, "  ")
    if spec.get("priorityClassName"):
        yield f"  Priority Class Name:\t{spec['priorityClassName']}"
    yield from label_lines(spec.get("nodeSelector"), "  Node-Selectors")
    yield from toleration_lines(spec.get("tolerations"), "  Tolerations")
