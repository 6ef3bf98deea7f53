"""One line of a plan, whatever it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from simkit.analysis.escalation.table.severity import Severity

Section = Literal[
    "refused",
    "objects",
    "access",
    "paths",
    "expectations",
    "pod security",
    "pods",
    "budgets",
    "versions",
    "warnings",
    "images and secrets",
]
TITLES: Final[dict[Section, str]] = {
    "refused": "Refused or not tried",
    "paths": "Escalation paths",
    "expectations": "Expectations that fail now",
    "access": "Access",
    "pod security": "Pods that exceed the pod security level baseline",
    "pods": "Pods that do not run",
    "budgets": "Disruption budgets that allow no eviction",
    "objects": "Objects",
    "versions": "API versions that a later release removes",
    "warnings": "Warnings of kube-apiserver",
    "images and secrets": "Images and secrets",
}
"""The sections in the order in which a reviewer reads them, with their headings."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One line of a plan.

    Attributes
    ----------
    section
        One of ``TITLES``.
    change
        One word for what happens: ``create``, ``gained``, ``opened``, ``pending`` and the like.
    severity
        How much it deserves a reviewer's attention.
    what
        The object, subject or path.
    detail
        What changes or why, in one sentence.
    file, line
        The manifest that causes it, if one does.
    """

    section: Section
    change: str
    severity: Severity
    what: str
    detail: str = ""
    file: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        """File and line; empty where no manifest causes it."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file
