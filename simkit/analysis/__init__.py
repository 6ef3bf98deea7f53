"""Questions about a snapshot, answered as tables and small values. Free functions; nothing here changes anything."""

from simkit.analysis.access.can import AccessDecision, can
from simkit.analysis.access.compare import compare
from simkit.analysis.access.matrix import access_matrix, resource_matrix, subject_matrix
from simkit.analysis.access.permissions import permissions
from simkit.analysis.access.table_graph import findings_graph, table_graph
from simkit.analysis.access.who_can import who_can
from simkit.analysis.audit_log.events import audit_events
from simkit.analysis.findings import Audit, Finding, Severity, audit, exposure, findings, reach
from simkit.analysis.rbac.graph import access_graph
from simkit.analysis.rbac.subject import identity_of, parse_subject
from simkit.analysis.rbac.tables import bindings, roles, rules, subjects

__all__ = [
    "AccessDecision",
    "Audit",
    "Finding",
    "Severity",
    "access_graph",
    "access_matrix",
    "audit",
    "audit_events",
    "bindings",
    "can",
    "compare",
    "exposure",
    "findings",
    "findings_graph",
    "identity_of",
    "parse_subject",
    "permissions",
    "reach",
    "resource_matrix",
    "roles",
    "rules",
    "subject_matrix",
    "subjects",
    "table_graph",
    "who_can",
]
