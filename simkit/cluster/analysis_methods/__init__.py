"""The questions that a cluster can be asked: one method for each free function of ``simkit.analysis``."""

from simkit.cluster.analysis_methods.access import AccessMethods
from simkit.cluster.analysis_methods.changes import ChangesMethods
from simkit.cluster.analysis_methods.escalation import EscalationMethods
from simkit.cluster.analysis_methods.findings import FindingsMethods
from simkit.cluster.analysis_methods.matrices import MatricesMethods
from simkit.cluster.analysis_methods.operations import OperationsMethods
from simkit.cluster.analysis_methods.policies import PoliciesMethods
from simkit.cluster.analysis_methods.tables import TablesMethods
from simkit.cluster.analysis_methods.usage import UsageMethods

__all__ = ["AnalysisMethods"]


class AnalysisMethods(
    AccessMethods,
    MatricesMethods,
    TablesMethods,
    FindingsMethods,
    EscalationMethods,
    ChangesMethods,
    UsageMethods,
    PoliciesMethods,
    OperationsMethods,
):
    """All questions. They are asked of a snapshot; those that execute something do so on forks."""
