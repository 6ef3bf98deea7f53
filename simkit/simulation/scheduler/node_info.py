"""Nodes with their pods as the scheduler counts them, kept up to date change by change.

Upstream: pkg/scheduler/framework/types.go and pkg/scheduler/internal/cache, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import orjson

from simkit.logic.workloads.pods import has_ended
from simkit.meta.behaviour import applies
from simkit.meta.clock import moment
from simkit.meta.domain import label
from simkit.meta.labels import LabelSelector
from simkit.meta.objects import Object, at, labels_of, metadata, name_of, namespace_of
from simkit.simulation.scheduler.affinity_term import AffinityTerms, terms_of
from simkit.simulation.scheduler.resource_amounts import (
    CPU,
    MEMORY,
    ResourceAmounts,
    pod_requests,
    requests_without_sidecars,
    resource_amounts,
    running_statuses,
)

HostPort = tuple[str, str, int]
"""Address, protocol and number."""
_ZONE, _REGION = label("zone", "topology"), label("region", "topology")
_MOST_COUNTS = 64
"""Selectors of a namespace whose pods are counted all along."""
_SAME_DEMANDS: Final = ("requests", "scored_requests", "requests_without_sidecars", "ports", "terms", "demands")
"""Attributes that follow from the specification and labels of a pod, and from resources in its status."""


class PodInfo:
    """A pod with what is derived from it once."""

    def __init__(self, pod: Object) -> None:
        self.pod = pod
        self.name, self.namespace = name_of(pod), namespace_of(pod)
        self.labels: Mapping[str, str] = labels_of(pod)
        self.priority: int = at(pod, "spec", "priority") or 0
        self.terminating = bool(metadata(pod).get("deletionTimestamp"))

    def __repr__(self) -> str:
        return f"<PodInfo {self.namespace}/{self.name}>"

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @cached_property
    def requests(self) -> ResourceAmounts:
        """The requests of the pod."""
        return pod_requests(self.pod)

    @cached_property
    def scored_requests(self) -> ResourceAmounts:
        """The requests of the pod for scores, with defaults for missing ones."""
        return pod_requests(self.pod, least=True)

    @cached_property
    def requests_without_sidecars(self) -> ResourceAmounts:
        """The requests of the pod for scores, once it is on a node, in releases that forget its sidecars there."""
        return requests_without_sidecars(self.pod)

    @cached_property
    def ports(self) -> tuple[HostPort, ...]:
        """The ports of the node that it needs."""
        found = []
        for container in at(self.pod, "spec", "containers") or ():
            for port in container.get("ports") or ():
                if port.get("hostPort"):
                    address = port.get("hostIP") or "0.0.0.0"  # noqa: S104 - the address of a pod's port
                    found.append((address, port.get("protocol") or "TCP", port["hostPort"]))
        return tuple(found)

    @cached_property
    def terms(self) -> AffinityTerms:
        """Its affinity to other pods."""
        return terms_of(self.pod)

    @cached_property
    def demands(self) -> bytes:
        """A text that is the same for pods which ask the same of a node alone, such as those of one template."""
        spec = self.pod.get("spec") or {}
        node = [spec.get("nodeName"), spec.get("nodeSelector"), at(spec, "affinity", "nodeAffinity")]
        amounts = {name: str(amount) for name, amount in self.requests.items()}
        return orjson.dumps([*node, spec.get("tolerations"), amounts, self.ports])

    def later(self, pod: Object) -> PodInfo | None:
        """The same pod as it is later; None if it asks for something else now, or is being deleted."""
        same = self.pod.get("spec") == pod.get("spec") and self.labels == labels_of(pod)
        if not same or self.terminating != bool(metadata(pod).get("deletionTimestamp")):
            return None
        found, known = PodInfo(pod), self.__dict__
        if running_statuses(pod) or running_statuses(self.pod):  # what runs counts too, while a pod is resized
            return found if (found.requests, found.scored_requests) == (self.requests, self.scored_requests) else None
        found.__dict__.update((name, known[name]) for name in _SAME_DEMANDS if name in known)
        return found

    @cached_property
    def started(self) -> float:
        """The start time; pods that have not started count as the latest."""
        text = at(self.pod, "status", "startTime")
        return moment(text) if text else float("inf")


class NodeInfo:
    """A node with its pods and the sums of what they ask for."""

    def __init__(self, name: str, *, sidecars_count: bool = True) -> None:
        self.name, self._sidecars_count = name, sidecars_count
        self.node: Object | None = None
        self.labels: Mapping[str, str] = {}
        self.allocatable: ResourceAmounts = {}
        self.allowed_pods = 0
        self.taints: tuple[Mapping[str, str], ...] = ()
        self.unschedulable = False
        self.images: dict[str, int] = {}
        self.pods: dict[tuple[str, str], PodInfo] = {}
        self.requested: ResourceAmounts = {}
        self.scored: ResourceAmounts = {CPU: 0, MEMORY: 0}
        self.ports: dict[HostPort, int] = {}
        self.avoided = False
        """True if it has taints that keep pods away if possible."""
        self.scores: dict[tuple[int, ...], int] = {}
        """Scores for pods that ask for certain amounts, as long as nothing changes on this node."""
        self.verdicts: dict[bytes, Any] = {}
        """The rejections of pods with certain demands, by filters that look at this node alone; None: it fits."""

    def __repr__(self) -> str:
        return f"<NodeInfo {self.name}, {len(self.pods)} pods>"

    @property
    def object(self) -> Object:
        """The node itself."""
        assert self.node is not None
        return self.node

    def set_node(self, node: Object) -> None:
        """Take in what the node says."""
        self.forget_verdicts()
        self.node, self.labels = node, labels_of(node)
        self.allocatable = resource_amounts(at(node, "status", "allocatable"))
        self.allowed_pods = self.allocatable.pop("pods", 0)
        self.taints = tuple(at(node, "spec", "taints") or ())
        self.avoided = any(taint.get("effect") == "PreferNoSchedule" for taint in self.taints)
        self.unschedulable = bool(at(node, "spec", "unschedulable"))
        self.images = {
            name: int(image.get("sizeBytes") or 0)
            for image in at(node, "status", "images") or ()
            for name in image.get("names") or ()
        }

    def add(self, pod: PodInfo) -> None:
        """Count a pod."""
        self.pods[pod.key] = pod
        self._count(pod, 1)

    def remove(self, pod: PodInfo) -> None:
        """Count a pod no longer."""
        if self.pods.pop(pod.key, None) is not None:
            self._count(pod, -1)

    def forget_verdicts(self) -> None:
        """Forget what was found out about this node, because it has changed."""
        self.scores.clear()
        self.verdicts.clear()

    def _count(self, pod: PodInfo, sign: int) -> None:
        self.forget_verdicts()
        for name, value in pod.requests.items():
            self.requested[name] = self.requested.get(name, 0) + sign * value
        scored = pod.scored_requests if self._sidecars_count else pod.requests_without_sidecars
        for name in (CPU, MEMORY):
            self.scored[name] += sign * scored.get(name, 0)
        for port in pod.ports:
            self.ports[port] = self.ports.get(port, 0) + sign
            if not self.ports[port]:
                del self.ports[port]


@dataclass(slots=True)
class _Matching:
    """The number of a namespace's pods that a selector means, on each node that has any."""

    selector: LabelSelector
    by_node: dict[str, int] = field(default_factory=dict)

    def count(self, pod: PodInfo, node: str, sign: int) -> None:
        if pod.terminating or not self.selector.matches(pod.labels):
            return
        number = self.by_node.get(node, 0) + sign
        if number:
            self.by_node[node] = number
        else:
            self.by_node.pop(node, None)


