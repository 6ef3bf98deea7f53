from simkit.analysis.access.can import AccessDecision, can
from simkit.analysis.access.compare import compare
from simkit.analysis.access.expectations import Outcome, Outcomes, Suite, check, read_suite
from simkit.analysis.access.matrix import access_matrix
from simkit.analysis.access.permissions import permissions
from simkit.analysis.access.who_can import who_can
from simkit.analysis.admission.cel import cel
from simkit.analysis.admission.policies import PolicyEffect, policy_coverage, policy_effect, webhook_coverage
from simkit.analysis.admission.proof import PolicyProof
from simkit.analysis.audit_log.events import audit_events
from simkit.analysis.causes import Cause, Causes, Remedy, causes
from simkit.analysis.escalation import (
    BlastRadius,
    Cut,
    Escalations,
    Goal,
    Path,
    Proof,
    Proofs,
    blast_radius,
    compare_paths,
    cut,
    escalations,
    next_steps,
    parse_goal,
    permission_goal,
    prove,
    risky_permissions,
)
from simkit.analysis.findings import Audit, Finding, Severity, audit, exposure, findings, reach
from simkit.analysis.findings.custom import read_rules
from simkit.analysis.graph_files import opengraph, write_graph
from simkit.analysis.history.access_history import AccessHistory
from simkit.analysis.history.reconstruction import history
from simkit.analysis.least_privilege import (
    Proposal,
    Usage,
    apply,
    least_privilege,
    minimal_rules,
    read_access_requests,
    refused_requests,
    unused_grants,
    usage,
)
from simkit.analysis.manifest_plan.planning import plan
from simkit.analysis.manifest_plan.result import ManifestPlan
from simkit.analysis.operations.rehearsals import drain_nodes, lose_nodes, roll_out
from simkit.analysis.operations.result import Operation
from simkit.analysis.plan import PlanStep, PlanVerified, RemediationPlan, remediation_plan
from simkit.analysis.prove import (
    ClosingPolicy,
    ProofAnswer,
    admits,
    always,
    closing_policy,
    contradictions,
    implies,
    never,
    no_new_access,
)
from simkit.analysis.rbac.subject import identity_of, members_of_files, parse_subject, text_of
from simkit.analysis.rbac.tables import access_graph, bindings, roles, rules, subject_parts, subjects
from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.result import Evidence, JsonValue, Result, ResultDict
from simkit.analysis.upgrade.definition_diff import DefinitionDiff, definition_changes
from simkit.analysis.upgrade.migration import Migration, migrate
from simkit.analysis.upgrade.timeline import calendar, timeline
from simkit.analysis.upgrade.upgrade_report import UpgradeReport, removal_report, upgrade_report

__all__ = [
    "AccessDecision",
    "AccessHistory",
    "Audit",
    "BlastRadius",
    "Cause",
    "Causes",
    "ClosingPolicy",
    "Cut",
    "DefinitionDiff",
    "Escalations",
    "Evidence",
    "Finding",
    "Goal",
    "JsonValue",
    "ManifestPlan",
    "Migration",
    "Operation",
    "Outcome",
    "Outcomes",
    "Path",
    "PlanStep",
    "PlanVerified",
    "PolicyEffect",
    "PolicyProof",
    "Proof",
    "ProofAnswer",
    "Proofs",
    "Proposal",
    "ReadableFrame",
    "RemediationPlan",
    "Remedy",
    "Result",
    "ResultDict",
    "Severity",
    "Suite",
    "UpgradeReport",
    "Usage",
    "access_graph",
    "access_matrix",
    "admits",
    "always",
    "apply",
    "audit",
    "audit_events",
    "bindings",
    "blast_radius",
    "calendar",
    "can",
    "causes",
    "cel",
    "check",
    "closing_policy",
    "compare",
    "compare_paths",
    "contradictions",
    "cut",
    "definition_changes",
    "drain_nodes",
    "escalations",
    "exposure",
    "findings",
    "history",
    "identity_of",
    "implies",
    "least_privilege",
    "lose_nodes",
    "members_of_files",
    "migrate",
    "minimal_rules",
    "never",
    "next_steps",
    "no_new_access",
    "opengraph",
    "parse_goal",
    "parse_subject",
    "permission_goal",
    "permissions",
    "plan",
    "policy_coverage",
    "policy_effect",
    "prove",
    "reach",
    "read_access_requests",
    "read_rules",
    "read_suite",
    "refused_requests",
    "remediation_plan",
    "removal_report",
    "risky_permissions",
    "roles",
    "roll_out",
    "rules",
    "subject_parts",
    "subjects",
    "text_of",
    "timeline",
    "unused_grants",
    "upgrade_report",
    "usage",
    "webhook_coverage",
    "who_can",
    "write_graph",
]
