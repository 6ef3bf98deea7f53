"""Findings: a table of checks, and the audit that makes them.

To add a permission that is reported wherever it is granted, add an entry to
``datasets/escalation/risky_permissions.yaml`` that names the primitives it leads to, and a case to
``tests/analysis/test_findings.py``. To add another check, write a
function of a ``Survey`` and an entry of the table in ``wide``, ``workloads``, ``loose`` or ``drift``.
"""

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
