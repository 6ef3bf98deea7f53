"""Figures of what the analyses find. They take the tables, not the snapshot, and return matplotlib figures."""

from simkit.analysis.plots.bars import findings_by_severity, subjects_by_reach
from simkit.analysis.plots.bindinggraph import binding_graph
from simkit.analysis.plots.drift import access_drift
from simkit.analysis.plots.heat import access_heat_map

__all__ = ["access_drift", "access_heat_map", "binding_graph", "findings_by_severity", "subjects_by_reach"]
