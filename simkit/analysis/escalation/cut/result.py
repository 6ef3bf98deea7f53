"""A cut: the changes that close paths, with their cost, objects and commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pandas as pd

from simkit.analysis.escalation.cut.change_text import ObjectChanges
from simkit.analysis.escalation.cut.removal_kinds import Removal, RemovePermissions
from simkit.analysis.escalation.cut.verification import Verified, verify
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.states import AttackState
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.rbac.subject import Members
from simkit.analysis.rbac.tables import table
from simkit.analysis.rendering import counted
from simkit.analysis.result import InLines
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.seams.snapshot import Sandbox, Snapshot

COLUMNS: Final = ("change", "kind", "object", "namespace", "cost", "closes", "subjects")


@dataclass(frozen=True, repr=False)
class Cut(ObjectChanges, InLines):
    """Changes that close paths to a goal.

    ``left`` are paths that nothing which may be taken away would close; ``exact`` says that no cheaper cut exists.
    """

    goal: Goal
    removals: tuple[Removal, ...]
    costs: Mapping[Removal, float]
    closed: tuple[Path, ...]
    left: tuple[Path, ...]
    exact: bool
    snapshot: Snapshot = field(compare=False)
    changes: tuple[Change, ...]
    used: Mapping[tuple[Identity, Action], int] = field(default_factory=dict)
    starts: tuple[AttackState, ...] = ()
    members: Members = field(compare=False, default_factory=dict)
    closed_by: Mapping[Path, frozenset[Removal]] = field(compare=False, default_factory=dict)
    """The removals that would close each of the paths."""
    sandbox: Sandbox | None = field(compare=False, default=None)
    """The sandbox that verifies it by default."""

    def __len__(self) -> int:
        return len(self.removals)

    @property
    def cost(self) -> float:
        """The access that the cut takes: single permissions times subjects, plus one for each change."""
        return sum(self.costs[one] for one in self.removals)

    def to_frame(self) -> pd.DataFrame:
        """One row per change: change (in words), kind, object, namespace, cost, closes (paths), subjects (of them)."""
        rows = []
        for one in self.removals:
            key = one.role if isinstance(one, RemovePermissions) else one.binding
            paths = [path for path in self.closed if one in self.closed_by[path]]
            subjects = {path.subject for path in paths}
            rows.append((str(one), one.kind, key.name, key.namespace, self.costs[one], len(paths), len(subjects)))
        return table(rows, COLUMNS)

    def manifests(self) -> list[Object]:
        """The changed objects, to be applied."""
        return [change.obj for change in self.changes if change.obj is not None]

    def deletions(self) -> list[Key]:
        """The bindings that have no subject left."""
        return [change.key for change in self.changes if change.obj is None]

    def verify(self, sandbox: Sandbox | None = None) -> Verified:
        """Make the changes on a fork and check that no path is left and nothing in use is lost."""
        where = sandbox or self.sandbox
        if where is None:
            raise SimkitError("a cut is verified on a cluster: cut.verify(simkit.load(...))")
        return verify(self, where)

    def lines(self) -> Iterator[str]:
        """The answer, line by line."""
        how = "the cheapest cut" if self.exact else "a cut"
        yield f"{how} of all paths to {self.goal}: {counted(len(self.removals), 'change')}, cost {self.cost:g}"
        for one in self.removals:
            yield f"{one} (cost {self.costs[one]:g})"
        for path in self.left:
            yield f"left open: {path.subject}: {path.words}"
