"""What a cluster can be asked: each question forwards to a free function of simkit.analysis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from simkit.cluster.manifests import manifests
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.snapshot.protocol import Snapshot

if TYPE_CHECKING:
    from pandas import DataFrame

    from simkit.analysis.escalation import BlastRadius, Cut, Escalations
    from simkit.analysis.least_privilege import Proposal
    from simkit.snapshot.sources import Source


class AnalysisMethods(ABC):
    """The analyses of a cluster, which are of its snapshot; those that execute something do so on forks of it."""

    @property
    @abstractmethod
    def release(self) -> str:
        """The release that it behaves as."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The objects as they are now."""

    @abstractmethod
    def fork(self, *, release: str | None = None) -> Self:
        """An independent copy."""

    @abstractmethod
    def with_apis_disabled(self, *elements: str) -> Self:
        """A fork that no longer serves some versions, groups or resources."""

    @abstractmethod
    def audit_log(self) -> list[dict[str, Any]]:
        """The audit events so far."""

    @abstractmethod
    def perform(self, request: Request, *, identity: Identity | None = None) -> Response:
        """The answer to a request."""

    def who_can(self, verb: str, resource: str = "", **more: Any) -> DataFrame:
        """Who may do something: see ``simkit.analysis.who_can``."""
        from simkit.analysis.access.who_can import who_can

        return who_can(self.snapshot(), verb, resource, **more)

    def can(self, subject: str, verb: str, resource: str = "", **more: Any) -> Any:
        """Whether somebody may do something, and why: see ``simkit.analysis.can``."""
        from simkit.analysis.access.can import can

        return can(self.snapshot(), subject, verb, resource, **more)

    def permissions(self, subject: str, **more: Any) -> DataFrame:
        """All that somebody may do: see ``simkit.analysis.permissions``."""
        from simkit.analysis.access.permissions import permissions

        return permissions(self.snapshot(), subject, **more)

    def findings(self, **more: Any) -> DataFrame:
        """What an auditor should look at: see ``simkit.analysis.findings``."""
        from simkit.analysis.findings import findings

        return findings(self.snapshot(), **more)

    def escalations(self, subject: Any = None, **more: Any) -> Escalations:
        """Who could get more than they have; ``.prove()`` executes it: see ``simkit.analysis.escalation``."""
        from simkit.analysis.escalation import escalations

        return escalations(self.snapshot(), subject, sandbox=self, **more)

    def blast_radius(self, subject: str, **more: Any) -> BlastRadius:
        """All that somebody, or code in a pod, gets to; ``.plot()``: see ``simkit.analysis.escalation``."""
        from simkit.analysis.escalation import blast_radius

        return blast_radius(self.snapshot(), subject, **more)

    def risky_permissions(self, subject: Any = None, **more: Any) -> DataFrame:
        """What a subject's grants amount to, each tried on a fork: see ``escalation.risky_permissions``."""
        from simkit.analysis.escalation import risky_permissions

        return risky_permissions(self.snapshot(), subject, sandbox=self, **more)

    def cut(self, goal: str = "cluster-admin", **more: Any) -> Cut:
        """The cheapest changes that close all paths to a goal; ``.verify()`` makes them on a fork."""
        from simkit.analysis.escalation import cut

        return cut(self.snapshot(), goal, sandbox=self, **more)

    def least_privilege(self, log: Any = None, subjects: Any = None, **more: Any) -> Proposal:
        """Roles that allow what an audit log, by default the cluster's own, shows in use; ``.verify()`` replays it."""
        from simkit.analysis.least_privilege import least_privilege

        used = self.audit_log() if log is None else log
        return least_privilege(self.snapshot(), used, subjects, sandbox=self, **more)

    def removal_report(self, *elements: str, **more: Any) -> Any:
        """Who would notice if versions went, or at another release: see ``simkit.analysis.upgrade.removal_report``."""
        from simkit.analysis.upgrade.removal_report import removal_report

        return removal_report(self, *elements, **more)

    def policy_effect(self, policies: Source | None = None, **more: Any) -> Any:
        """What admission policies would do to the objects: see ``simkit.analysis.admission.policies``."""
        from simkit.analysis.admission.policies import policy_effect

        given = None if policies is None else manifests(policies, self.release)
        return policy_effect(self.snapshot(), given, **more)

    def policy_coverage(self, policies: Source | None = None) -> DataFrame:
        """Which admission policies would see which objects: see ``simkit.analysis.admission.policies``."""
        from simkit.analysis.admission.policies import policy_coverage

        return policy_coverage(self.snapshot(), None if policies is None else manifests(policies, self.release))

    def webhook_coverage(self) -> DataFrame:
        """Which webhooks would be asked about which objects: see ``simkit.analysis.admission.webhooks``."""
        from simkit.analysis.admission.webhooks import webhook_coverage

        return webhook_coverage(self.snapshot())

    def expression_costs(self) -> DataFrame:
        """What every expression of policies, webhooks and custom resources costs."""
        from simkit.analysis.admission.expression_costs import expression_costs

        return expression_costs(self.snapshot())
