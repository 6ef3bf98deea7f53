"""Behaviour of a release under its feature gates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from simkit.meta.behaviour import ServedBehaviour
from simkit.schema.feature_gates import is_enabled, parse_feature_gates
from simkit.schema.releases import RELEASES, minor_of


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
