"""Nodes with their pods as the scheduler counts them, kept up to date change by change.

Upstream: pkg/scheduler/framework/types.go and pkg/scheduler/internal/cache, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final

import orjson

from simkit.logic.workloads.status_conditions import find
from simkit.meta.clock import moment
from simkit.meta.labels import NOTHING, LabelSelector, Requirement, of_object
from simkit.meta.objects import Object, at, labels_of, metadata, name_of, namespace_of
from simkit.meta.quantity import QuantityError, parse

# Amounts of resources as the scheduler counts them: milli-CPUs, and whole units of everything else.
# Upstream: pkg/api/v1/resource/helpers.go and pkg/scheduler/util/pod_resources.go, release 1.30.

ResourceAmounts = dict[str, int]
CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
_LEAST_CPU: Final = 100
"""Milli-CPUs that scores take a container for which asks for none."""
_LEAST_MEMORY: Final = 200 * 1024 * 1024
_INFEASIBLE: Final = "Infeasible"
_HUGE_PAGES: Final = "hugepages-"


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """A quantity as the scheduler counts it; 0 for a text that is none.

    Examples
    --------
    >>> amount("cpu", "1.5"), amount("memory", "1Ki")
    (1500, 1024)
    """
    try:
        found = parse(text)
    except QuantityError:
        return 0
    return found.milli if resource == CPU else found.whole


def resource_amounts(listed: Mapping[str, Any] | None) -> ResourceAmounts:
    """The amounts of a resource list."""
    return {name: amount(name, str(text)) for name, text in (listed or {}).items()}


def pod_requests(pod: Object, *, least: bool = False) -> ResourceAmounts:
    """The requests of a whole pod: containers and sidecars together, or more if an init container needs it.

    Requests of the pod itself come first. While the resources of a container change, the greater ones count.

    Parameters
    ----------
    least
        Count containers that ask for no CPU or memory as asking for a little, as scores do.
    """
    spec, running = pod.get("spec") or {}, running_statuses(pod)
    total: ResourceAmounts = {}
    for container in spec.get("containers") or ():
        _add(total, _container(container, least, running))
    sidecars: ResourceAmounts = {}
    peak: ResourceAmounts = {}
    for container in spec.get("initContainers") or ():
        sidecar = container.get("restartPolicy") == "Always"
        asked = _container(container, least, running if sidecar else {})
        if sidecar:
            _add(total, asked)
            _add(sidecars, asked)
            asked = dict(sidecars)
        else:
            _add(asked, sidecars)
        _raise(peak, asked)
    _raise(total, peak)
    own = resource_amounts(at(spec, "resources", "requests"))
    total |= {name: value for name, value in own.items() if name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)}
    _add(total, resource_amounts(spec.get("overhead")))
    return total


def requests_without_sidecars(pod: Object) -> ResourceAmounts:
    """The requests of CPU and memory for the scores of other pods, as releases before 1.32 counted them.

    Sidecars count only while the containers after them start. ``pkg/scheduler/framework/types.go``
    (``calculateResource``), release 1.30.
    """
    spec = pod.get("spec") or {}
    total: ResourceAmounts = {}
    for container in spec.get("containers") or ():
        _add(total, _with_least(_container(container, False, {})))
    sidecars: ResourceAmounts = {}
    for container in spec.get("initContainers") or ():
        asked = _container(container, False, {})
        if container.get("restartPolicy") == "Always":
            _add(sidecars, asked)
            asked = dict(sidecars)
        else:
            _add(asked, sidecars)
        _raise(total, _with_least(asked))
    _add(total, resource_amounts(spec.get("overhead")))
    return {name: value for name, value in total.items() if name in (CPU, MEMORY)}


def running_statuses(pod: Object) -> dict[str, Mapping[str, Any]]:
    """The statuses of containers that tell with which resources they run, by name."""
    statuses = [at(pod, "status", field) or () for field in ("containerStatuses", "initContainerStatuses")]
    found = {each.get("name", ""): each for listed in statuses for each in listed if each.get("resources")}
    if found and never_resized(pod):
        return {name: {**each, "resize": _INFEASIBLE} for name, each in found.items()}
    return found


def never_resized(pod: Object) -> bool:
    """True if the node of a pod is too small for the resize that it asks for, which then does not count."""
    pending = find(at(pod, "status", "conditions"), "PodResizePending") or {}
    return _INFEASIBLE in (pending.get("reason"), at(pod, "status", "resize"))


def _container(container: Mapping[str, Any], least: bool, running: Mapping[str, Mapping[str, Any]]) -> ResourceAmounts:
    asked = resource_amounts(at(container, "resources", "requests"))
    status = running.get(container.get("name", ""))
    if status is not None:
        if status.get("resize") == _INFEASIBLE:
            asked = {}
        _raise(asked, resource_amounts(at(status, "resources", "requests")))
        _raise(asked, resource_amounts(status.get("allocatedResources")))
    return _with_least(asked) if least else asked


def _with_least(asked: ResourceAmounts) -> ResourceAmounts:
    asked.setdefault(CPU, _LEAST_CPU)
    asked.setdefault(MEMORY, _LEAST_MEMORY)
    return asked


def _add(total: ResourceAmounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise(total: ResourceAmounts, floor: Mapping[str, int]) -> None:
    for name, value in floor.items():
        if value > total.get(name, 0):
            total[name] = value


# Terms of affinity between pods, with their selectors parsed.
# Upstream: pkg/scheduler/framework/types.go (``AffinityTerm``), release 1.30.

_HARD: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_SOFT: Final = "preferredDuringSchedulingIgnoredDuringExecution"
Namespaces = Callable[[], Mapping[str, Mapping[str, str]]]
"""The labels of each namespace."""


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """One term: which pods it means, and the topology in which they are looked for."""

    topology_key: str
    namespaces: frozenset[str]
    selector: LabelSelector
    namespace_selector: LabelSelector
    weight: int = 1

    def matches(self, labels: Mapping[str, str], namespace: str, namespace_labels: Mapping[str, str] | None) -> bool:
        """True if it means a pod with these labels, in a namespace with those."""
        if namespace not in self.namespaces and not (
            namespace_labels is not None and self.namespace_selector.matches(namespace_labels)
        ):
            return False
        return self.selector.matches(labels)

    def resolved(self, namespaces: Mapping[str, Mapping[str, str]]) -> AffinityTerm:
        """The term with the namespaces that its selector means at the moment."""
        if self.namespace_selector is NOTHING:
            return self
        meant = {name for name, labels in namespaces.items() if self.namespace_selector.matches(labels)}
        return replace(self, namespaces=self.namespaces | meant, namespace_selector=NOTHING)


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """All terms of one pod."""

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    avoided: tuple[AffinityTerm, ...] = ()

    def resolved(self, namespaces: Mapping[str, Mapping[str, str]]) -> AffinityTerms:
        """The same with the namespaces that are meant at the moment."""
        return AffinityTerms(
            *(
                tuple(term.resolved(namespaces) for term in terms)
                for terms in (self.affinity, self.anti_affinity, self.preferred, self.avoided)
            )
        )

    def __bool__(self) -> bool:
        return bool(self.affinity or self.anti_affinity or self.preferred or self.avoided)


NO_TERMS: Final = AffinityTerms()


def terms_of(pod: Object) -> AffinityTerms:
    """The terms of a pod's affinity to other pods."""
    affinity = at(pod, "spec", "affinity")
    if not affinity:
        return NO_TERMS

    def hard(kind: str) -> tuple[AffinityTerm, ...]:
        return tuple(_term(pod, each) for each in at(affinity, kind, _HARD) or ())

    def soft(kind: str) -> tuple[AffinityTerm, ...]:
        given = at(affinity, kind, _SOFT) or ()
        return tuple(_term(pod, each["podAffinityTerm"], each.get("weight", 1)) for each in given)

    return AffinityTerms(hard("podAffinity"), hard("podAntiAffinity"), soft("podAffinity"), soft("podAntiAffinity"))


