"""One scheduling cycle: the nodes that pass all filters, and the best of them.

Upstream: pkg/scheduler/schedule_one.go and pkg/scheduler/apis/config/v1/default_plugins.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import add
from random import Random
from typing import Final

from simkit.simulation.scheduler import node_filters, topology_spread, volume_filters
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.view import Filter, Rejection, Unschedulable, View, rejected

FilterPlugin = Callable[[PodInfo, View], Filter | None]
ScorePlugin = Callable[[PodInfo, View, Sequence[NodeInfo]], list[int] | None]
_NODE_FILTERS: Final[Sequence[FilterPlugin]] = (
    node_filters.node_unschedulable,
    node_filters.node_name,
    node_filters.taint_toleration,
    node_filters.node_affinity,
    node_filters.node_ports,
    node_filters.resources_fit,
)
"""The filters that look at a node and the pods on it alone: their verdict is the same until that node changes."""
_CLUSTER_FILTERS: Final[Sequence[FilterPlugin]] = (
    volume_filters.volume_restrictions,
    volume_filters.volume_limits,
    volume_filters.volume_binding,
    volume_filters.volume_zone,
    topology_spread.topology_spread,
    topology_spread.inter_pod_affinity,
    node_filters.resource_claims,
)
FILTERS: Final = (*_NODE_FILTERS, *_CLUSTER_FILTERS)
"""The filters of the default profile in their order. The first that rejects a node is the one that is told of."""
SCORES: Final[Sequence[tuple[int, ScorePlugin]]] = (
    (3, node_filters.preferred_taints),
    (2, node_filters.preferred_affinity),
    (1, node_filters.least_allocated),
    (2, topology_spread.spread_score),
    (2, topology_spread.affinity_score),
    (1, node_filters.balanced_allocation),
)
"""The scores of the default profile with their weights, but for that of images. A plugin that gives none has nothing
to say about the pod."""
_UNKNOWN: Final = Rejection(())
"""The verdict of a node that was not asked."""
_ALL_BELOW: Final = 100
_LEAST_PERCENTAGE: Final = 5
_UNNAMED: Final = rejected("node(s) didn't satisfy plugin(s) [NodeAffinity]", resolvable=False)

Nominated = Mapping[str, Sequence[PodInfo]]
"""Pods that wait for room on a node that others leave for them, by node."""


@dataclass(slots=True)
class Findings:
    """The results of filters for the examined nodes."""

    feasible: list[NodeInfo] = field(default_factory=list)
    rejections: dict[str, Rejection] = field(default_factory=dict)
    before: str = ""
    """The reason why no node was examined."""


def nodes_to_find(total: int) -> int:
    """After how many feasible nodes the search ends, so that big clusters are not searched through for each pod."""
    if total < _ALL_BELOW:
        return total
    percentage = max(_LEAST_PERCENTAGE, 50 - total // 125)
    return max(_ALL_BELOW, total * percentage // 100)


def prepared(pod: PodInfo, view: View, plugins: Iterable[FilterPlugin]) -> list[Filter]:
    """The filters that have something to say about a pod. Raises Unschedulable."""
    return [check for plugin in plugins if (check := plugin(pod, view)) is not None]


class Checks:
    """The filters of one pod. What nodes alone say of it is remembered on them. Raises Unschedulable."""

    def __init__(self, pod: PodInfo, view: View) -> None:
        self._demands = pod.demands
        self._of_node = prepared(pod, view, _NODE_FILTERS)
        self._of_cluster = prepared(pod, view, _CLUSTER_FILTERS)

    def rejection(self, info: NodeInfo) -> Rejection | None:
        """The rejection of the first filter that a node does not pass."""
        return next(self.rejections((info,)))[1]

    def rejections(self, nodes: Iterable[NodeInfo]) -> Iterator[tuple[NodeInfo, Rejection | None]]:
        """Nodes one after the other, each with the rejection of the first filter that it does not pass."""
        demands, of_node, of_cluster = self._demands, self._of_node, self._of_cluster
        for info in nodes:
            found: Rejection | None = info.verdicts.get(demands, _UNKNOWN)
            if found is _UNKNOWN:
                found = info.verdicts[demands] = first_rejection(of_node, info)
            if found is None and of_cluster:
                found = first_rejection(of_cluster, info)
            yield info, found


def first_rejection(checks: Iterable[Filter], info: NodeInfo) -> Rejection | None:
    """The rejection of the first filter that a node does not pass."""
    for check in checks:
        found = check(info)
        if found is not None:
            return found
    return None


class Algorithm:
    """Finds nodes for pods. The search goes on where the last one ended, and ties are broken by chance."""

    def __init__(self, random: Random) -> None:
        self._random, self._start = random, 0

    def find(self, pod: PodInfo, view: View, nominated: Nominated, preferred: str = "") -> Findings:
        """The nodes that are for a pod; the one that it was nominated for comes first."""
        findings, everything = Findings(), view.cache.nodes()
        try:
            checks = Checks(pod, view)
        except Unschedulable as error:
            findings.before = str(error)
            rejection = Rejection((str(error),), resolvable=False)
            findings.rejections = {info.name: rejection for info in everything}
            return findings
        promised = view.cache.node(preferred) if preferred else None
        if promised is not None and self._rejection(pod, view, checks, promised, nominated) is None:
            findings.feasible = [promised]
            return findings
        named = node_filters.named_nodes(pod)
        nodes = everything if named is None else [info for info in everything if info.name in named]
        self._search(pod, view, checks, nodes, nominated, findings)
        if everything:
            looked_at = len(findings.feasible) + len(findings.rejections)
            self._start = (self._start + looked_at) % len(everything)
        if named is not None and view.behaviour.applies("scheduler-tells-of-unnamed-nodes"):
            findings.rejections |= {info.name: _UNNAMED for info in everything if info.name not in named}
        return findings

    def _search(
        self,
        pod: PodInfo,
        view: View,
        checks: Checks,
        nodes: Sequence[NodeInfo],
        nominated: Nominated,
        findings: Findings,
    ) -> None:
        enough, feasible = nodes_to_find(len(nodes)), findings.feasible
        first = self._start % len(nodes) if nodes else 0
        in_turn = chain(islice(nodes, first, None), islice(nodes, first))
        asked: Iterable[tuple[NodeInfo, Rejection | None]]
        if nominated:
            asked = ((each, self._rejection(pod, view, checks, each, nominated)) for each in in_turn)
        else:
            asked = checks.rejections(in_turn)
        for info, rejection in asked:
            if rejection is not None:
                findings.rejections[info.name] = rejection
                continue
            feasible.append(info)
            if len(feasible) >= enough:
                return

    def _rejection(
        self, pod: PodInfo, view: View, checks: Checks, info: NodeInfo, nominated: Nominated
    ) -> Rejection | None:
        others = [
            each for each in nominated.get(info.name, ()) if each.priority >= pod.priority and each.key != pod.key
        ]
        if others:
            with added(view, info, others):
                rejection = first_rejection(prepared(pod, view, FILTERS), info)
            if rejection is not None:
                return rejection
        return checks.rejection(info)

    def best(self, pod: PodInfo, view: View, feasible: Sequence[NodeInfo]) -> NodeInfo:
        """The node with the highest score."""
        if len(feasible) == 1:
            return feasible[0]
        totals = total_scores(pod, view, feasible)
        highest = max(totals)
        return self._random.choice([info for info, score in zip(feasible, totals, strict=True) if score == highest])


def total_scores(pod: PodInfo, view: View, feasible: Sequence[NodeInfo]) -> list[int]:
    """The weighted sum of all scores, for each node."""
    totals: list[int] | None = None
    for weight, plugin in SCORES:
        scores = plugin(pod, view, feasible)
        if scores is None:
            continue
        weighted = scores if weight == 1 else [weight * score for score in scores]
        totals = weighted if totals is None else list(map(add, totals, weighted))
    return [0] * len(feasible) if totals is None else totals


@contextmanager
def added(view: View, info: NodeInfo, others: Sequence[PodInfo]) -> Iterator[None]:
    """Have pods count on a node for a while."""
    for each in others:
        view.cache.place(each, info)
    try:
        yield
    finally:
        for each in others:
            view.cache.displace(each, info)
