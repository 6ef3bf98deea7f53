"""Changes that a plan may propose: what each does to objects, what it costs, and what it may break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from simkit.analysis.escalation.cut.cutter import Candidate, Policy
from simkit.analysis.escalation.cut.policies import (
    EnforceLevel,
    RefuseAccounts,
    enforcing,
    policy_changes,
    refused_pods,
    risk_of_level,
    risk_of_refusal,
    running_as,
)
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.escalation.cut.removal import PossibleRemovals, changes_of
from simkit.analysis.escalation.cut.removal_kinds import ReduceToUsage, RemovePermissions
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.findings.nature import PRODUCT, SERVER, Natures
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.findings.workloads import accounts_in_use
from simkit.analysis.least_privilege.change import Change
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.plan.open_paths import policies_of
from simkit.analysis.plan.recorded_writes import writes_of
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.objects import NAMESPACES
from simkit.logic.rbac.binding import Subject
from simkit.meta.identity import Identity
from simkit.meta.names import Key

Use = tuple[Identity, Action]
NONE: Final = 0
"""Nothing that is known needs what is taken: no pod runs as the subject, or a log shows no use."""
PERHAPS: Final = 1
"""Somebody may need it: nothing tells."""
SURELY: Final = 2
"""Something that is used breaks: an installed product needs it, or a log shows its use."""
POLICY_COST: Final = 10.0
"""The cost of an admission policy beside the accounts that it refuses: it stays, and every write passes it."""


class Candidates:
    """The changes that can be made in one snapshot, that of a survey.

    ``earlier`` are those of a snapshot with the same workloads.
    """

    def __init__(
        self,
        survey: Survey,
        keep: frozenset[Subject],
        used: Mapping[Use, int],
        *,
        log: bool,
        earlier: Candidates | None = None,
    ) -> None:
        self.snapshot, self.used, self._log = survey.snapshot, used, log
        self._survey = survey
        self.ways = PossibleRemovals(survey.snapshot, keep, used)
        self._harms: dict[Policy, int] = {}
        if earlier is not None and "_running" in vars(earlier):
            vars(self)["_running"] = vars(earlier)["_running"]

    @cached_property
    def _facts(self) -> ClusterFacts:
        return graph_of(self.snapshot, self._survey.members).facts

    @cached_property
    def _natures(self) -> Natures:
        return Natures(self.snapshot, self._survey)

    @cached_property
    def _running(self) -> frozenset[Subject]:
        return accounts_in_use(self._survey)

    def cost(self, one: Candidate) -> float:
        """The access that a change takes, as ``PossibleRemovals.cost``; the pods or accounts that a level or a policy
        would refuse.
        """
        if isinstance(one, EnforceLevel):
            return 1.0 + len(refused_pods(self.snapshot, one.namespace, one.level))
        if isinstance(one, RefuseAccounts):
            return POLICY_COST + len(one.accounts)
        return self.ways.cost(one)

    def harm(self, one: Candidate) -> int:
        """The harm to what is used: ``NONE``, ``PERHAPS`` or ``SURELY``."""
        if isinstance(one, EnforceLevel):
            return SURELY if refused_pods(self.snapshot, one.namespace, one.level) else NONE
        if isinstance(one, RefuseAccounts):
            return self._harm_of_policy(one)
        if isinstance(one, ReduceToUsage):
            return NONE
        if self._log:
            if next(self.ways.in_use.lost([one]), None) is not None:
                return SURELY
            return PERHAPS if self._natures.of(object_of(one)).name == PRODUCT else NONE
        if self._natures.of(object_of(one)).name in (PRODUCT, SERVER):
            return SURELY
        return PERHAPS if self._running.intersection(self.ways.subjects(one)) else NONE

    def _harm_of_policy(self, one: RefuseAccounts) -> int:
        if self.breaks(one):
            return SURELY
        if not running_as(self.snapshot, one):
            return NONE
        known = self._log and all(each.obj is not None for each in writes_of(one, self.used, self.snapshot))
        return NONE if known else PERHAPS

    def breaks(self, one: Candidate) -> tuple[str, ...]:
        """The uses that would fail: requests of the log, pods that could not be created again."""
        if isinstance(one, EnforceLevel):
            pods = refused_pods(self.snapshot, one.namespace, one.level)
            return tuple(f"pod {one.namespace}/{name} could not be recreated" for name in pods)
        if isinstance(one, ReduceToUsage):
            return ()
        if isinstance(one, RefuseAccounts):
            writes = writes_of(one, self.used, self.snapshot)
            return tuple(sorted(f"{each.use[0].user} {each.use[1]}" for each in writes if each.runs_as(one.accounts)))
        lost = self.ways.in_use.lost([one])
        found = (f"{identity.user or identity.groups[0]} {action}" for identity, action in lost)
        return tuple(sorted(found))

    def of(self, edge: Edge) -> tuple[Policy, ...]:
        """The levels and policies that stop a step and break nothing which is known to be used."""
        return tuple(one for one in policies_of(self._facts, edge) if self._harm_once(one) < SURELY)

    def changes(self, one: Policy) -> tuple[Change, ...]:
        """The objects of a level or a policy."""
        return self.remedy(one).changes

    def _harm_once(self, one: Policy) -> int:
        known = self._harms.get(one)
        if known is None:
            known = self._harms[one] = self.harm(one)
        return known

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
        text = f"{str(one)[0].upper()}{str(one)[1:]}."
        if isinstance(one, EnforceLevel):
            risk = risk_of_level(one.namespace, refused_pods(self.snapshot, one.namespace, one.level))
            change = enforcing(self.snapshot, one.namespace, one.level)
            return Remedy(text, risk, (change,), (), self.snapshot)
        if isinstance(one, RefuseAccounts):
            risk = risk_of_refusal(one, running_as(self.snapshot, one))
            return Remedy(text, risk, policy_changes(one), (one.subject,), self.snapshot)
        changes = changes_of([one], self.snapshot, index_of(self.snapshot), self.ways.in_use)
        subjects = self.ways.subjects(one)
        return Remedy(text, self._risk(one, subjects), changes, subjects, self.snapshot)

    def _risk(self, one: Candidate, subjects: Iterable[Subject]) -> str:
        nature = self._natures.of(object_of(one))
        if nature.name == PRODUCT:
            return f"{nature.product} needs it, and may stop working"
        if self._log:
            lost = len(self.breaks(one))
            return (
                f"it denies {lost} requests that the log shows" if lost else "the log shows no use of what it removes"
            )
        running = [subject for subject in subjects if subject in self._running]
        return f"pods run as {listed(running)} and may need it" if running else ""


def object_of(one: Candidate) -> Key:
    """The object that a change is made to."""
    if isinstance(one, EnforceLevel):
        return Key(NAMESPACES, "", one.namespace)
    if isinstance(one, RefuseAccounts):
        return one.key
    return one.role if isinstance(one, RemovePermissions) else one.binding