def _term(pod: Object, term: Mapping[str, Any], weight: int = 1) -> AffinityTerm:
    names, chosen = term.get("namespaces") or (), term.get("namespaceSelector")
    own = not names and chosen is None
    selector = of_object(term.get("labelSelector"))
    return AffinityTerm(
        term.get("topologyKey", ""),
        frozenset([namespace_of(pod)] if own else names),
        LabelSelector((*selector.requirements, *_by_keys(pod, term))),
        NOTHING if chosen is None else of_object(chosen),
        weight,
    )


def _by_keys(pod: Object, term: Mapping[str, Any]) -> list[Requirement]:
    """The requirements of matchLabelKeys and mismatchLabelKeys, where kube-apiserver has not merged them."""
    labels, present = labels_of(pod), {each.get("key") for each in at(term, "labelSelector", "matchExpressions") or ()}
    added: list[Requirement] = []
    for field, operator in (("matchLabelKeys", "in"), ("mismatchLabelKeys", "notin")):
        keys = [key for key in term.get(field) or () if key in labels and key not in present]
        added += [Requirement(key, operator, (labels[key],)) for key in keys]
    return added


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
        self.pods: dict[tuple[str, str], PodInfo] = {}
        self.requested: ResourceAmounts = {}
        self.scored: ResourceAmounts = {CPU: 0, MEMORY: 0}
        self.ports: dict[HostPort, int] = {}
        self.avoided = False
        """True if it has taints that keep pods away if possible."""
        self.scores: dict[tuple[object, ...], int] = {}
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
