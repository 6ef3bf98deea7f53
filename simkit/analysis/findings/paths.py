"""The check of escalation paths: whoever can reach a goal that they were not given has a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.analysis.escalation.find.held_permissions import GrantSource
from simkit.analysis.escalation.find.path import Path
from simkit.analysis.escalation.find.queries import escalations
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.check import Check, Finding, described_check
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.rbac.objects import display_name

ESCALATION_PATH: Final = "escalation-path"
"""The id of the check."""


def escalation_paths(survey: Survey, check: Check) -> Iterator[Finding]:
    """One finding for all paths whose first step has the same grants."""
    grouped: dict[tuple[Any, ...], list[Path]] = {}
    for path in escalations(survey.snapshot, include_defaults=True, members=survey.members):
        sources = next(iter(path.grants), ())
        if not sources or not all(survey.is_set_aside(one.binding, one.role) for one in sources):
            granted = tuple((one.binding, one.role, one.rule) for one in sources)
            grouped.setdefault((path.primitives[:1], granted), []).append(path)
    for paths in grouped.values():
        yield _finding(check, paths, next(iter(paths[0].grants), ()))


def _finding(check: Check, paths: Sequence[Path], sources: Sequence[GrantSource]) -> Finding:
    first = paths[0]
    subjects = tuple(dict.fromkeys(path.start.subject for path in paths if path.start.subject is not None))
    goals = ", ".join(dict.fromkeys(path.goal.name for path in paths))
    evidence: dict[str, Any] = {"subjects": subjects}
    granted = ""
    if sources:
        source = sources[0]
        evidence |= {"binding": source.binding, "role": source.role, "rules": (source.rule,)}
        evidence["namespace"] = source.binding.namespace
        granted = f" because {display_name(source.binding)} grants {display_name(source.role)}"
    names = listed(dict.fromkeys(path.subject for path in paths))
    return check.finding(
        f"{names} can reach {goals}{granted}: {first.words}.",
        severity=max(Severity.HIGH, *(path.severity for path in paths)),
        fix=first.steps[0].primitive.mitigation if first.steps else check.fix,
        **evidence,
    )


PATH_CHECKS: Final = (described_check(ESCALATION_PATH, escalation_paths),)
"""The checks, in the order of a report."""
