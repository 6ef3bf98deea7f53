"""A KubeSchedulerConfiguration: the profiles of a scheduler, and what it says about all of them.

Upstream: pkg/scheduler/apis/config, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.meta.domain import api_group
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import FieldError, aggregate_errors, duplicate, invalid_value
from simkit.simulation.scheduler.config_fields import ARGUMENTS, CONFIGURATION, Misfit, misfits
from simkit.simulation.scheduler.extender_config import (
    Extender,
    extenders_of,
    ignored_resources,
    validate_extenders,
)
from simkit.simulation.scheduler.plugin_arguments import Arguments, validate_arguments, with_defaults
from simkit.simulation.scheduler.plugin_sets import PluginError, Weighted, plugins_of

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
    """The configuration of a scheduler: profiles, extenders, and the seconds for which pods wait after a failure."""

    profiles: tuple[ProfileConfig, ...] = (ProfileConfig(NAME, plugins_of(None, NAME), {}),)
    percentage: int = 0
    first_pause: float = 1.0
    longest_pause: float = 10.0
    extenders: tuple[Extender, ...] = ()


def scheduler_config(document: Any, *, minor: int = 30) -> SchedulerConfig:
    """The configuration in a document, as a release reads it.

    Raises
    ------
    SimkitError
        For an invalid document in kube-scheduler's words.
    """
    _check_kind(document, minor)
    _refuse(list(misfits(document, CONFIGURATION)), "")
    profiles = document.get("profiles") or [{}]
    names = [str(each.get("schedulerName") or (NAME if len(profiles) == 1 else "")) for each in profiles]
    arguments = [dict(_arguments(each, index)) for index, each in enumerate(profiles)]
    errors = [*_validate(document, profiles, names, arguments)]
    if errors:
        raise SimkitError(aggregate_errors(map(str, errors)))
    extenders = document.get("extenders") or []
    ignored = ignored_resources(extenders)
    made = []
    for name, profile, args in zip(names, profiles, arguments, strict=True):
        try:
            plugins = plugins_of(profile.get("plugins"), name)
        except PluginError as error:
            raise SimkitError(f"creating profile for scheduler name {name}: {error}") from error
        if ignored:
            args["NodeResourcesFit"] = with_defaults(
                "NodeResourcesFit", {**args.get("NodeResourcesFit", {}), "ignoredResources": ignored}
            )
        made.append(ProfileConfig(name, plugins, args, profile.get("percentageOfNodesToScore")))
    if len({tuple(each.plugins["queueSort"]) for each in made}) > 1:
        raise SimkitError("profiles: plugins.queueSort must be the same for all profiles")
    first, longest = (float(_number(document, field, default)) for field, default in _PAUSES.items())
    percentage = document.get("percentageOfNodesToScore") or 0
    return SchedulerConfig(tuple(made), percentage, first, longest, extenders_of(extenders))


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
        yield from _plugin_config(path, profile, arguments[index])
        if name in names[:index]:
            yield duplicate(f"{path}.schedulerName", f"profiles[{names.index(name)}].schedulerName")
    yield from _percentage("percentageOfNodesToScore", document)
    yield from validate_extenders(document.get("extenders") or ())
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


def _plugin_config(path: str, profile: Mapping[str, Any], known: dict[str, Arguments]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, each in enumerate(profile.get("pluginConfig") or ()):
        where, plugin = f"{path}.pluginConfig[{index}]", str(each.get("name") or "")
        if plugin in seen:
            yield duplicate(where, plugin)
        seen.add(plugin)
        yield from validate_arguments(f"{where}.args", plugin, known[plugin])
