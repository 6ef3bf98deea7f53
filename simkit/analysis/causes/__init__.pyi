from simkit.analysis.causes.cause import Cause, Causes
from simkit.analysis.causes.group import causes, group_causes
from simkit.analysis.escalation.cut.remedy import Remedy
from simkit.analysis.findings.nature import NATURES, Nature, products

__all__ = ["NATURES", "Cause", "Causes", "Nature", "Remedy", "causes", "group_causes", "products"]
