"""Changes that a plan may propose: what each does, what it costs, and which requests and pods it may break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from simkit.analysis.escalation.cut.cutter import Candidate
from simkit.analysis.escalation.cut.policies import EnforceLevel, sentence
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.escalation.cut.removal import PossibleRemovals, ReduceToUsage, RemovePermissions, changes_of
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.findings.nature import PRODUCT, SERVER, Natures
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.findings.workloads import accounts_in_use
from simkit.analysis.least_privilege.recorded_access import Use
from simkit.analysis.plan.open_paths import levels_of
from simkit.analysis.rbac.index import index_of
from simkit.logic.rbac.binding import Subject

NONE: Final = 0
"""Nothing that is known needs what is taken: no pod runs as the subject, or a log shows no use."""
PERHAPS: Final = 1
"""Somebody may need it: nothing tells."""
SURELY: Final = 2
"""Something that is used breaks: an installed product needs it, or a log shows its use."""


class Candidates:
    """The changes that can be made in one snapshot, that of a survey."""

    def __init__(self, survey: Survey, keep: frozenset[Subject], used: Mapping[Use, int], *, log: bool) -> None:
        self.snapshot, self.used, self._log = survey.snapshot, used, log
        self._survey = survey
        self.ways = PossibleRemovals(survey.snapshot, keep, used)
        self._harms: dict[EnforceLevel, int] = {}

    @cached_property
    def _natures(self) -> Natures:
        return Natures(self._survey)

    def cost(self, one: Candidate) -> float:
        """The access that a change takes, as ``PossibleRemovals.cost``; the pods that a level would refuse."""
        return one.cost(self.snapshot) if isinstance(one, EnforceLevel) else self.ways.cost(one)

    def harm(self, one: Candidate) -> int:
        """The harm to what is used: ``NONE``, ``PERHAPS`` or ``SURELY``."""
        if isinstance(one, EnforceLevel):
            return SURELY if one.refused(self.snapshot) else NONE
        if isinstance(one, ReduceToUsage):
            return NONE
        if self._log:
            if next(self.ways.in_use.lost([one]), None) is not None:
                return SURELY
            return PERHAPS if self._natures.of(one.key).name == PRODUCT else NONE
        if self._natures.of(one.key).name in (PRODUCT, SERVER):
            return SURELY
        return PERHAPS if accounts_in_use(self._survey).intersection(self.ways.subjects(one)) else NONE

    def breaks(self, one: Candidate) -> tuple[str, ...]:
        """The uses that would fail: requests of the log, pods that could not be created again."""
        if isinstance(one, EnforceLevel):
            pods = one.refused(self.snapshot)
            return tuple(f"pod {one.namespace}/{name} could not be recreated" for name in pods)
        if isinstance(one, ReduceToUsage):
            return ()
        lost = self.ways.in_use.lost([one])
        found = (f"{identity.user or identity.groups[0]} {action}" for identity, action in lost)
        return tuple(sorted(found))

    def of(self, edge: Edge) -> tuple[EnforceLevel, ...]:
        """The levels that stop a step and break nothing which is known to be used."""
        found = tuple(levels_of(edge))
        self._harms.update({one: self.harm(one) for one in found if one not in self._harms})
        return tuple(one for one in found if self._harms[one] < SURELY)

    def moved(self, one: Candidate) -> Iterator[Candidate]:
        """A change that was chosen for an earlier snapshot, as it is to be made in this one; none if it is made.

        When permissions are taken out of a rule, the rules behind it get other numbers.
        """
        if not isinstance(one, RemovePermissions):
            yield one
            return
        for number, rule in enumerate(self._survey.rules(one.role)):
            there = tuple(each for each in one.permissions if each.granted_by(rule))
            if there:
                yield RemovePermissions(one.role, number, there)

    def remedy(self, one: Candidate) -> Remedy:
        """The change with its commands, its effect, its risk and the way back."""
        if isinstance(one, EnforceLevel):
            return one.remedy(self.snapshot)
        changes = changes_of([one], self.snapshot, index_of(self.snapshot), self.ways.in_use)
        subjects = self.ways.subjects(one)
        return Remedy(sentence(one), self._risk(one, subjects), changes, subjects, self.snapshot)

    def _risk(self, one: Candidate, subjects: Iterable[Subject]) -> str:
        nature = self._natures.of(one.key)
        if nature.name == PRODUCT:
            return f"{nature.product} needs it, and may stop working"
        if self._log:
            lost = len(self.breaks(one))
            return (
                f"it denies {lost} requests that the log shows" if lost else "the log shows no use of what it removes"
            )
        in_use = accounts_in_use(self._survey)
        running = [subject for subject in subjects if subject in in_use]
        return f"pods run as {listed(running)} and may need it" if running else ""
