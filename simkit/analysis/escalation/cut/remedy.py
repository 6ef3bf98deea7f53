"""Remedies: what to change, what that takes from whom, what may break, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from simkit.analysis.access.compare import COLUMNS, compare_subjects
from simkit.analysis.escalation.cut.change_text import FilePosition, as_diff, as_yaml, commands_back, kubectl_commands
from simkit.analysis.escalation.cut.result import after
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted, html_lines, text_lines
from simkit.analysis.result import Result
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Subject
from simkit.meta.names import Key
from simkit.seams.snapshot import Snapshot

RBAC: frozenset[object] = frozenset((ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS))


@dataclass(frozen=True)
class Remedy(Result):
    """One change of some objects. It is true if it changes something; advice without a change has only words.

    ``text`` says what to do, ``risk`` what may stop working by it, ``subjects`` whose access it touches.
    """

    text: str
    risk: str
    changes: tuple[Change, ...]
    subjects: tuple[Subject, ...]
    snapshot: Snapshot = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.changes)

    def commands(self) -> list[str]:
        """The change as kubectl commands, quoted for a shell."""
        return kubectl_commands(self.changes, self.snapshot)

    def way_back(self) -> list[str]:
        """The kubectl commands after which all is as it was."""
        return commands_back(self.changes, self.snapshot)

    def yaml(self) -> str:
        """The changed objects as YAML, deletions as comments."""
        return as_yaml(self.changes, self.snapshot)

    def diff(self, places: Mapping[Key, FilePosition] | None = None) -> str:
        """The change as a unified diff of YAML; ``places`` are the files where the objects are written."""
        return as_diff(self.changes, self.snapshot, places)

    def after(self) -> Snapshot:
        """The snapshot as it would be."""
        return after(self.snapshot, self.changes)

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

    def __str__(self) -> str:
        return text_lines(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_lines(self.lines())
