"""Feature gates of each release: stage, default, the effect of ``--feature-gates``, and the subresources that need one.

Upstream: k8s.io/component-base/featuregate/feature_gate.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.schema.releases import BASE, minor_of
from simkit.schema.resources import Resource

Stage = Literal["ALPHA", "BETA", "GA", "DEPRECATED"]
_ALL: Final[Mapping[str, Stage]] = {"AllAlpha": "ALPHA", "AllBeta": "BETA"}


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate in one release. A locked one can only have its default value."""

    name: str
    stage: Stage
    default: bool
    locked: bool = False


class Gates(NamedTuple):
    """The values of all gates, and the warnings that the server logs about the flag."""

    values: Mapping[str, bool]
    warnings: tuple[str, ...]


class Change(NamedTuple):
    """The state of a gate from a release on. None: the gate is unknown from then on."""

    release: str
    gate: Gate | None


_lives: Final[Callable[[], Mapping[str, Sequence[Sequence[Any]]]]] = datasets.lazy("api/releases/gates.json")


@cache
def history_of(name: str) -> tuple[Change, ...]:
    """The states of a gate with their first releases, oldest first; empty for an unknown gate."""
    rows = _lives().get(name, ())
    return tuple(Change(release, Gate(name, *state) if state else None) for release, *state in rows)


def names() -> Sequence[str]:
    """Every gate of releases 1.16 to 1.37."""
    return tuple(_lives())


@cache
def known(release: str = BASE) -> Mapping[str, Gate]:
    """The gates of a release by name.

    Examples
    --------
    >>> known("1.28")["SidecarContainers"].stage, known("1.29")["SidecarContainers"].stage
    ('ALPHA', 'BETA')
    >>> "SidecarContainers" in known("1.27")
    False
    """
    at = minor_of(release)
    found = {name: _state(name, at) for name in _lives()}
    return {name: gate for name, gate in found.items() if gate is not None}


def _state(name: str, at: int) -> Gate | None:
    past = [change.gate for change in history_of(name) if minor_of(change.release) <= at]
    return past[-1] if past else None


def always_on(name: str, release: str) -> bool:
    """True if a gate that a release no longer knows guards a feature that is always on."""
    at = minor_of(release)
    past = [change.gate for change in history_of(name) if minor_of(change.release) <= at]
    before = [gate for gate in past if gate is not None]
    return bool(past) and past[-1] is None and before[-1].stage == "GA" and before[-1].default


def is_enabled(name: str, release: str, values: Mapping[str, bool]) -> bool:
    """True if a server of a release has a feature under given gates."""
    return values[name] if name in values else always_on(name, release)


def parse_feature_gates(settings: Mapping[str, bool], release: str = BASE) -> Gates:
    """The values of all gates of a release under the settings of ``--feature-gates``.

    Raises
    ------
    SimkitError
        For a gate that the release does not know, and for one that is set against its locked value.

    Examples
    --------
    >>> parse_feature_gates({"KMSv1": True}).warnings
    ('Setting deprecated feature gate KMSv1=true. It will be removed in a future release.',)
    >>> parse_feature_gates({"WatchList": True}).values["WatchList"]
    True
    """
    gates = known(release)
    values = {name: gate.default for name, gate in gates.items()}
    for name, stage in _ALL.items():
        if name in settings:
            values |= {each: settings[name] for each, gate in gates.items() if gate.stage == stage}
    for name, value in settings.items():
        values[name] = _checked(name, value, release)
    return Gates(values, tuple(filter(None, (_warning(gates[name], value) for name, value in settings.items()))))


def settable(name: str, value: bool, release: str) -> bool:
    """True if a release knows a gate and allows setting it."""
    gate = known(release).get(name)
    return gate is not None and (not gate.locked or gate.default == value)


def _checked(name: str, value: bool, release: str) -> bool:
    gate = known(release).get(name)
    if gate is None:
        raise SimkitError(f"unrecognized feature gate: {name}{_hint(name, release)}")
    if gate.locked and value != gate.default:
        said, locked = str(value).lower(), str(gate.default).lower()
        raise SimkitError(f"cannot set feature gate {name} to {said}, feature is locked to {locked}")
    return value


def _hint(name: str, release: str) -> str:
    changes = history_of(name)
    if changes and minor_of(changes[0].release) > minor_of(release):
        return f"; it comes with {changes[0].release}"
    if changes:
        return f"; it went with {changes[-1].release}"
    from difflib import get_close_matches  # for wrong names alone

    near = get_close_matches(name, known(release), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _warning(gate: Gate, value: bool) -> str:
    word = {"GA": "GA", "DEPRECATED": "deprecated"}.get(gate.stage)
    if word is None:
        return ""
    return f"Setting {word} feature gate {gate.name}={str(value).lower()}. It will be removed in a future release."


_gates: Final[Callable[[], Mapping[str, str]]] = datasets.lazy("api/releases/gated-subresources.json")
"""The gates by version, resource and subresource: ``v1 pods/resize``."""


def closed_subresources(release: str, settings: Mapping[str, bool]) -> Set[str]:
    """The subresources that gates keep out of a release, by version and name.

    Parameters
    ----------
    settings
        Those of ``--feature-gates``.

    Examples
    --------
    >>> sorted(closed_subresources("1.32", {})), sorted(closed_subresources("1.33", {}))
    (['v1 pods/resize'], [])
    """
    values = parse_feature_gates(settings, release).values
    return {name for name, gate in _gates().items() if not is_enabled(gate, release, values)}


def without_subresources(resource: Resource, closed: Collection[str]) -> Resource:
    """The resource without the subresources that are closed; the same one where it has none of them."""
    head = f"{resource.api_version} {resource.resource}/"
    left = {name: info for name, info in resource.subresources.items() if head + name not in closed}
    return resource if len(left) == len(resource.subresources) else replace(resource, subresources=left)
