"""Nodes as kubectl describes them.

Upstream: describeNode in k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.core.node import roles
from simkit.kinds.parts.pod.pod_resources import pod_limits, pod_requests
from simkit.kinds.parts.printers.cells import age
from simkit.meta.domain import api_group
from simkit.meta.objects import Object, at
from simkit.meta.quantity import Quantity
from simkit.meta.resource_list import ResourceList, add, resource_list_of
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.description.events import event_lines, events_of
from simkit.notebook.kubectl.description.parts import (
    amount_lines,
    annotation_lines,
    label_lines,
    name_lines,
    shown_time,
    taint_lines,
    yes_or_no,
)

_LEASES: Final = "kube-node-lease"
_HUGE_PAGES: Final = "hugepages-"
_OF_CONTAINERS: Final = ("cpu", "memory", "ephemeral-storage", "pods")
_NONE: Final = Quantity(0)
_INFORMATION: Final = (
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
    ("Kube-Proxy Version", "kubeProxyVersion"),
)


def node_lines(client: Client, node: Object) -> Iterator[str]:
    """A node with its lease, conditions, pods, the resources that they ask for, and events."""
    data, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    yield from name_lines(node, namespace=False)
    yield f"Roles:\t{','.join(roles(node)) or '<none>'}"
    yield from label_lines(data.get("labels"))
    yield from annotation_lines(node)
    yield f"CreationTimestamp:\t{shown_time(data['creationTimestamp'])}"
    yield from taint_lines(spec.get("taints"))
    yield f"Unschedulable:\t{yes_or_no(spec.get('unschedulable'))}"
    yield from _lease(client, data["name"])
    yield from _conditions(status.get("conditions") or ())
    yield "Addresses:"
    yield from (f"  {each['type']}:\t{each['address']}" for each in status.get("addresses") or ())
    for field, title in (("capacity", "Capacity"), ("allocatable", "Allocatable")):
        if status.get(field):
            yield f"{title}:"
            yield from amount_lines(status[field], "  ")
    yield "System Info:"
    yield from (f"  {title}:\t{at(status, 'nodeInfo', field) or ''}" for title, field in _INFORMATION)
    if spec.get("podCIDR"):
        yield f"PodCIDR:\t{spec['podCIDR']}"
    if spec.get("podCIDRs"):
        yield f"PodCIDRs:\t{','.join(spec['podCIDRs'])}"
    if spec.get("providerID"):
        yield f"ProviderID:\t{spec['providerID']}"
    yield from _pods(client, node)
    # Events of the node controller name the uid of the node; those of kubelets name the node instead.
    events = events_of(client, node, kind="Node") + events_of(client, node, kind="Node", uid=data["name"])
    yield from event_lines(client, events)


def _lease(client: Client, name: str) -> Iterator[str]:
    path = client.path(client.resource(f"leases.{api_group('coordination')}"), _LEASES, name)
    try:
        spec = client.ask("GET", path).object.get("spec") or {}
    except KubectlError as error:
        yield f"Lease:\tFailed to get lease: {error.text.partition(': ')[2]}"
        return
    yield "Lease:"
    yield f"  HolderIdentity:\t{spec.get('holderIdentity', '<unset>')}"
    for title, field in (("AcquireTime", "acquireTime"), ("RenewTime", "renewTime")):
        yield f"  {title}:\t{shown_time(spec[field]) if spec.get(field) else '<unset>'}"


def _conditions(conditions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not conditions:
        return
    yield from ("Conditions:", "  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage")
    yield "  ----\t------\t-----------------\t------------------\t------\t-------"
    for each in conditions:
        beat, turned = (shown_time(each.get(field)) for field in ("lastHeartbeatTime", "lastTransitionTime"))
        told = f"{each.get('reason', '')} \t{each.get('message', '')}"
        yield f"  {each['type']} \t{each['status']} \t{beat} \t{turned} \t{told}"


def _pods(client: Client, node: Object) -> Iterator[str]:
    """The pods of a node that have not ended, and the sums of their requests and limits."""
    name = node["metadata"]["name"]
    selector = f"spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed"
    try:
        found = client.ask("GET", client.path(client.resource("pods")), query={"fieldSelector": selector}).object
    except KubectlError as error:
        if "(Forbidden)" not in error.text:
            raise
        yield "Pods:\tnot authorized"
        return
    status = node.get("status") or {}
    allocatable = resource_list_of(status.get("allocatable") or status.get("capacity"))
    yield f"Non-terminated Pods:\t({len(found['items'])} in total)"
    yield "  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge"
    yield "  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---"
    now = client.cluster.engine.clock.now()
    requests: ResourceList = {}
    limits: ResourceList = {}
    for each in found["items"]:
        asked, most = pod_requests(each), pod_limits(each)
        requests, limits = add(requests, asked), add(limits, most)
        cells = [_share(one, resource, allocatable) for resource in ("cpu", "memory") for one in (asked, most)]
        data = each["metadata"]
        shown = "\t".join(cells)
        yield f"  {data['namespace']}\t{data['name']}\t\t{shown}\t{age(data['creationTimestamp'], now)}"
    yield from _sums(requests, limits, allocatable)


def _sums(requests: ResourceList, limits: ResourceList, allocatable: ResourceList) -> Iterator[str]:
    yield from ("Allocated resources:", "  (Total limits may be over 100 percent, i.e., overcommitted.)")
    yield from ("  Resource\tRequests\tLimits", "  --------\t--------\t------")
    huge = sorted(name for name in allocatable if name.startswith(_HUGE_PAGES))
    for name in ("cpu", "memory", "ephemeral-storage", *huge):
        yield f"  {name}\t{_share(requests, name, allocatable)}\t{_share(limits, name, allocatable)}"
    for name in sorted(set(allocatable) - {*huge, *_OF_CONTAINERS}):
        yield f"  {name}\t{requests.get(name, _NONE)}\t{limits.get(name, _NONE)}"


def _share(amounts: ResourceList, name: str, allocatable: ResourceList) -> str:
    """An amount, and how much of what the node has that is."""
    amount, whole = amounts.get(name, _NONE), allocatable.get(name, _NONE)
    return f"{amount} ({amount.nano * 100 // whole.nano if whole.nano else 0}%)"
