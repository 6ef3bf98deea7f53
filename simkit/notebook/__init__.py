"""Widgets and exercises for notebooks, imported on first use.

``explore(cluster)`` shows its objects, ``panel(cluster)`` who can do something, ``what_if_panel(cluster)`` the effect
of changes, ``path_graph(cluster)`` escalation paths as a graph with proofs, ``inspect_request(cluster)`` the handler
chain, and ``timeline_panel()`` API versions; ``exercises`` checks a reader's answers by execution.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simkit.notebook.access_checks import must, must_not
    from simkit.notebook.access_panel import Panel, panel
    from simkit.notebook.answer_change import as_it_is
    from simkit.notebook.answer_effects import objects_beyond
    from simkit.notebook.diagrams import Diagram, chain_diagram, sequence_diagram
    from simkit.notebook.escalation_graph import PathGraph, path_graph
    from simkit.notebook.exercises import Exercise, Guess
    from simkit.notebook.explorer import Explorer, explore
    from simkit.notebook.prediction import Prediction
    from simkit.notebook.release_timeline import TimelinePanel, timeline_panel
    from simkit.notebook.request_inspector import RequestInspector, inspect_request
    from simkit.notebook.state_checks import must_accept, must_hold, must_refuse
    from simkit.notebook.verdict import Note, Verdict, points
    from simkit.notebook.what_if import WhatIfPanel, what_if_panel
    from simkit.snapshot.diff import difference, field_changes

__all__ = [
    "Diagram",
    "Exercise",
    "Explorer",
    "Guess",
    "Note",
    "Panel",
    "PathGraph",
    "Prediction",
    "RequestInspector",
    "TimelinePanel",
    "Verdict",
    "WhatIfPanel",
    "as_it_is",
    "chain_diagram",
    "difference",
    "explore",
    "field_changes",
    "inspect_request",
    "must",
    "must_accept",
    "must_hold",
    "must_not",
    "must_refuse",
    "objects_beyond",
    "panel",
    "path_graph",
    "points",
    "sequence_diagram",
    "timeline_panel",
    "what_if_panel",
]

_HOMES = {
    "Diagram": "simkit.notebook.diagrams",
    "Exercise": "simkit.notebook.exercises",
    "Explorer": "simkit.notebook.explorer",
    "Guess": "simkit.notebook.exercises",
    "Note": "simkit.notebook.verdict",
    "Panel": "simkit.notebook.access_panel",
    "PathGraph": "simkit.notebook.escalation_graph",
    "Prediction": "simkit.notebook.prediction",
    "RequestInspector": "simkit.notebook.request_inspector",
    "TimelinePanel": "simkit.notebook.release_timeline",
    "Verdict": "simkit.notebook.verdict",
    "WhatIfPanel": "simkit.notebook.what_if",
    "as_it_is": "simkit.notebook.answer_change",
    "chain_diagram": "simkit.notebook.diagrams",
    "difference": "simkit.snapshot.diff",
    "field_changes": "simkit.snapshot.diff",
    "objects_beyond": "simkit.notebook.answer_effects",
    "explore": "simkit.notebook.explorer",
    "inspect_request": "simkit.notebook.request_inspector",
    "must": "simkit.notebook.access_checks",
    "must_accept": "simkit.notebook.state_checks",
    "must_hold": "simkit.notebook.state_checks",
    "must_not": "simkit.notebook.access_checks",
    "must_refuse": "simkit.notebook.state_checks",
    "panel": "simkit.notebook.access_panel",
    "path_graph": "simkit.notebook.escalation_graph",
    "points": "simkit.notebook.verdict",
    "sequence_diagram": "simkit.notebook.diagrams",
    "timeline_panel": "simkit.notebook.release_timeline",
    "what_if_panel": "simkit.notebook.what_if",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'simkit.notebook' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
