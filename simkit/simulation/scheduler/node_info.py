"""Nodes with their pods as the scheduler counts them, kept up to date change by change.

Upstream: pkg/scheduler/framework/types.go and pkg/scheduler/internal/cache, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import orjson

from simkit.meta.clock import moment
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
