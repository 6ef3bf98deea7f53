from simkit.analysis.upgrade.timeline import calendar, timeline
from simkit.analysis.upgrade.upgrade_report import UpgradeReport, removal_report, upgrade_report
from simkit.kinds.conversions.convert import Conversion, explain
from simkit.logic.lifecycle import History, check, of_releases, plan, read_history
from simkit.schema.lifecycle import lifecycle_of, spans
from simkit.schema.releases import RELEASES

__all__ = [
    "RELEASES",
    "Conversion",
    "History",
    "UpgradeReport",
    "calendar",
    "check",
    "explain",
    "lifecycle_of",
    "of_releases",
    "plan",
    "read_history",
    "removal_report",
    "spans",
    "timeline",
    "upgrade_report",
]
