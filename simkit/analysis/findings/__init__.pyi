from simkit.analysis.escalation.table.risky_permission import RiskyPermission, risky_permission_table
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.findings.audit import CHECKS, Audit, audit, findings
from simkit.analysis.findings.check import Check, Finding, Skipped
from simkit.analysis.findings.exposure import exposure, reach

__all__ = [
    "CHECKS",
    "Audit",
    "Check",
    "Finding",
    "RiskyPermission",
    "Severity",
    "Skipped",
    "audit",
    "exposure",
    "findings",
    "reach",
    "risky_permission_table",
]
