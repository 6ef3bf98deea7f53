"""The plugins of a profile at each extension point, and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.kinds.parts.pod.validation.scheduling import NODE_SELECTOR
from simkit.kinds.parts.validation.object_meta import validate_qualified_name
from simkit.kinds.rules import placed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, duplicate, forbidden_field, invalid_value, required, unsupported

# The fields of a KubeSchedulerConfiguration and of the arguments of its plugins: their names and types.
# Upstream: k8s.io/kube-scheduler/config/v1/types.go and types_pluginargs.go, release 1.30.

Shape = Any
"""``str``, ``int``, ``float``, ``bool``, a mapping of fields, ``Each`` for a list, or ``ANY``."""
ANY: Final = object()


class Each(NamedTuple):
    """A list whose elements have a shape."""

    of: Shape


_PLUGIN: Final = {"name": str, "weight": int}
_SET: Final = {"enabled": Each(_PLUGIN), "disabled": Each(_PLUGIN)}
POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
)
"""The extension points, with the one that stands for all."""
_PROFILE: Final = {
    "schedulerName": str,
    "percentageOfNodesToScore": int,
    "plugins": dict.fromkeys(POINTS, _SET),
    "pluginConfig": Each({"name": str, "args": ANY}),
}
CONFIGURATION: Final = {
    "apiVersion": str,
    "kind": str,
    "parallelism": int,
    "leaderElection": ANY,
    "clientConnection": ANY,
    "enableProfiling": bool,
    "enableContentionProfiling": bool,
    "percentageOfNodesToScore": int,
    "podInitialBackoffSeconds": int,
    "podMaxBackoffSeconds": int,
    "profiles": Each(_PROFILE),
    "extenders": ANY,
    "delayCacheUntilActive": bool,
}
"""The fields of the document. Those of elections, connections and profiling have no effect on what is decided."""
_RESOURCES: Final = Each({"name": str, "weight": int})
_TYPED: Final = {"apiVersion": str, "kind": str}
_POINT: Final = {"utilization": int, "score": int}
_CONSTRAINT: Final = {
    "maxSkew": int,
    "topologyKey": str,
    "whenUnsatisfiable": str,
    "labelSelector": ANY,
    "minDomains": int,
    "nodeAffinityPolicy": str,
    "nodeTaintsPolicy": str,
    "matchLabelKeys": Each(str),
}
ARGUMENTS: Final[Mapping[str, Shape]] = {
    "DefaultPreemption": {**_TYPED, "minCandidateNodesPercentage": int, "minCandidateNodesAbsolute": int},
    "InterPodAffinity": {**_TYPED, "hardPodAffinityWeight": int, "ignorePreferredTermsOfExistingPods": bool},
    "NodeAffinity": {**_TYPED, "addedAffinity": ANY},
    "NodeResourcesBalancedAllocation": {**_TYPED, "resources": _RESOURCES},
    "NodeResourcesFit": {
        **_TYPED,
        "ignoredResources": Each(str),
        "ignoredResourceGroups": Each(str),
        "scoringStrategy": {
            "type": str,
            "resources": _RESOURCES,
            "requestedToCapacityRatio": {"shape": Each(_POINT)},
        },
    },
    "PodTopologySpread": {**_TYPED, "defaultConstraints": Each(_CONSTRAINT), "defaultingType": str},
    "VolumeBinding": {**_TYPED, "bindTimeoutSeconds": int, "shape": Each(_POINT)},
}
"""The arguments of plugins that have some."""
_WORDS: Final = {str: "a text", int: "a whole number", bool: "true or false"}


class Misfit(NamedTuple):
    """A value that does not have its shape; the text is empty for a field that is not known."""

    path: str
    text: str = ""


def misfits(value: Any, shape: Shape, path: str = "") -> Iterator[Misfit]:
    """The parts of a document that do not have its shape; what is not given fits.

    Examples
    --------
    >>> [each.path for each in misfits({"profiles": [{"name": "x"}]}, CONFIGURATION)]
    ['profiles[0].name']
    """
    if value is None or shape is ANY:
        return
    if isinstance(shape, Each):
        if not isinstance(value, list):
            yield Misfit(path, "must be a list")
            return
        for index, each in enumerate(value):
            yield from misfits(each, shape.of, f"{path}[{index}]")
    elif isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            yield Misfit(path, "must be a map of fields")
            return
        for name, each in value.items():
            below = f"{path}.{name}" if path else str(name)
            if name not in shape:
                yield Misfit(below)
            else:
                yield from misfits(each, shape[name], below)
    elif not isinstance(value, shape) or (shape is int and isinstance(value, bool)):
        yield Misfit(path, f"must be {_WORDS[shape]}")


# The plugins of a profile at each extension point: those by default, with what a configuration enables and disables.
# Upstream: pkg/scheduler/apis/config/v1/default_plugins.go (``mergePlugins``) and
# pkg/scheduler/framework/runtime/framework.go (``expandMultiPointPlugins``), release 1.30.

_MULTI: Final = "multiPoint"
_ALL: Final = "*"
Weighted = tuple[str, int]
"""A plugin with its weight; 0: not said."""
DEFAULT: Final[Sequence[Weighted]] = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
)
EXTENDS: Final[Mapping[str, Sequence[str]]] = {
    "SchedulingGates": ("preEnqueue",),
    "PrioritySort": ("queueSort",),
    "NodeUnschedulable": ("filter",),
    "NodeName": ("filter",),
    "TaintToleration": ("filter", "preScore", "score"),
    "NodeAffinity": ("preFilter", "filter", "preScore", "score"),
    "NodePorts": ("preFilter", "filter"),
    "NodeResourcesFit": ("preFilter", "filter", "preScore", "score"),
    "VolumeRestrictions": ("preFilter", "filter"),
    "NodeVolumeLimits": ("preFilter", "filter"),
    "VolumeBinding": ("preFilter", "filter", "preScore", "score", "reserve", "preBind"),
    "VolumeZone": ("preFilter", "filter"),
    "PodTopologySpread": ("preFilter", "filter", "preScore", "score"),
    "InterPodAffinity": ("preFilter", "filter", "preScore", "score"),
    "DynamicResources": ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"),
    "DefaultPreemption": ("postFilter",),
    "NodeResourcesBalancedAllocation": ("preScore", "score"),
    "ImageLocality": ("score",),
    "DefaultBinder": ("bind",),
}
"""The extension points of each plugin."""
WITHOUT_EFFECT: Final = frozenset({"AzureDiskLimits", "EBSLimits", "GCEPDLimits", "CinderLimits"})
"""Plugins for volumes of in-tree plugins, which do nothing here."""
_TYPES: Final = {point: f"{point[0].upper()}{point[1:]}Plugin" for point in POINTS}
_NONE: Final[Mapping[str, Any]] = {}


class PluginError(ValueError):
    """A set of plugins that no scheduler starts with; the text is kube-scheduler's."""


