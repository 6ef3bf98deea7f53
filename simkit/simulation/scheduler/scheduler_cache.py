"""All nodes with their pods as the scheduler knows them, kept up to date change by change.

Upstream: pkg/scheduler/internal/cache, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from simkit.client.indexer import equalities
from simkit.logic.workloads.pods import has_ended
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import label
from simkit.meta.labels import LabelSelector
from simkit.meta.objects import Object, at, labels_of, name_of, namespace_of
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo

# The numbers of pods that selectors mean, on each node, kept up to date pod by pod

_MOST_COUNTS: Final = 64
"""Selectors of a namespace whose pods are counted all along."""
Label = tuple[str, str]
Name = tuple[str, str]


@dataclass(slots=True)
class _Count:
    """The number of pods that a selector means, on each node that has any; ``label`` is one that all of them have."""

    selector: LabelSelector
    label: Label | None
    by_node: dict[str, int] = field(default_factory=dict)

    def count(self, pod: PodInfo, node: str, sign: int) -> None:
        if pod.terminating or not self.selector.matches(pod.labels):
            return
        number = self.by_node.get(node, 0) + sign
        if number:
            self.by_node[node] = number
        else:
            self.by_node.pop(node, None)


class _Namespace:
    """The pods of a namespace by label, and the counts that selectors keep of them."""

    def __init__(self) -> None:
        self.pods: dict[Label, set[Name]] = {}
        self.counts: dict[LabelSelector, _Count] = {}
        self.by_label: dict[Label | None, dict[LabelSelector, _Count]] = {}

    def concerned(self, pod: PodInfo) -> Iterable[_Count]:
        """The counts that a pod may matter to: those of its labels, and those that ask for none in particular."""
        labels: Iterable[Label | None] = chain(_labels(pod), (None,))
        return chain.from_iterable(self.by_label[each].values() for each in labels if each in self.by_label)

    def forget_oldest(self) -> None:
        """Give up the count that nobody has asked for longest."""
        oldest = self.counts.pop(next(iter(self.counts)))
        alike = self.by_label[oldest.label]
        del alike[oldest.selector]
        if not alike:
            del self.by_label[oldest.label]

    def keep(self, count: _Count) -> None:
        """Keep a count up to date from now on."""
        self.counts[count.selector] = count
        self.by_label.setdefault(count.label, {})[count.selector] = count


class SelectedPods:
    """The counts of all namespaces.

    Notes
    -----
    A pod costs O(its labels, and the selectors that ask for one of them or for none in particular), a new selector
    O(pods with the rarest label that it asks for).
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, _Namespace] = {}

    def add(self, pod: PodInfo, node: str) -> None:
        """Count a pod on a node."""
        known = self._namespaces.setdefault(pod.namespace, _Namespace())
        name = pod.key
        for pair in _labels(pod):
            known.pods.setdefault(pair, set()).add(name)
        for each in known.concerned(pod):
            each.count(pod, node, 1)

    def remove(self, pod: PodInfo, node: str) -> None:
        """Count a pod on its node no longer."""
        known = self._namespaces[pod.namespace]
        for pair in _labels(pod):
            alike = known.pods.get(pair, set())
            alike.discard(pod.key)
            if not alike:
                known.pods.pop(pair, None)
        for each in known.concerned(pod):
            each.count(pod, node, -1)

    def matching(
        self,
        namespace: str,
        selector: LabelSelector,
        placed: Callable[[Name], tuple[PodInfo, str]],
        everything: Callable[[], Iterable[tuple[PodInfo, str]]],
    ) -> Mapping[str, int]:
        """The number of selected pods of a namespace on each node; it changes with later pods.

        ``placed`` gives a pod with its node by name, ``everything`` all pods of all namespaces with theirs.
        """
        known = self._namespaces.setdefault(namespace, _Namespace())
        found = known.counts.pop(selector, None)
        if found is not None:
            known.counts[selector] = found  # now the one that was asked for last
            return found.by_node
        asked = list(equalities(selector).items())
        label = min(asked, key=lambda each: len(known.pods.get(each, ())), default=None)
        found = _Count(selector, label)
        pods = map(placed, known.pods.get(label, ())) if label is not None else everything()
        for pod, node in pods:
            if pod.namespace == namespace:
                found.count(pod, node, 1)
        if len(known.counts) >= _MOST_COUNTS:
            known.forget_oldest()
        known.keep(found)
        return found.by_node


def _labels(pod: PodInfo) -> Iterator[Label]:
    return ((key, value) for key, value in pod.labels.items() if isinstance(value, str))  # in a dump, anything goes


_ZONE: Final = label("zone", "topology")
_REGION: Final = label("region", "topology")


class SchedulerCache:
    """All nodes, and the pods that are on them. Pods that have ended take no room and are left out."""

    def __init__(self, behaviour: ServedBehaviour) -> None:
        self._infos: dict[str, NodeInfo] = {}
        self._sidecars_count = behaviour.applies("scheduler-counts-sidecars-on-nodes")
        self._order: list[NodeInfo] | None = None
        self._places: dict[tuple[str, str], str] = {}
        self._selected = SelectedPods()
        self.with_terms: dict[tuple[str, str], tuple[PodInfo, NodeInfo]] = {}
        """Pods with affinity to other pods, and their nodes."""

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
        info.set_node(node)

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
        info.node, self._order = None, None
        if not info.pods:
            del self._infos[name]

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
        if sign > 0:
            self._selected.add(pod, info.name)
        else:
            self._selected.remove(pod, info.name)
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
        return self._selected.matching(namespace, selector, self._placed, self._named)

    def _placed(self, name: tuple[str, str]) -> tuple[PodInfo, str]:
        node = self._places[name]
        return self._infos[node].pods[name], node

    def _named(self) -> Iterator[tuple[PodInfo, str]]:
        return ((pod, info.name) for pod, info in self.pods())


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
