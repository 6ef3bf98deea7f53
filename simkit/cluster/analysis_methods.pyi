# Written by tools/write_analysis_methods.py out of simkit.analysis.
from abc import ABCMeta
from collections.abc import Iterable, Sequence
from pathlib import Path

import networkx as nx
import pandas as pd

from simkit.analysis.access.can import AccessDecision
from simkit.analysis.access.compare import CompareEach
from simkit.analysis.access.expectations import Outcomes, Suite
from simkit.analysis.admission.policies import PolicyEffect, Team
from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.causes.cause import Causes
from simkit.analysis.escalation.cut.minimum_cut import Cut
from simkit.analysis.escalation.find.blast_radius import BlastRadius
from simkit.analysis.escalation.find.goal import Goal
from simkit.analysis.escalation.find.path import Path as EscalationPath
from simkit.analysis.escalation.find.queries import Escalations, Ways
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.audit import Audit, Each
from simkit.analysis.findings.check import Check, Finding
from simkit.analysis.least_privilege.proposal import Proposal
from simkit.analysis.least_privilege.recorded_access import AccessRequest
from simkit.analysis.least_privilege.roles import Names
from simkit.analysis.least_privilege.usage import Usage
from simkit.analysis.manifest_plan.result import ManifestPlan
from simkit.analysis.operations.result import Operation
from simkit.analysis.plan.result import RemediationPlan
from simkit.analysis.prove.answer import ProofAnswer
from simkit.analysis.prove.closing_policy import ClosingPolicy
from simkit.analysis.prove.policies import PolicySource
from simkit.analysis.rbac.subject import Members
from simkit.analysis.upgrade.requests import Metrics
from simkit.analysis.upgrade.upgrade_report import UpgradeReport
from simkit.cluster.question import AnalysedCluster
from simkit.logic.lifecycle import History
from simkit.logic.rbac.binding import Subject
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.identity import Identity
from simkit.meta.objects import Object
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.sources import Source