def plugins_of(given: Mapping[str, Any] | None, scheduler: str) -> dict[str, list[Weighted]]:
    """The plugins at each extension point, in order, for the ``plugins`` of a profile. Raises PluginError."""
    told: dict[str, tuple[list[Weighted], set[str]]] = {
        point: _read((given or _NONE).get(point) or _NONE) for point in POINTS
    }
    everywhere = _merged(*told[_MULTI])
    for name, _ in everywhere:
        if name not in EXTENDS and name not in WITHOUT_EFFECT:
            raise PluginError(f"plugin {name!r} does not exist".replace("'", '"'))
    found = {point: _expanded(point, *told[point], everywhere) for point in POINTS if point != _MULTI}
    if len(found["queueSort"]) != 1:
        raise PluginError(
            f'only one queue sort plugin required for profile with scheduler name "{scheduler}",'
            f" but got {len(found['queueSort'])}"
        )
    if not found["bind"]:
        raise PluginError(f'at least one bind plugin is needed for profile with scheduler name "{scheduler}"')
    return found


def _read(given: Mapping[str, Any]) -> tuple[list[Weighted], set[str]]:
    enabled = [(str(each.get("name") or ""), int(each.get("weight") or 0)) for each in given.get("enabled") or ()]
    return enabled, {str(each.get("name") or "") for each in given.get("disabled") or ()}


def _merged(enabled: Sequence[Weighted], disabled: set[str]) -> list[Weighted]:
    """The plugins that are enabled for all points: those by default, some of them changed, then others."""
    own = dict(enabled)
    kept = [] if _ALL in disabled else [each for each in DEFAULT if each[0] not in disabled]
    found = [(name, own.get(name, weight)) for name, weight in kept]
    names = {name for name, _ in found}
    return [*found, *(each for each in enabled if each[0] not in names)]


