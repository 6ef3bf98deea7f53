"""The scheduler's view besides nodes and their pods: namespaces, owners, services, claims and volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from simkit.client.lister import Lister
from simkit.client.resources import BUDGETS, CLAIMS, NAMESPACES, SERVICES, STORAGE_CLASSES, VOLUMES
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.labels import LabelSelector, of_object
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, controller_of, labels_of, name_of
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.scheduler_cache import SchedulerCache

# The reasons why a node, or every node, does not fit a pod.
# Upstream: pkg/scheduler/framework/types.go (``FitError``), release 1.30.


class Rejection(NamedTuple):
    """The reasons of one filter."""

    reasons: tuple[str, ...]
    resolvable: bool = True
    """True if the removal of pods could help."""


NO_DEVICES: Final = "simulated nodes do not allocate resource claims"
"""The reason why pods with resource claims stay pending."""
_NO_CLAIMS: Final = "no new claims to deallocate"
Filter = Callable[[NodeInfo], Rejection | None]
"""A filter for one pod: None if a node fits, or the rejection."""


class Unschedulable(Exception):
    """A pod that no node is for, whatever the nodes are like. The text says why."""


def rejected(reason: str, *, resolvable: bool = True) -> Rejection:
    """A rejection for one reason."""
    return Rejection((reason,), resolvable)


def fit_message(nodes: int, rejections: Iterable[Rejection], *, before: str = "", after: str = "") -> str:
    """The sentence of kube-scheduler about a pod that fits nowhere.

    Examples
    --------
    >>> fit_message(3, [rejected("Too many pods"), rejected("Insufficient cpu"), rejected("Insufficient cpu")])
    '0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.'
    """
    text = f"0/{nodes} nodes are available:"
    if before:
        text += f" {before}."
    else:
        counted = Counter(reason for rejection in rejections for reason in rejection.reasons)
        listed = ", ".join(sorted(f"{number} {reason}" for reason, number in counted.items()))
        text += f" {listed}." if listed else ""
    return f"{text} {after}" if after else text


def not_preempted(behaviour: ServedBehaviour, why: str, *, before: str = "") -> str:
    """The end of the sentence: why no pods have to go for the pod; empty where some have to.

    ``before`` says what kept nodes from being looked at.

    Examples
    --------
    >>> from simkit.schema.behaviour import default_behaviour
    >>> not_preempted(default_behaviour("1.30"), "not eligible due to preemptionPolicy=Never.")
    'preemption: not eligible due to preemptionPolicy=Never.'
    """
    told = f"preemption: {why}" if why else ""
    if not behaviour.applies("scheduler-tells-of-claims"):
        return told
    if before:
        # The plugin for claims of devices misses what it would have noted about the pod.
        return "" if before == NO_DEVICES else "not found"
    return f"{_NO_CLAIMS}, {told}" if told else ""


_OWNERS: Final[Mapping[str, GroupResource]] = {
    "ReplicationController": GroupResource("", "replicationcontrollers"),
    "ReplicaSet": GroupResource("apps", "replicasets"),
    "StatefulSet": GroupResource("apps", "statefulsets"),
}
_CSI_NODES: Final = GroupResource(api_group("storage"), "csinodes")
_ATTACHMENTS: Final = GroupResource(api_group("storage"), "volumeattachments")
_STORAGE: Final = frozenset({CLAIMS, VOLUMES, STORAGE_CLASSES, _CSI_NODES, _ATTACHMENTS})
WATCHED: Final = frozenset({NAMESPACES, SERVICES, BUDGETS, *_STORAGE, *_OWNERS.values()})


class View:
    """The cluster at one moment, as one scheduling cycle sees it."""

    def __init__(self, cache: SchedulerCache, lister: Lister, now: float = 0.0) -> None:
        self.cache, self.lister, self.now = cache, lister, now
        self._namespaces: dict[str, Mapping[str, str]] | None = None
        self._selectors: dict[tuple[str, str, tuple[tuple[str, str], ...]], LabelSelector] = {}

    @property
    def behaviour(self) -> ServedBehaviour:
        """The rules of the cluster's release."""
        return self.lister.snapshot.behaviour

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of all namespaces."""
        if self._namespaces is None:
            self._namespaces = {name_of(each): labels_of(each) for each in self.lister.scan(NAMESPACES)}
        return self._namespaces

    def claim(self, namespace: str, name: str) -> Object | None:
        """A claim."""
        return self.lister.get(Key(CLAIMS, namespace, name))

    def volume(self, name: str) -> Object | None:
        """A volume."""
        return self.lister.get(Key(VOLUMES, "", name))

    def volumes(self) -> Iterable[Object]:
        """All volumes."""
        return self.lister.scan(VOLUMES)

    def storage_class(self, name: str) -> Object | None:
        """A storage class."""
        return self.lister.get(Key(STORAGE_CLASSES, "", name))

    def csi_node(self, name: str) -> Object | None:
        """The drivers of a node."""
        return self.lister.get(Key(_CSI_NODES, "", name))

    def attachments(self) -> Iterable[Object]:
        """The attachments of volumes to nodes."""
        return self.lister.scan(_ATTACHMENTS)

    def budgets(self, namespace: str) -> Iterable[Object]:
        """The disruption budgets of a namespace."""
        return self.lister.scan(BUDGETS, namespace)

    def default_selector(self, pod: PodInfo) -> LabelSelector:
        """The default selector of a pod's group: its services, and its controller.

        Upstream: pkg/scheduler/framework/plugins/helper/spread.go, release 1.30.
        """
        owner = controller_of(pod.pod) or {}
        known = (pod.namespace, str(owner.get("uid", "")), tuple(sorted(pod.labels.items())))
        found = self._selectors.get(known)
        if found is None:
            found = self._selectors[known] = self._made_selector(pod, owner)
        return found

    def _made_selector(self, pod: PodInfo, owner: Mapping[str, str]) -> LabelSelector:
        labels: dict[str, str] = {}
        for service in self.lister.scan(SERVICES, pod.namespace):
            wanted = at(service, "spec", "selector") or {}
            if wanted and wanted.items() <= pod.labels.items():
                labels |= wanted
        resource = _OWNERS.get(owner.get("kind", ""))
        held = self.lister.get(Key(resource, pod.namespace, owner.get("name", ""))) if resource else None
        selector = at(held, "spec", "selector")
        if owner.get("kind") == "ReplicationController":
            selector = {"matchLabels": {**labels, **(selector or {})}}
            return of_object(selector)
        own = of_object({"matchLabels": dict(sorted(labels.items()))}).requirements
        return LabelSelector((*own, *of_object(selector).requirements)) if selector else LabelSelector(own)
