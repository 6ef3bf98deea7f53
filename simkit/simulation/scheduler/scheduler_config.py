"""A KubeSchedulerConfiguration, and the profiles by which the scheduler decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import FieldError, aggregate_errors, duplicate, invalid_value
from simkit.simulation.scheduler import node_filters, topology_spread, volume_filters
from simkit.simulation.scheduler.devices.alternatives_score import alternatives_score
from simkit.simulation.scheduler.devices.dynamic_resources import dynamic_resources
from simkit.simulation.scheduler.node_filters import balance_score, fit_score
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.plugin_arguments import (
    ARGUMENTS,
    CONFIGURATION,
    Arguments,
    Misfit,
    PluginError,
    Weighted,
    misfits,
    plugins_of,
    validate_arguments,
    with_defaults,
)
from simkit.simulation.scheduler.view import Filter, View
from simkit.simulation.scheduler.volume_filters import volume_limits, volume_zone

# A KubeSchedulerConfiguration: the profiles of a scheduler, and what it says about all of them.
# Upstream: pkg/scheduler/apis/config, release 1.30.

NAME: Final = "default-scheduler"
KIND: Final = "KubeSchedulerConfiguration"
_GROUP: Final = api_group("kubescheduler.config")
_RELEASES: Final = {"v1beta2": range(22, 29), "v1beta3": range(23, 29), "v1": range(25, 100)}
"""The releases that read each version."""


class ProfileConfig(NamedTuple):
    """One profile.

    Attributes
    ----------
    name
        The name by which pods ask for it.
    plugins
        The plugins with their weights, in order, by extension point.
    arguments
        The arguments of plugins that are given some.
    percentage
        The percentage of nodes after which the search for a pod ends; None: what holds for all profiles.
    """

    name: str
    plugins: Mapping[str, list[Weighted]]
    arguments: Mapping[str, Arguments]
    percentage: int | None = None

    def of(self, plugin: str) -> Arguments:
        """The arguments of a plugin, or those by default."""
        return self.arguments.get(plugin) or with_defaults(plugin, {})

    def names(self, point: str) -> list[str]:
        """The plugins at an extension point."""
        return [name for name, _ in self.plugins[point]]


class SchedulerConfig(NamedTuple):
    """The configuration of a scheduler: profiles, and the seconds for which pods wait after a failure."""

    profiles: tuple[ProfileConfig, ...] = (ProfileConfig(NAME, plugins_of(None, NAME), {}),)
    percentage: int = 0
    first_pause: float = 1.0
    longest_pause: float = 10.0


def scheduler_config(document: Any, behaviour: ServedBehaviour) -> SchedulerConfig:
    """The configuration in a document, as the scheduler of a release reads it.

    Raises
    ------
    SimkitError
        For an invalid document in kube-scheduler's words.
    """
    _check_kind(document, behaviour.minor)
    if document.get("extenders"):
        raise SimkitError("extenders: the simulated scheduler asks none; remove them, or run kube-scheduler itself")
    _refuse(list(misfits(document, CONFIGURATION)), "")
    profiles = document.get("profiles") or [{}]
    names = [str(each.get("schedulerName") or (NAME if len(profiles) == 1 else "")) for each in profiles]
    arguments = [dict(_arguments(each, index)) for index, each in enumerate(profiles)]
    errors = [*_validate(behaviour, document, profiles, names, arguments)]
    if errors:
        raise SimkitError(aggregate_errors(error.told(behaviour) for error in errors))
    made = []
    for name, profile, args in zip(names, profiles, arguments, strict=True):
        try:
            plugins = plugins_of(profile.get("plugins"), name)
        except PluginError as error:
            raise SimkitError(f"creating profile for scheduler name {name}: {error}") from error
        made.append(ProfileConfig(name, plugins, args, profile.get("percentageOfNodesToScore")))
    if len({tuple(each.plugins["queueSort"]) for each in made}) > 1:
        raise SimkitError("profiles: plugins.queueSort must be the same for all profiles")
    first, longest = (float(_number(document, field, default)) for field, default in _PAUSES.items())
    percentage = document.get("percentageOfNodesToScore") or 0
    return SchedulerConfig(tuple(made), percentage, first, longest)


_PAUSES: Final = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 10}


def _check_kind(document: Any, minor: int) -> None:
    if not isinstance(document, Mapping) or document.get("kind") != KIND:
        raise SimkitError(f"the document is no {KIND}")
    group, _, version = str(document.get("apiVersion") or "").partition("/")
    if group != _GROUP or minor not in _RELEASES.get(version, ()):
        text = f'no kind "{KIND}" is registered for version "{document.get("apiVersion") or ""}"'
        raise SimkitError(f"{text} at release 1.{minor}; write {_GROUP}/{'v1' if minor >= 25 else 'v1beta3'}")


def _refuse(found: list[Misfit], before: str) -> None:
    """Raise an error for what does not have its shape."""
    unknown = [f'unknown field "{each.path}"' for each in found if not each.text]
    if unknown:
        raise SimkitError(f"{before}strict decoding error: {', '.join(unknown)}")
    if found:
        raise SimkitError(before + aggregate_errors(f"{each.path}: {each.text}" for each in found))


def _arguments(profile: Mapping[str, Any], number: int) -> Iterator[tuple[str, Arguments]]:
    for index, each in enumerate(profile.get("pluginConfig") or ()):
        plugin, given = str(each.get("name") or ""), each.get("args") or {}
        where = f"decoding .profiles[{number}].pluginConfig[{index}]: decoding args for plugin {plugin}: "
        if plugin not in ARGUMENTS:
            raise SimkitError(f"{where}no arguments of it are simulated; there are those of {', '.join(ARGUMENTS)}")
        _refuse([*misfits(given, ARGUMENTS[plugin])], where)
        yield plugin, with_defaults(plugin, given)


def _number(document: Mapping[str, Any], field: str, default: int) -> int:
    return int(default if document.get(field) is None else document[field])


def _validate(
    behaviour: ServedBehaviour,
    document: Mapping[str, Any],
    profiles: list[Mapping[str, Any]],
    names: list[str],
    arguments: list[dict[str, Arguments]],
) -> Iterator[FieldError]:
    parallel = _number(document, "parallelism", 16)
    if parallel <= 0:
        yield invalid_value("parallelism", parallel, "should be an integer value greater than zero")
    for index, (name, profile) in enumerate(zip(names, profiles, strict=True)):
        path = f"profiles[{index}]"
        if not name:
            yield FieldError("FieldValueRequired", f"{path}.schedulerName")
        yield from _percentage(f"{path}.percentageOfNodesToScore", profile)
        yield from _plugin_config(behaviour, path, profile, arguments[index])
        if name in names[:index]:
            yield duplicate(f"{path}.schedulerName", f"profiles[{names.index(name)}].schedulerName")
    yield from _percentage("percentageOfNodesToScore", document)
    first, longest = (_number(document, field, default) for field, default in _PAUSES.items())
    if first <= 0:
        yield invalid_value("podInitialBackoffSeconds", first, "must be greater than 0")
    if longest < first:
        text = "must be greater than or equal to PodInitialBackoffSeconds"
        yield invalid_value("podMaxBackoffSeconds", longest, text)


def _percentage(path: str, given: Mapping[str, Any]) -> Iterator[FieldError]:
    told = given.get("percentageOfNodesToScore")
    if told is not None and not 0 <= told <= 100:
        yield invalid_value(path, told, "not in valid range [0-100]")


def _plugin_config(
    behaviour: ServedBehaviour, path: str, profile: Mapping[str, Any], known: dict[str, Arguments]
) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, each in enumerate(profile.get("pluginConfig") or ()):
        where, plugin = f"{path}.pluginConfig[{index}]", str(each.get("name") or "")
        if plugin in seen:
            yield duplicate(where, plugin)
        seen.add(plugin)
        yield from validate_arguments(behaviour, f"{where}.args", plugin, known[plugin])


# Profiles of the scheduler: the filters and scores by which it decides on the pods that ask for one.
# Upstream: pkg/scheduler/profile and pkg/scheduler/framework/runtime/framework.go, release 1.30.

FilterPlugin = Callable[[PodInfo, View], Filter | None]
ScorePlugin = Callable[[PodInfo, View, Sequence[NodeInfo]], list[int] | None]

_NODE_FILTERS: Final[Mapping[str, FilterPlugin]] = {
    "NodeUnschedulable": node_filters.node_unschedulable,
    "NodeName": node_filters.node_name,
    "TaintToleration": node_filters.taint_toleration,
    "NodeAffinity": node_filters.node_affinity,
    "NodePorts": node_filters.node_ports,
    "NodeResourcesFit": node_filters.resources_fit,
}
_CLUSTER_FILTERS: Final[Mapping[str, FilterPlugin]] = {
    "VolumeRestrictions": volume_filters.volume_restrictions,
    "NodeVolumeLimits": volume_limits,
    "VolumeBinding": volume_filters.volume_binding,
    "VolumeZone": volume_zone,
    "PodTopologySpread": topology_spread.topology_spread,
    "InterPodAffinity": topology_spread.inter_pod_affinity,
    "DynamicResources": dynamic_resources,
}
_SCORES: Final[Mapping[str, ScorePlugin]] = {
    "TaintToleration": node_filters.preferred_taints,
    "NodeAffinity": node_filters.preferred_affinity,
    "PodTopologySpread": topology_spread.spread_score,
    "InterPodAffinity": topology_spread.affinity_score,
    "DynamicResources": alternatives_score,
    "ImageLocality": node_filters.image_locality,
}


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
    scores = [(_score(name, config), weight) for name, weight in config.plugins["score"]]
    return Profile(
        config.name,
        tuple(filters[:first]),
        tuple(filters[first:]),
        tuple((weight, score) for score, weight in scores if score is not None),
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
        return partial(node_filters.fit_without, ignored=ignored, groups=groups)
    if given and name == "NodeAffinity" and given.get("addedAffinity"):
        return node_filters.added_affinity(given["addedAffinity"])
    if given and name == "PodTopologySpread" and given["defaultingType"] == "List":
        return partial(topology_spread.topology_spread, default=given["defaultConstraints"])
    return _NODE_FILTERS.get(name) or _CLUSTER_FILTERS[name]


def _score(name: str, config: ProfileConfig) -> ScorePlugin | None:
    if name == "NodeResourcesFit":
        return fit_score(config.of(name)["scoringStrategy"])
    if name == "NodeResourcesBalancedAllocation":
        return balance_score(config.of(name)["resources"])
    given = config.arguments.get(name)
    if given and name == "NodeAffinity":
        return partial(node_filters.preferred_affinity, added=given.get("addedAffinity") or {})
    if given and name == "PodTopologySpread" and given["defaultingType"] == "List":
        return partial(topology_spread.spread_score, default=given["defaultConstraints"])
    if given and name == "InterPodAffinity":
        return partial(
            topology_spread.affinity_score,
            hard_weight=given["hardPodAffinityWeight"],
            ignores_theirs=given["ignorePreferredTermsOfExistingPods"],
        )
    return _SCORES.get(name)


DEFAULT_PROFILE: Final = profile_of(SchedulerConfig().profiles[0])
"""The profile of kube-scheduler without a configuration."""
