"""Behaviour of a release under its feature gates, and everything that is known to change between two releases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from simkit.meta.behaviour import BehaviourChange, ServedBehaviour, changes
from simkit.schema.feature_gates import is_enabled, parse_feature_gates
from simkit.schema.releases import RELEASES, minor_of, release_name


def behaviour_of(release: str, gates: Mapping[str, bool]) -> ServedBehaviour:
    """The behaviour of a server; the same object for the same release and gates."""
    return _shared(release, frozenset(gates.items()))


@lru_cache(maxsize=64)
def _shared(release: str, gates: frozenset[tuple[str, bool]]) -> ServedBehaviour:
    values = dict(gates)
    return ServedBehaviour(minor_of(release), lambda gate: is_enabled(gate, release, values))


@cache
def default_behaviour(release: str) -> ServedBehaviour:
    """The behaviour of a release with the gates that are on by default."""
    return behaviour_of(release, parse_feature_gates({}, release).values)


OWN: Final = default_behaviour(RELEASES[-1])
"""The rules by which simkit reads what no server does, such as the expressions of checks."""


def changes_of_behaviour(old: str, new: str) -> tuple[tuple[str, BehaviourChange], ...]:
    """The changes of behaviour on the way from one release to another, with ``comes`` or ``goes`` before each.

    Examples
    --------
    >>> [(step, each.id) for step, each in changes_of_behaviour("1.33", "1.34") if each.area == "messages"][0]
    ('comes', 'values-in-json')
    """
    before, after = (default_behaviour(release_name(each)).ids for each in (old, new))
    steps = [("goes", each) for each in changes().values() if each.id in before - after]
    return (*steps, *(("comes", each) for each in changes().values() if each.id in after - before))
