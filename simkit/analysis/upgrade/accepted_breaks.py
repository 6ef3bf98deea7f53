"""Accepted rows of an upgrade report: by check and object, with a reason and a last day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from simkit.analysis.model_file import Acceptance, model_of_file
from simkit.analysis.upgrade.items import Break
from simkit.analysis.upgrade.upgrade_report import UpgradeReport


class AcceptedBreak(Acceptance):
    """The rows that are accepted, with the reason and the last day of acceptance (inclusive).

    What is left out matches everything; texts may hold ``*``.
    """

    check: str = "*"
    kind: str = "*"
    namespace: str = "*"
    name: str = "*"
    who: str = "*"

    def matches(self, row: Break) -> bool:
        """True if the rule selects a row, whether it has expired or not."""
        return all(
            fnmatchcase(getattr(row, part), getattr(self, part))
            for part in ("check", "kind", "namespace", "name", "who")
        )


class AcceptedBreaks(BaseModel):
    """A file of accepted rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suppressions: tuple[AcceptedBreak, ...] = ()


@dataclass(frozen=True, slots=True)
class SuppressedReport:
    """A report in which the accepted rows break nothing.

    ``expired`` are rules whose last day is over though what they mean is still there; ``unused`` mean nothing in it.
    """

    report: UpgradeReport
    expired: tuple[AcceptedBreak, ...]
    unused: tuple[AcceptedBreak, ...]


def read_accepted_breaks(path: str | Path) -> tuple[AcceptedBreak, ...]:
    """The accepted rows that a YAML or JSON file has. Raises SimkitError that names the entry and what is wrong.

    Examples
    --------
    A file such as::

        suppressions:
        - check: cgroup-v1
          kind: Node
          name: "legacy-*"
          reason: replaced in March, see ticket 812
          expires: 2027-03-31
    """
    return model_of_file(path, AcceptedBreaks, empty={}).suppressions


def accept_breaks(found: UpgradeReport, accepted: Sequence[AcceptedBreak], *, today: date) -> SuppressedReport:
    """A report in which the rows that are accepted today break nothing; their evidence has the reason."""
    current = [each for each in accepted if not each.expired(today)]
    rows = []
    for row in found.rows:
        rule = next((each for each in current if each.matches(row)), None) if row.breaks else None
        told = f"{row.evidence}; accepted: {rule.reason}" if rule is not None else ""
        rows.append(row if rule is None else row._replace(breaks=False, severity="info", evidence=told))
    meant = [each for each in accepted if any(each.matches(row) for row in found.rows)]
    expired = tuple(each for each in meant if each not in current)
    unused = tuple(each for each in accepted if each not in meant)
    return SuppressedReport(replace(found, rows=tuple(sorted(rows, key=lambda row: not row.breaks))), expired, unused)
