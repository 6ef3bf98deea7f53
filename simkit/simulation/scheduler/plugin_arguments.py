"""The arguments of plugins: defaults, and what kube-scheduler refuses.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go and v1/defaults.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from simkit.kinds.parts.pod.validation.scheduling import validate_node_selector
from simkit.kinds.parts.validation.labels import validate_qualified_name
from simkit.meta.fielderror import FieldError, duplicate, forbidden_field, invalid_value, required, unsupported

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


def validate_arguments(path: str, plugin: str, given: Arguments) -> Iterator[FieldError]:
    """The errors of the arguments of a plugin, which have their defaults."""
    yield from _CHECKS[plugin](path, given)


def _range(path: str, value: int, low: int, high: int) -> Iterator[FieldError]:
    if not low <= value <= high:
        yield invalid_value(path, value, f"not in valid range [{low}, {high}]")


def _preemption(path: str, given: Arguments) -> Iterator[FieldError]:
    percentage, absolute = given["minCandidateNodesPercentage"], given["minCandidateNodesAbsolute"]
    names = (f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute")
    yield from _range(names[0], percentage, 0, 100)
    if absolute < 0:
        yield invalid_value(names[1], absolute, "not in valid range [0, inf)")
    if not percentage and not absolute:
        for name, other in (names, names[::-1]):
            yield invalid_value(name, 0, f"cannot be zero at the same time as {other.rpartition('.')[2]}")


def _pod_affinity(path: str, given: Arguments) -> Iterator[FieldError]:
    yield from _range(f"{path}.hardPodAffinityWeight", given["hardPodAffinityWeight"], 0, 100)


def _node_affinity(path: str, given: Arguments) -> Iterator[FieldError]:
    selector = (given.get("addedAffinity") or {}).get(_REQUIRED)
    if selector is not None:
        yield from validate_node_selector(f"{path}.addedAffinity.{_REQUIRED}", selector)


def _balance(path: str, given: Arguments) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, each in enumerate(given["resources"]):
        if each["name"] in seen:
            yield duplicate(f"{path}.resources[{index}].name", each["name"])
        seen.add(each["name"])
        if each["weight"] != 1:
            yield invalid_value(f"{path}.resources[{index}].weight", each["weight"], "must be 1")


def _fit(path: str, given: Arguments) -> Iterator[FieldError]:
    for index, name in enumerate(given.get("ignoredResources") or ()):
        yield from validate_qualified_name(f"{path}.ignoredResources[{index}]", name)
    for index, group in enumerate(given.get("ignoredResourceGroups") or ()):
        where = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            yield invalid_value(where, group, "resource group name can't contain '/'")
        yield from validate_qualified_name(where, group)
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


def _spread(path: str, given: Arguments) -> Iterator[FieldError]:
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
            yield from validate_qualified_name(f"{where}.topologyKey", key)
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


def _volumes(path: str, given: Arguments) -> Iterator[FieldError]:
    if given["bindTimeoutSeconds"] < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid_value(f"{path}.bindTimeoutSeconds", given["bindTimeoutSeconds"], text)
    if given.get("shape") is not None:
        text = "unexpected field `shape`, remove it or turn on the feature gate VolumeCapacityPriority"
        yield invalid_value(f"{path}.shape", given["shape"], text)


_CHECKS: Final[Mapping[str, Callable[[str, Arguments], Iterator[FieldError]]]] = {
    "DefaultPreemption": _preemption,
    "InterPodAffinity": _pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balance,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volumes,
}
