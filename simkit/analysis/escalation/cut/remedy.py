"""Remedies: what to change, what that takes from whom, what may break, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from simkit.analysis.access.compare import COLUMNS, compare_subjects
from simkit.analysis.escalation.cut.change_text import ObjectChanges
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.analysis.result import InLines
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Subject
from simkit.seams.snapshot import Snapshot

RBAC: frozenset[object] = frozenset((ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS))


@dataclass(frozen=True, repr=False)
class Remedy(ObjectChanges, InLines):
    """One change of some objects. It is true if it changes something; advice without a change has only words.

    ``text`` says what to do, ``risk`` what may stop working by it, ``subjects`` whose access it touches.
    """

    text: str
    risk: str
    changes: tuple[Change, ...]
    subjects: tuple[Subject, ...]
    snapshot: Snapshot = field(compare=False)

    def __len__(self) -> int:
        return len(self.changes)

    @cached_property
    def effect(self) -> pd.DataFrame:
        """The access that subjects gain and lose, by what-if: the columns of ``compare``."""
        if not any(change.key.resource in RBAC for change in self.changes):
            return table((), COLUMNS)
        return compare_subjects(self.snapshot, self.after(), self.subjects)

    def to_frame(self) -> pd.DataFrame:
        """One row per command: command, way_back."""
        back = list(reversed(self.way_back()))
        return table(zip(self.commands(), back, strict=True), ("command", "way_back"))

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        yield self.text
        if self.risk:
            yield f"risk: {self.risk}"
        yield from self.commands()
        if self.changes:
            yield f"{counted(len(self.effect), 'permission')} lost or gained"
            yield from (f"to undo: {one}" for one in self.way_back())
