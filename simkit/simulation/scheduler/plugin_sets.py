"""The plugins of a profile at each extension point: those by default, with what a configuration enables and disables.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go (``mergePlugins``) and
pkg/scheduler/framework/runtime/framework.go (``expandMultiPointPlugins``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.simulation.scheduler.config_fields import POINTS

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
