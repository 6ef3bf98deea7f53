"""The editions of Kubernetes' deprecation policy, and the periods that they demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simkit.logic.lifecycle.calendar import Span
from simkit.logic.lifecycle.stability import Track

BETA: Final = Span(3, 9)
"""The period for which a beta is served after its deprecation, and by which it must be deprecated."""
STABLE_ONCE: Final = Span(3, 12)
"""The period for which the first edition served a stable version after its deprecation."""
COMMANDS: Final = {
    ("user", Track.GA): Span(2, 12),
    ("user", Track.BETA): Span(1, 3),
    ("admin", Track.GA): Span(1, 6),
    ("admin", Track.BETA): Span(1, 3),
}
"""The periods for which deprecated elements of the command line work, by stability; alpha has none."""
GATE_TO_STABLE: Final = Span(2, 6)
GATE_TO_END: Final = Span(1, 3)
METRIC_LIFE: Final = {Track.GA: Span(4, 12), Track.BETA: Span(2, 8)}
METRIC_END: Final = {Track.GA: Span(3, 9), Track.BETA: Span(1, 4)}
HIDDEN_AFTER: Final = 3
"""Releases between a metric's deprecation and the one that hides it."""


@dataclass(frozen=True, slots=True)
class Edition:
    """An edition of the policy."""

    name: str
    stable_stays: bool
    """True if a stable version may never be removed within the major version of the project."""
    beta_must_end: bool
    """True if betas must be deprecated and removed in time."""
    replaced_as_stable: bool
    """True if flags and features may only be replaced by something as stable, as versions always were."""
