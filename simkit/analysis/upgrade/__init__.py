"""Use of API versions that a release removes, and the lives of versions."""

from simkit.analysis.upgrade.removal_report import RemovalReport, removal_report
from simkit.analysis.upgrade.timeline import calendar, timeline
<<<<<<< HEAD
from simkit.kinds.conversions.explain import Conversion, explain
=======
from simkit.analysis.upgrade.upgrade_report import UpgradeReport, upgrade_report
>>>>>>> 05103678 (An upgrade report joins objects, manifests, charts, callers and permissions, and knows changed behaviour beside API versions)
from simkit.logic.lifecycle import History, check, of_releases, plan, read_history
from simkit.schema.lifecycle import lifecycle_of, spans
from simkit.schema.releases import RELEASES

__all__ = [
    "RELEASES",
    "Conversion",
    "History",
    "RemovalReport",
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