def _expanded(
    point: str, enabled: Sequence[Weighted], disabled: set[str], everywhere: Sequence[Weighted]
) -> list[Weighted]:
    """The plugins at one point: own ones that all points have first, then others of all points, then other own ones."""
    _check(point, enabled)
    general = [each for each in everywhere if point in EXTENDS.get(each[0], ())]
    names, own = {name for name, _ in general}, {name for name, _ in enabled}
    first = [each for each in enabled if each[0] in names]
    last = [each for each in enabled if each[0] not in names]
    skipped = own | disabled
    rest = [] if _ALL in disabled else [each for each in general if each[0] not in skipped]
    weights = dict(everywhere)
    return [(name, weight or weights.get(name, 0) or 1) for name, weight in (*first, *rest, *last)]


def _check(point: str, enabled: Sequence[Weighted]) -> None:
    seen: set[str] = set()
    for name, _ in enabled:
        if name in WITHOUT_EFFECT:
            continue
        if name not in EXTENDS:
            raise PluginError(f'{_TYPES[point]} "{name}" does not exist')
        if point not in EXTENDS[name]:
            raise PluginError(f'plugin "{name}" does not extend {_TYPES[point]} plugin')
        if name in seen:
            raise PluginError(f'plugin "{name}" already registered as "{_TYPES[point]}"')
        seen.add(name)


# The arguments of plugins: defaults, and what kube-scheduler refuses.
# Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go and v1/defaults.go, release 1.30.

Arguments = Mapping[str, Any]
_EQUAL: Final = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})
STRATEGIES: Final = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_RATIO: Final = "requestedToCapacityRatio"
DEFAULTS: Final[Mapping[str, Arguments]] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
    "InterPodAffinity": {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False},
    "NodeAffinity": {},
    "NodeResourcesBalancedAllocation": {"resources": _EQUAL},
    "NodeResourcesFit": {"scoringStrategy": {"type": STRATEGIES[0], "resources": _EQUAL}},
    "PodTopologySpread": {"defaultingType": "System", "defaultConstraints": ()},
    "VolumeBinding": {"bindTimeoutSeconds": 600},
}


def with_defaults(plugin: str, given: Arguments) -> Arguments:
    """The arguments of a plugin with those that are not given."""
    told = {name: value for name, value in given.items() if value is not None}
    found = {**DEFAULTS[plugin], **told}
    if plugin == "NodeResourcesFit":
        strategy = found["scoringStrategy"]
        resources = strategy.get("resources") or _EQUAL
        found["scoringStrategy"] = {**strategy, "resources": [_weighted(each) for each in resources]}
    elif plugin == "NodeResourcesBalancedAllocation":
        found["resources"] = [_weighted(each) for each in found["resources"] or _EQUAL]
    return found