class AnalysisMethods(AnalysedCluster, metaclass=ABCMeta):
    def who_can(
        self,
        verb: str,
        resource: str = "",
        *,
        subresource: str = "",
        name: str | None = "",
        namespace: str | None = None,
        url: str = "",
        api_group: str | None = None,
        expand_groups: bool = False,
        members: Members | None = None,
        max_hops: int | None = None,
    ) -> pd.DataFrame: ...
    def can(
        self,
        subject: Subject | Identity | str,
        verb: str,
        resource: str = "",
        *,
        subresource: str = "",
        name: str = "",
        namespace: str | None = None,
        url: str = "",
        api_group: str | None = None,
        groups: Iterable[str] = (),
        members: Members | None = None,
    ) -> AccessDecision: ...
    def permissions(
        self, subject: Subject | str, *, namespace: str | None = None, members: Members | None = None
    ) -> pd.DataFrame: ...
    def compare(
        self,
        *,
        before: Snapshot | Sandbox | None = None,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        namespace: str | None = None,
        each: CompareEach = "change",
    ) -> pd.DataFrame: ...
    def check(self, suite: Suite | str | Path) -> Outcomes: ...
    def access_matrix(
        self,
        subjects: Subject | str | Iterable[Subject | str] | None = None,
        *,
        resources: str | Iterable[str] | None = None,
        verbs: str | Iterable[str] = (
            "get",
            "list",
            "watch",
            "create",
            "update",
            "patch",
            "delete",
            "deletecollection",
        ),
        namespaces: Sequence[str] | None = None,
        members: Members | None = None,
    ) -> pd.DataFrame: ...
    def subjects(self) -> pd.DataFrame: ...
    def bindings(self) -> pd.DataFrame: ...
    def roles(self) -> pd.DataFrame: ...
    def rules(self) -> pd.DataFrame: ...
    def access_graph(self, *, rules: bool = True, namespace: str | None = None) -> nx.MultiDiGraph[str]: ...
    def audit(
        self,
        *,
        include_defaults: bool = False,
        checks: Iterable[str] | None = None,
        members: Members | None = None,
        managed: Iterable[str] = (),
        rules: Iterable[Check] = (),
        severity: Severity | str | None = None,
        namespace: str | None = None,
        framework: str | None = None,
    ) -> Audit: ...
    def findings(
        self,
        *,
        include_defaults: bool = False,
        checks: Iterable[str] | None = None,
        members: Members | None = None,
        managed: Iterable[str] = (),
        rules: Iterable[Check] = (),
        severity: Severity | str | None = None,
        namespace: str | None = None,
        framework: str | None = None,
        each: Each = "finding",
    ) -> pd.DataFrame: ...
    def causes(
        self,
        *,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        include_defaults: bool = False,
        members: Members | None = None,
        managed: Iterable[str] = (),
    ) -> Causes: ...
    def exposure(self, *, include_defaults: bool = False, members: Members | None = None) -> pd.DataFrame: ...
    def reach(self, *, include_defaults: bool = False, members: Members | None = None) -> pd.DataFrame: ...
    def never(
        self,
        goal: Goal | str,
        *,
        except_: Iterable[str] | str = (),
        within_hops: int = 0,
        members: Members | None = None,
    ) -> ProofAnswer: ...
    def always(self, goal: Goal | str, *, by: Iterable[str] | str = ()) -> ProofAnswer: ...
    def admits(
        self, constraint: str, *, policies: Iterable[PolicySource] | None = None, resource: str = "pods"
    ) -> ProofAnswer: ...
    def contradictions(self, policies: Iterable[PolicySource] | None = None, *, resource: str = "") -> ProofAnswer: ...
    def implies(self, first: PolicySource, second: PolicySource, *, resource: str = "") -> ProofAnswer: ...
    def closing_policy(self, path: EscalationPath | Finding, *, audit_log: AuditLog | None = None) -> ClosingPolicy: ...
    def no_new_access(
        self, *, before: Snapshot | Sandbox | None = None, within_hops: int = 0, members: Members | None = None
    ) -> ProofAnswer: ...
    def escalations(
        self,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        *,
        ways: Ways = "best",
        max_hops: int | None = None,
        direct: bool = False,
        include_defaults: bool = False,
        members: Members | None = None,
    ) -> Escalations: ...
    def next_steps(self, subject: Subject | str, *, members: Members | None = None) -> Escalations: ...
    def blast_radius(
        self, subject: Subject | str, *, max_hops: int | None = None, members: Members | None = None
    ) -> BlastRadius: ...
    def compare_paths(
        self,
        *,
        before: Snapshot | Sandbox | None = None,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        members: Members | None = None,
    ) -> pd.DataFrame: ...
    def risky_permissions(
        self, subject: Subject | str | Iterable[Subject | str] | None = None, *, members: Members | None = None
    ) -> pd.DataFrame: ...
    def cut(
        self,
        goal: Goal | str = "cluster-admin",
        *,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        audit_log: AuditLog | None = None,
        keep: Iterable[Subject | str] = (),
        direct: bool = False,
        members: Members | None = None,
    ) -> Cut: ...
    def remediation_plan(
        self,
        *,
        goal: Goal | str | Iterable[Goal | str] = ("cluster-admin", "all secrets", "a node"),
        best: int | None = 5,
        free: bool = False,
        subject: Subject | str | Iterable[Subject | str] | None = None,
        audit_log: AuditLog | None = None,
        keep: Iterable[Subject | str] = (),
        members: Members | None = None,
    ) -> RemediationPlan: ...
    def plan(
        self,
        manifests: Source | Dump,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        configured: Source | Dump | None = None,
        prune: str = "",
        identity: Identity | None = None,
        expectations: Suite | str | Path | None = None,
        members: Members | None = None,
    ) -> ManifestPlan: ...
    def usage(self, audit_log: AuditLog | Iterable[AccessRequest]) -> Usage: ...
    def unused_grants(self, used: Usage) -> pd.DataFrame: ...
    def refused_requests(self, audit_log: AuditLog, *, before: Snapshot | Sandbox | None = None) -> pd.DataFrame: ...
    def least_privilege(
        self,
        audit_log: AuditLog | Iterable[AccessRequest],
        subject: Subject | str | Iterable[Subject | str] | None = None,
        *,
        names: Names = "repeated",
        reuse: bool = True,
    ) -> Proposal: ...
    def removal_report(
        self, *elements: str, release: str | None = None, audit_log: AuditLog | None = None
    ) -> UpgradeReport: ...
    def upgrade_report(
        self,
        to: str,
        *,
        since: str | None = None,
        audit_log: AuditLog | None = None,
        metrics: Metrics | None = None,
        manifests: Source | None = None,
        validate: bool = False,
        requests_since: str = "",
    ) -> UpgradeReport: ...
    def timeline(
        self,
        api_groups: Iterable[str] | None = None,
        *,
        kinds: Iterable[str] = (),
        history: History | None = None,
        audit_log: AuditLog | None = None,
    ) -> pd.DataFrame: ...
    def policy_effect(
        self,
        policies: Source | None = None,
        *,
        team: str | Team = "team",
        operations: Sequence[str] = ("CREATE", "UPDATE"),
        identity: Identity | None = None,
    ) -> PolicyEffect: ...
    def policy_coverage(self, policies: Source | None = None) -> pd.DataFrame: ...
    def webhook_coverage(self) -> pd.DataFrame: ...
    def drain_nodes(
        self, nodes: str | Sequence[str] = (), *, zone: str = "", timeout: str = "10m", ready_after: str = "10s"
    ) -> Operation: ...
    def lose_nodes(
        self, nodes: str | Sequence[str] = (), *, zone: str = "", minutes: float = 10, ready_after: str = "10s"
    ) -> Operation: ...
    def roll_out(
        self,
        workload: str,
        namespace: str = "default",
        *,
        change: Object | None = None,
        image: str = "",
        timeout: str = "10m",
        ready_after: str = "10s",
    ) -> Operation: ...
