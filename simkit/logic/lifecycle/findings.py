"""Findings about a history, and the periods that the editions of Kubernetes' deprecation policy demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from simkit.logic.lifecycle.calendar import Calendar, Release, Span, Track

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
BEHAVIOR: Final = Span(0, 12)
GATE_TO_STABLE: Final = Span(2, 6)
GATE_TO_END: Final = Span(1, 3)
METRIC_LIFE: Final = {Track.GA: Span(4, 12), Track.BETA: Span(2, 8)}
METRIC_END: Final = {Track.GA: Span(3, 9), Track.BETA: Span(1, 4)}
HIDDEN_AFTER: Final = 3
"""Releases between a metric's deprecation and the one that hides it."""

Weight = Literal["breach", "overrun", "notice"]
"""A breach takes away what was promised; an overrun keeps it for longer than it should be; a notice is worth knowing,
such as what only a later edition of the policy forbids."""


@dataclass(frozen=True, slots=True)
class Edition:
    """An edition of the policy."""

    name: str
    stable_stays: bool
    """True if a stable version may never be removed within the major version of the project."""
    is_present: bool
    """True if betas must be deprecated and removed in time, and flags and features may only be replaced by something
    as stable, as versions always were."""

    @property
    def weight(self) -> Weight:
        """The weight of what only the present edition forbids."""
        return "breach" if self.is_present else "notice"


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that is broken by one element."""

    rule: str
    element: str
    evidence: str
    weight: Weight = "breach"
    earliest: Release | None = None
    """The earliest compliant release; None if there is none, or if time does not matter."""

    provided: str = ""
    """A further condition for compliance from then on; empty if there is none."""

    def __str__(self) -> str:
        when = f"; complies from {self.earliest}" if self.earliest else ""
        when += f", provided that {self.provided}" if when and self.provided else ""
        return f"{self.rule}: {self.element}: {self.evidence}{when}"


def ended_early(
    rule: str,
    element: str,
    start: str,
    end: str,
    span: Span,
    calendar: Calendar,
    *,
    since: str = "its deprecation",
    ended: str = "removed",
) -> Iterator[Finding]:
    """A finding if an element ended without being deprecated, or before its period was over.

    ``start`` and ``end`` are releases, ``since`` and ``ended`` say what happened in them.
    """
    if not start:
        text = f"{ended} in {end} without being deprecated before"
        yield Finding(rule, element, text, earliest=calendar.after(end, span))
    elif not calendar.passed(start, end, span):
        lasted = calendar.describe(start, end)
        text = f"{ended} {lasted} after {since} in {start}, where {span} are due"
        yield Finding(rule, element, text, earliest=calendar.after(start, span))