def _weighted(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": resource.get("name") or "", "weight": resource.get("weight") or 1}


def validate_arguments(behaviour: ServedBehaviour, path: str, plugin: str, given: Arguments) -> Iterator[FieldError]:
    """The errors of the arguments of a plugin, which have their defaults."""
    yield from _CHECKS[plugin](behaviour, path, given)


def _range(path: str, value: int, low: int, high: int) -> Iterator[FieldError]:
    if not low <= value <= high:
        yield invalid_value(path, value, f"not in valid range [{low}, {high}]")


def _preemption(behaviour: ServedBehaviour, path: str, given: Arguments) -> Iterator[FieldError]:
    percentage, absolute = given["minCandidateNodesPercentage"], given["minCandidateNodesAbsolute"]
    names = (f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute")
    yield from _range(names[0], percentage, 0, 100)
    if absolute < 0:
        yield invalid_value(names[1], absolute, "not in valid range [0, inf)")
    if not percentage and not absolute:
        for name, other in (names, names[::-1]):
            yield invalid_value(name, 0, f"cannot be zero at the same time as {other.rpartition('.')[2]}")


def _pod_affinity(behaviour: ServedBehaviour, path: str, given: Arguments) -> Iterator[FieldError]:
    yield from _range(f"{path}.hardPodAffinityWeight", given["hardPodAffinityWeight"], 0, 100)


def _node_affinity(behaviour: ServedBehaviour, path: str, given: Arguments) -> Iterator[FieldError]:
    selector = (given.get("addedAffinity") or {}).get(_REQUIRED)
    if selector is not None:
        yield from placed(f"{path}.addedAffinity.{_REQUIRED}", NODE_SELECTOR(behaviour, selector))


def _balance(behaviour: ServedBehaviour, path: str, given: Arguments) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, each in enumerate(given["resources"]):
        if each["name"] in seen:
            yield duplicate(f"{path}.resources[{index}].name", each["name"])
        seen.add(each["name"])
        if each["weight"] != 1:
            yield invalid_value(f"{path}.resources[{index}].weight", each["weight"], "must be 1")


def _fit(behaviour: ServedBehaviour, path: str, given: Arguments) -> Iterator[FieldError]:
    for index, name in enumerate(given.get("ignoredResources") or ()):
        yield from validate_qualified_name(behaviour, f"{path}.ignoredResources[{index}]", name)
    for index, group in enumerate(given.get("ignoredResourceGroups") or ()):
        where = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            yield invalid_value(where, group, "resource group name can't contain '/'")
        yield from validate_qualified_name(behaviour, where, group)
    yield from _strategy(f"{path}.scoringStrategy", given["scoringStrategy"])


def _strategy(path: str, given: Arguments) -> Iterator[FieldError]:
    kind, ratio = given.get("type") or "", given.get(_RATIO)
    if kind not in STRATEGIES:
        yield unsupported(f"{path}.type", kind, STRATEGIES)
    for index, each in enumerate(given["resources"]):
        if not 0 < each["weight"] <= 100:
            text = f"resource weight of {each['name']} not in valid range (0, 100]"
            yield invalid_value(f"{path}.resources[{index}].weight", each["weight"], text)
    if kind == STRATEGIES[2]:
        if ratio is None:
            yield required(f"{path}.{_RATIO}", "must be specified when type is RequestedToCapacityRatio")
        else:
            yield from _shape(f"{path}.{_RATIO}.shape", ratio.get("shape") or ())
    elif ratio is not None:
        yield forbidden_field(f"{path}.{_RATIO}", "must be nil when type is not RequestedToCapacityRatio")


def _shape(path: str, points: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    if not points:
        yield required(path, "at least one point must be specified")
    used = [each.get("utilization") or 0 for each in points]
    for index in range(1, len(used)):
        if used[index - 1] >= used[index]:
            yield invalid_value(
                f"{path}[{index}].utilization", used[index], "values must be sorted in increasing order"
            )
            break
    for index, each in enumerate(points):
        yield from _range(f"{path}[{index}].utilization", used[index], 0, 100)
        yield from _range(f"{path}[{index}].score", each.get("score") or 0, 0, 10)


def _spread(behaviour: ServedBehaviour, path: str, given: Arguments) -> Iterator[FieldError]:
    kind, constraints = given["defaultingType"], given["defaultConstraints"]
    if kind not in ("System", "List"):
        yield unsupported(f"{path}.defaultingType", kind, ("System", "List"))
    elif kind == "System" and constraints:
        yield invalid_value(f"{path}.defaultingType", kind, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, each in enumerate(constraints):
        where = f"{path}.defaultConstraints[{index}]"
        key, action = each.get("topologyKey"), each.get("whenUnsatisfiable")
        if (each.get("maxSkew") or 0) <= 0:
            yield invalid_value(f"{where}.maxSkew", each.get("maxSkew") or 0, "not in valid range (0, inf)")
        if not key:
            yield required(f"{where}.topologyKey", "can not be empty")
        else:
            yield from validate_qualified_name(behaviour, f"{where}.topologyKey", key)
        if not action:
            yield required(f"{where}.whenUnsatisfiable", "can not be empty")
        elif action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield unsupported(f"{where}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        if each.get("labelSelector") is not None:
            text = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden_field(f"{where}.labelSelector", text)
        if (key or "", action or "") in seen:
            yield duplicate(where, f"{{{key or ''}, {action or ''}}}")
        seen.add((key or "", action or ""))


def _volumes(behaviour: ServedBehaviour, path: str, given: Arguments) -> Iterator[FieldError]:
    if given["bindTimeoutSeconds"] < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid_value(f"{path}.bindTimeoutSeconds", given["bindTimeoutSeconds"], text)
    if given.get("shape") is not None:
        text = "unexpected field `shape`, remove it or turn on the feature gate VolumeCapacityPriority"
        yield invalid_value(f"{path}.shape", given["shape"], text)


_CHECKS: Final[Mapping[str, Callable[[ServedBehaviour, str, Arguments], Iterator[FieldError]]]] = {
    "DefaultPreemption": _preemption,
    "InterPodAffinity": _pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balance,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volumes,
}
