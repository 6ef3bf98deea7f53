"""Findings about a history: the rule, the element that breaks it, and the earliest compliant release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simkit.logic.lifecycle.calendar import Release

Weight = Literal["breach", "overrun", "notice"]
"""A breach takes away what was promised; an overrun keeps it for longer than it should be; a notice is worth knowing,
such as what only a later edition of the policy forbids."""


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
