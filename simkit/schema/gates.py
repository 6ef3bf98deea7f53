"""Feature gates: in which stage a feature is, what that means for the gate, and what a server makes of the flag."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple

from simkit.meta import data
from simkit.meta.errors import SimkitError
from simkit.schema.releases import BASE

Stage = Literal["ALPHA", "BETA", "GA", "DEPRECATED"]
_ALL: Final[Mapping[str, Stage]] = {"AllAlpha": "ALPHA", "AllBeta": "BETA"}


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate. A locked one cannot be set to anything but its default."""

    name: str
    stage: Stage
    default: bool
    locked: bool = False


class Gates(NamedTuple):
    """What is on, gate by gate, and what the server says about the flag when it starts."""

    values: Mapping[str, bool]
    warnings: tuple[str, ...]


@cache
def known() -> Mapping[str, Gate]:
    """The gates of 1.30 by name. Tables of other releases are not bundled; servers of all releases have these."""
    table = data.load(f"api/releases/gates-{BASE}.json")
    return {name: Gate(name, row["stage"], row["default"], row.get("locked", False)) for name, row in table.items()}


def chosen(settings: Mapping[str, bool]) -> Gates:
    """The values of all gates under the settings of ``--feature-gates``.

    Raises
    ------
    SimkitError
        For a gate that is not known, and for one that is set against its locked value.

    Examples
    --------
    >>> chosen({"KMSv1": True}).warnings
    ('Setting deprecated feature gate KMSv1=true. It will be removed in a future release.',)
    >>> chosen({"WatchList": True}).values["WatchList"]
    True
    """
    values = {name: gate.default for name, gate in known().items()}
    for name, stage in _ALL.items():
        if name in settings:
            values |= {each: settings[name] for each, gate in known().items() if gate.stage == stage}
    for name, value in settings.items():
        values[name] = _checked(name, value)
    return Gates(values, tuple(filter(None, (_warning(known()[name], value) for name, value in settings.items()))))


def _checked(name: str, value: bool) -> bool:
    gate = known().get(name)
    if gate is None:
        near = difflib.get_close_matches(name, known(), n=1)
        raise SimkitError(f"unrecognized feature gate: {name}" + (f"; did you mean {near[0]}?" if near else ""))
    if gate.locked and value != gate.default:
        said, locked = str(value).lower(), str(gate.default).lower()
        raise SimkitError(f"cannot set feature gate {name} to {said}, feature is locked to {locked}")
    return value


def _warning(gate: Gate, value: bool) -> str:
    word = {"GA": "GA", "DEPRECATED": "deprecated"}.get(gate.stage)
    if word is None:
        return ""
    return f"Setting {word} feature gate {gate.name}={str(value).lower()}. It will be removed in a future release."
