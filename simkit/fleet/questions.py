"""The questions to one cluster of a fleet. They run where the cluster is read: only their tables travel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from simkit.analysis import audit, check, compare
from simkit.analysis.access.expectations import Suite
from simkit.analysis.escalation.table.severity import Severity
from simkit.fleet.members import Member
from simkit.seams.snapshot import Snapshot

Question = Callable[[Snapshot], pd.DataFrame]


@dataclass(frozen=True, slots=True)
class ClusterQuestion:
    """A question to one cluster: call it to read the cluster and to get the table."""

    member: Member
    release: str | None
    question: Question

    def __call__(self) -> pd.DataFrame:
        answer = self.question(self.member.snapshot(self.release))
        table = pd.DataFrame(answer)
        table.attrs.update(answer.attrs)
        return table


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """All findings of an audit."""

    include_defaults: bool = False
    checks: tuple[str, ...] | None = None
    managed: tuple[str, ...] = ()
    severity: Severity | None = None
    namespace: str | None = None

    def __call__(self, snapshot: Snapshot) -> pd.DataFrame:
        found = audit(
            snapshot,
            include_defaults=self.include_defaults,
            checks=self.checks,
            managed=self.managed,
            severity=self.severity,
            namespace=self.namespace,
        )
        return found.to_frame()


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """The outcomes of expectations."""

    suite: Suite

    def __call__(self, snapshot: Snapshot) -> pd.DataFrame:
        return check(snapshot, self.suite).to_frame()


@dataclass(frozen=True, slots=True)
class CompareQuestion:
    """The access of subjects beyond or below that in the golden cluster."""

    golden: Member
    release: str | None

    def __call__(self, snapshot: Snapshot) -> pd.DataFrame:
        return compare(_golden(self.golden, self.release), snapshot)


@lru_cache(maxsize=1)
def _golden(member: Member, release: str | None) -> Snapshot:
    """The golden cluster, read once by each worker."""
    return member.snapshot(release)
