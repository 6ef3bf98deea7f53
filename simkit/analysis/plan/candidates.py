"""Changes that a plan may propose: what each does, what it costs, and which recorded writes and pods it may break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from simkit.analysis.escalation.cut.cutter import Candidate, Policy
from simkit.analysis.escalation.cut.policies import EnforceLevel, RefuseAccounts, sentence
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.escalation.cut.removal import PossibleRemovals, changes_of
from simkit.analysis.escalation.cut.removal_kinds import ReduceToUsage, RemovePermissions
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.matching import Edge
from simkit.analysis.escalation.find.pod_specs import POD_SPECS, account_named
from simkit.analysis.findings.nature import PRODUCT, SERVER, Natures
from simkit.analysis.findings.survey import Survey, listed
from simkit.analysis.findings.workloads import accounts_in_use
from simkit.analysis.least_privilege.recorded_access import Action, Use
from simkit.analysis.plan.open_paths import policies_of
from simkit.analysis.rbac.index import index_of
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.rbac.binding import GROUP, Subject
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.seams.snapshot import Sandbox, Snapshot

_WRITES: Final = ("create", "update", "patch")
_OF_SERVERS: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "ownerReferences", "selfLink")
_PATCH: Final = "application/merge-patch+json"


class RecordedWrite(NamedTuple):
    """A write that a log shows, with the object as it is now; None where it is not there, or has no recorded name."""

    use: Use
    obj: Object | None

    def runs_as(self, accounts: Iterable[str]) -> bool:
        """True if the pods of the object run as one of some accounts."""
        resource = GroupResource(self.use[1].api_group, self.use[1].resource)
        return self.obj is not None and account_named(self.obj, POD_SPECS[resource]) in accounts


def writes_of(one: RefuseAccounts, used: Iterable[Use], snapshot: Snapshot) -> Iterator[RecordedWrite]:
    """The writes of a subject that an admission policy looks at."""
    for use in used:
        identity, action = use
        concerned = (
            one.subject.name in identity.groups
            if one.subject.kind == GROUP
            else identity.user == identity_of(one.subject).user
        )
        if concerned and action.namespace == one.namespace and makes_pods(action):
            yield RecordedWrite(use, written(action, snapshot))


def makes_pods(action: Action) -> bool:
    """True if an action writes a pod, or what makes pods."""
    resource = GroupResource(action.api_group, action.resource)
    return resource in POD_SPECS and action.verb in _WRITES and not action.subresource


def written(action: Action, snapshot: Snapshot) -> Object | None:
    """The object that an action wrote, as it is now."""
    resource = GroupResource(action.api_group, action.resource)
    if not action.name or resource not in snapshot.captured():
        return None
    return snapshot.get(resource, action.name, action.namespace)


def passes(sandbox: Sandbox, use: Use, obj: Object) -> bool:
    """True if a cluster takes the same write of an object again, as a trial; a creation under another name."""
    identity, action = use
    api = f"/apis/{action.api_group}/v1" if action.api_group else "/api/v1"
    path = f"{api}/namespaces/{action.namespace}/{action.resource}"
    metadata: Mapping[str, Any] = obj.get("metadata") or {}
    body = {**obj, "metadata": {name: value for name, value in metadata.items() if name not in _OF_SERVERS}}
    if action.verb == "create":
        body["metadata"]["name"] = f"{action.name[:200]}-again"
        request = Request.of("POST", f"{path}?dryRun=All", body)
    elif action.verb == "update":
        request = Request.of("PUT", f"{path}/{action.name}?dryRun=All", body)
    else:
        request = Request.of("PATCH", f"{path}/{action.name}?dryRun=All", {}, content_type=_PATCH)
    return sandbox.perform(request, identity=identity).succeeded


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
            return 1.0 + len(one.refused(self.snapshot))
        if isinstance(one, RefuseAccounts):
            return POLICY_COST + len(one.accounts)
        return self.ways.cost(one)

    def harm(self, one: Candidate) -> int:
        """The harm to what is used: ``NONE``, ``PERHAPS`` or ``SURELY``."""
        if isinstance(one, EnforceLevel):
            return SURELY if one.refused(self.snapshot) else NONE
        if isinstance(one, RefuseAccounts):
            return self._harm_of_policy(one)
        if isinstance(one, ReduceToUsage):
            return NONE
        if self._log:
            if next(self.ways.in_use.lost([one]), None) is not None:
                return SURELY
            return PERHAPS if self._natures.of(one.key).name == PRODUCT else NONE
        if self._natures.of(one.key).name in (PRODUCT, SERVER):
            return SURELY
        return PERHAPS if self._running.intersection(self.ways.subjects(one)) else NONE

    def _harm_of_policy(self, one: RefuseAccounts) -> int:
        if self.breaks(one):
            return SURELY
        if not one.running(self.snapshot):
            return NONE
        known = self._log and all(each.obj is not None for each in writes_of(one, self.used, self.snapshot))
        return NONE if known else PERHAPS

    def breaks(self, one: Candidate) -> tuple[str, ...]:
        """The uses that would fail: requests of the log, pods that could not be created again."""
        if isinstance(one, EnforceLevel):
            pods = one.refused(self.snapshot)
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
        found = tuple(policies_of(self._facts, edge))
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
        if isinstance(one, Policy):
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
        running = [subject for subject in subjects if subject in self._running]
        return f"pods run as {listed(running)} and may need it" if running else ""
