from simkit.analysis.plots.bindinggraph import binding_graph
from simkit.analysis.plots.blast import blast_figure
from simkit.analysis.plots.charts import (
    access_drift,
    access_heat_map,
    causes_bars,
    findings_by_severity,
    operation_curve,
    plan_curve,
    subjects_by_reach,
)
from simkit.analysis.plots.paths import paths_figure
from simkit.analysis.plots.timeline import timeline as version_timeline

__all__ = [
    "access_drift",
    "access_heat_map",
    "binding_graph",
    "blast_figure",
    "causes_bars",
    "findings_by_severity",
    "operation_curve",
    "paths_figure",
    "plan_curve",
    "subjects_by_reach",
    "version_timeline",
]
