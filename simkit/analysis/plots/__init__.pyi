from simkit.analysis.plots.charts import (
    access_drift,
    access_heat_map,
    blast_bars,
    causes_bars,
    findings_by_severity,
    operation_bars,
    plan_bars,
    subjects_by_reach,
    subjects_by_role,
)
from simkit.analysis.plots.paths import paths_figure
from simkit.analysis.plots.style import theme
from simkit.analysis.plots.timeline import access_over_time
from simkit.analysis.plots.timeline import timeline as version_timeline

__all__ = [
    "access_drift",
    "access_heat_map",
    "access_over_time",
    "blast_bars",
    "causes_bars",
    "findings_by_severity",
    "operation_bars",
    "paths_figure",
    "plan_bars",
    "subjects_by_reach",
    "subjects_by_role",
    "theme",
    "version_timeline",
]
