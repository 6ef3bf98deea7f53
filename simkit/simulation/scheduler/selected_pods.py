"""The numbers of pods that selectors mean, on each node, kept up to date pod by pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from simkit.engine.controllers.selector_index import equalities
from simkit.meta.labels import LabelSelector
from simkit.simulation.scheduler.node_info import PodInfo

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
        for label in _labels(pod):
            known.pods.setdefault(label, set()).add(name)
        for each in known.concerned(pod):
            each.count(pod, node, 1)

    def remove(self, pod: PodInfo, node: str) -> None:
        """Count a pod on its node no longer."""
        known = self._namespaces[pod.namespace]
        for label in _labels(pod):
            alike = known.pods.get(label, set())
            alike.discard(pod.key)
            if not alike:
                known.pods.pop(label, None)
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
