"""Profiles of the scheduler: the filters and scores by which it decides on the pods that ask for one.

Upstream: pkg/scheduler/profile and pkg/scheduler/framework/runtime/framework.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from simkit.simulation.scheduler import inter_pod_affinity as pods
from simkit.simulation.scheduler import node_filters as node
from simkit.simulation.scheduler import topology_spread as spread
from simkit.simulation.scheduler import volume_filters as volume
from simkit.simulation.scheduler.devices.alternatives_score import alternatives_score
from simkit.simulation.scheduler.devices.dynamic_resources import dynamic_resources
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.plugin_arguments import STRATEGIES
from simkit.simulation.scheduler.rejection import Filter
from simkit.simulation.scheduler.resource_amounts import CPU, MEMORY
from simkit.simulation.scheduler.resource_scores import balance_score, fit_score
from simkit.simulation.scheduler.scheduler_config import NAME, ProfileConfig, SchedulerConfig
from simkit.simulation.scheduler.view import View
from simkit.simulation.scheduler.volume_limits import volume_limits
from simkit.simulation.scheduler.volume_zone import volume_zone

FilterPlugin = Callable[[PodInfo, View], Filter | None]
ScorePlugin = Callable[[PodInfo, View, Sequence[NodeInfo]], list[int] | None]

_NODE_FILTERS: Final[Mapping[str, FilterPlugin]] = {
    "NodeUnschedulable": node.node_unschedulable,
    "NodeName": node.node_name,
    "TaintToleration": node.taint_toleration,
    "NodeAffinity": node.node_affinity,
    "NodePorts": node.node_ports,
    "NodeResourcesFit": node.resources_fit,
}
_CLUSTER_FILTERS: Final[Mapping[str, FilterPlugin]] = {
    "VolumeRestrictions": volume.volume_restrictions,
    "NodeVolumeLimits": volume_limits,
    "VolumeBinding": volume.volume_binding,
    "VolumeZone": volume_zone,
    "PodTopologySpread": spread.topology_spread,
    "InterPodAffinity": pods.inter_pod_affinity,
    "DynamicResources": dynamic_resources,
}
_SCORES: Final[Mapping[str, ScorePlugin]] = {
    "TaintToleration": node.preferred_taints,
    "NodeAffinity": node.preferred_affinity,
    "PodTopologySpread": spread.spread_score,
    "InterPodAffinity": pods.affinity_score,
    "DynamicResources": alternatives_score,
    "ImageLocality": node.image_locality,
}
_TWO: Final = ("NodeResourcesFit", "NodeResourcesBalancedAllocation")
_EQUAL: Final = [(CPU, 1), (MEMORY, 1)]


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile.

    Attributes
    ----------
    node_filters
        The filters that look at a node and the pods on it alone: their verdict is the same until that node changes.
    cluster_filters
        The filters after those. The first filter that rejects a node is the one that is told of.
    scores
        The scores with their weights. A plugin that gives none has nothing to say about the pod.
    percentage
        The percentage of nodes after which a search ends; 0: by the number of nodes.
    mark
        What distinguishes its verdicts from those of other profiles.
    """

    name: str
    node_filters: tuple[FilterPlugin, ...]
    cluster_filters: tuple[FilterPlugin, ...]
    scores: tuple[tuple[int, ScorePlugin], ...]
    percentage: int = 0
    preempts: bool = True
    gated: bool = True
    mark: bytes = b""

    @property
    def filters(self) -> tuple[FilterPlugin, ...]:
        """All filters in their order."""
        return (*self.node_filters, *self.cluster_filters)


def profile_of(config: ProfileConfig, percentage: int = 0) -> Profile:
    """The profile of a configuration; ``percentage`` counts unless the profile says its own."""
    named = [name for name in config.names("filter") if name in _NODE_FILTERS or name in _CLUSTER_FILTERS]
    first = next((index for index, name in enumerate(named) if name in _CLUSTER_FILTERS), len(named))
    filters = [_filter(name, config) for name in named]
    return Profile(
        config.name,
        tuple(filters[:first]),
        tuple(filters[first:]),
        tuple(_scores(config)),
        percentage if config.percentage is None else config.percentage,
        "DefaultPreemption" in config.names("postFilter"),
        "SchedulingGates" in config.names("preEnqueue"),
        b"" if config.name == NAME else f"{config.name}\n".encode(),
    )


def _filter(name: str, config: ProfileConfig) -> FilterPlugin:
    given = config.arguments.get(name)
    if given and name == "NodeResourcesFit":
        ignored = frozenset(each for each in given.get("ignoredResources") or () if "/" in each)
        groups = frozenset(given.get("ignoredResourceGroups") or ())
        return partial(node.fit_without, ignored=ignored, groups=groups)
    if given and name == "NodeAffinity" and given.get("addedAffinity"):
        return node.added_affinity(given["addedAffinity"])
    if given and name == "PodTopologySpread" and given["defaultingType"] == "List":
        return partial(spread.topology_spread, default=given["defaultConstraints"])
    return _NODE_FILTERS.get(name) or _CLUSTER_FILTERS[name]


def _scores(config: ProfileConfig) -> list[tuple[int, ScorePlugin]]:
    weights = dict(config.plugins["score"])
    fit, balance = (weights.get(name) for name in _TWO)
    together = fit is not None and fit == balance and _usual(config)
    found: list[tuple[int, ScorePlugin]] = []
    for name, weight in config.plugins["score"]:
        if together and name in _TWO:
            if name == _TWO[0]:
                found.append((weight, node.allocation))
        elif (score := _score(name, config)) is not None:
            found.append((weight, score))
    return found


def _usual(config: ProfileConfig) -> bool:
    """True if resources are scored as they are by default, which is quicker."""
    fit, balance = (config.of(name) for name in _TWO)
    strategy = fit["scoringStrategy"]
    listed = [[(each["name"], each["weight"]) for each in some["resources"]] for some in (strategy, balance)]
    return strategy["type"] == STRATEGIES[0] and listed == [_EQUAL, _EQUAL]


def _score(name: str, config: ProfileConfig) -> ScorePlugin | None:
    if name == _TWO[0]:
        return fit_score(config.of(name)["scoringStrategy"])
    if name == _TWO[1]:
        return balance_score(config.of(name)["resources"])
    given = config.arguments.get(name)
    if given and name == "NodeAffinity":
        return partial(node.preferred_affinity, added=given.get("addedAffinity") or {})
    if given and name == "PodTopologySpread" and given["defaultingType"] == "List":
        return partial(spread.spread_score, default=given["defaultConstraints"])
    if given and name == "InterPodAffinity":
        return partial(
            pods.affinity_score,
            hard_weight=given["hardPodAffinityWeight"],
            ignores_theirs=given["ignorePreferredTermsOfExistingPods"],
        )
    return _SCORES.get(name)


DEFAULT_PROFILE: Final = profile_of(SchedulerConfig().profiles[0])
"""The profile of kube-scheduler without a configuration."""
