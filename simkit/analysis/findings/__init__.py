"""What an auditor should look at: a table of checks, and the audit that makes them."""

from simkit.analysis.findings.audit import CHECKS, Audit, audit, findings
from simkit.analysis.findings.check import Check, Finding, Severity, Skipped
from simkit.analysis.findings.exposure import exposure, reach
from simkit.analysis.findings.power import Power, Right
from simkit.analysis.findings.powers import POWERS

__all__ = [
    "CHECKS",
    "POWERS",
    "Audit",
    "Check",
    "Finding",
    "Power",
    "Right",
    "Severity",
    "Skipped",
    "audit",
    "exposure",
    "findings",
    "reach",
]