class SchedulerCache:
    """All nodes, and the pods that are on them. Pods that have ended take no room and are left out."""

    def __init__(self) -> None:
        self._infos: dict[str, NodeInfo] = {}
        self._sidecars_count = applies("scheduler-counts-sidecars-on-nodes")
        self._order: list[NodeInfo] | None = None
        self._places: dict[tuple[str, str], str] = {}
        self._matching: dict[str, dict[LabelSelector, _Matching]] = {}
        self.with_terms: dict[tuple[str, str], tuple[PodInfo, NodeInfo]] = {}
        """Pods with affinity to other pods, and their nodes."""
        self.image_nodes: dict[str, int] = {}
        """The number of nodes that have each image."""

    def nodes(self) -> list[NodeInfo]:
        """The nodes, one of each zone in turn."""
        if self._order is None:
            self._order = list(_by_zones(info for info in self._infos.values() if info.node is not None))
        return self._order

    def node(self, name: str) -> NodeInfo | None:
        """A node by name."""
        info = self._infos.get(name)
        return info if info is not None and info.node is not None else None

    def set_node(self, node: Object) -> None:
        """Take in a node as it is now."""
        name = name_of(node)
        info = self._info(name)
        if info.node is None or _zone(info.labels) != _zone(labels_of(node)):
            self._order = None
        self._count_images(info, -1)
        info.set_node(node)
        self._count_images(info, 1)

    def _info(self, name: str) -> NodeInfo:
        found = self._infos.get(name)
        if found is None:
            found = self._infos[name] = NodeInfo(name, sidecars_count=self._sidecars_count)
        return found

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods stay known until they go too."""
        info = self._infos.get(name)
        if info is None:
            return
        self._count_images(info, -1)
        info.node, self._order = None, None
        if not info.pods:
            del self._infos[name]

    def _count_images(self, info: NodeInfo, sign: int) -> None:
        for image in info.images if info.node is not None else ():
            self.image_nodes[image] = self.image_nodes.get(image, 0) + sign

    def set_pod(self, pod: Object) -> None:
        """Take in a pod as it is now, wherever it is."""
        key, node = (namespace_of(pod), name_of(pod)), at(pod, "spec", "nodeName")
        stays = node and not has_ended(pod)
        if stays and self._places.get(key) == node:
            info = self._infos[node]
            later = info.pods[key].later(pod)
            if later is not None:
                self._refresh(later, info)
                return
        self.remove_pod(*key)
        if stays:
            self.place(PodInfo(pod), self._info(node))

    def _refresh(self, pod: PodInfo, info: NodeInfo) -> None:
        """Know a pod as it is now, which counts as it did."""
        info.pods[pod.key] = pod
        if pod.key in self.with_terms:
            self.with_terms[pod.key] = (pod, info)

    def remove_pod(self, namespace: str, name: str) -> None:
        """Forget a pod."""
        place = self._places.get((namespace, name))
        if place is not None:
            info = self._infos[place]
            self.displace(info.pods[namespace, name], info)
            if info.node is None and not info.pods:
                del self._infos[place]

    def place(self, pod: PodInfo, info: NodeInfo) -> None:
        """Count a pod on a node."""
        info.add(pod)
        self._places[pod.key] = info.name
        self._index(pod, info, 1)

    def displace(self, pod: PodInfo, info: NodeInfo) -> None:
        """Count a pod on its node no longer."""
        info.remove(pod)
        self._places.pop(pod.key, None)
        self._index(pod, info, -1)

    def _index(self, pod: PodInfo, info: NodeInfo, sign: int) -> None:
        for each in self._matching.get(pod.namespace, {}).values():
            each.count(pod, info.name, sign)
        if not pod.terms:
            return
        if sign > 0:
            self.with_terms[pod.key] = (pod, info)
        else:
            self.with_terms.pop(pod.key, None)

    def pods(self) -> Iterator[tuple[PodInfo, NodeInfo]]:
        """All pods, with their nodes."""
        for info in self._infos.values():
            for pod in info.pods.values():
                yield pod, info

    def matching(self, namespace: str, selector: LabelSelector) -> Mapping[str, int]:
        """The number of selected pods of a namespace on each node, kept up to date after the first call."""
        known = self._matching.setdefault(namespace, {})
        found = known.pop(selector, None)
        if found is None:
            found = _Matching(selector)
            for pod, info in self.pods():
                if pod.namespace == namespace:
                    found.count(pod, info.name, 1)
            if len(known) >= _MOST_COUNTS:
                del known[next(iter(known))]
        known[selector] = found
        return found.by_node


def _zone(labels: Mapping[str, str]) -> tuple[str, str]:
    return labels.get(_REGION, ""), labels.get(_ZONE, "")


def _by_zones(infos: Iterable[NodeInfo]) -> Iterator[NodeInfo]:
    zones: dict[tuple[str, str], list[NodeInfo]] = {}
    for info in infos:
        zones.setdefault(_zone(info.labels), []).append(info)
    for turn in range(max(map(len, zones.values()), default=0)):
        for each in zones.values():
            if turn < len(each):
                yield each[turn]
