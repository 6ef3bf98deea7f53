"""The questions to one cluster of a fleet. They run where the cluster is read: only their tables travel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from simkit.analysis import audit, check, compare
from simkit.analysis.access.expectations import Suite
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


def audited(snapshot: Snapshot, **options: Any) -> pd.DataFrame:
    """All findings of an audit."""
    return audit(snapshot, **options).to_frame()


def checked(snapshot: Snapshot, suite: Suite) -> pd.DataFrame:
    """The outcomes of expectations."""
    return check(snapshot, suite).to_frame()


def compared(snapshot: Snapshot, golden: Member, release: str | None) -> pd.DataFrame:
    """The access of subjects beyond or below that in the golden cluster."""
    return compare(_golden(golden, release), snapshot)


@lru_cache(maxsize=1)
def _golden(member: Member, release: str | None) -> Snapshot:
    """The golden cluster, read once by each worker."""
    return member.snapshot(release)
