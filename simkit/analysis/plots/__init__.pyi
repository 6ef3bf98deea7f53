from simkit.analysis.plots.bars import findings_by_severity, subjects_by_reach
from simkit.analysis.plots.bindinggraph import binding_graph
from simkit.analysis.plots.blast import blast_figure
from simkit.analysis.plots.causes import causes_bars
from simkit.analysis.plots.drift import access_drift
from simkit.analysis.plots.heat import access_heat_map
from simkit.analysis.plots.operation import operation_curve
from simkit.analysis.plots.paths import paths_figure
from simkit.analysis.plots.plan import plan_curve
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
