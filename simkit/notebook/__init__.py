"""Widgets and exercises for notebooks, imported on first use.

``panel(cluster)`` asks and tries; ``exercises`` checks a reader's answers by execution.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simkit.notebook.access_checks import must, must_not
    from simkit.notebook.access_panel import Panel, panel
    from simkit.notebook.diagrams import Diagram, chain_diagram, sequence_diagram
    from simkit.notebook.exercises import Exercise, Guess
    from simkit.notebook.prediction import Prediction
    from simkit.notebook.state_checks import must_accept, must_hold, must_refuse
    from simkit.notebook.verdict import Note, Verdict, points

__all__ = [
    "Diagram",
    "Exercise",
    "Guess",
    "Note",
    "Panel",
    "Prediction",
    "Verdict",
    "chain_diagram",
    "must",
    "must_accept",
    "must_hold",
    "must_not",
    "must_refuse",
    "panel",
    "points",
    "sequence_diagram",
]

_HOMES = {
    "Diagram": "simkit.notebook.diagrams",
    "chain_diagram": "simkit.notebook.diagrams",
    "sequence_diagram": "simkit.notebook.diagrams",
    "Prediction": "simkit.notebook.prediction",
    "must_accept": "simkit.notebook.state_checks",
    "must_hold": "simkit.notebook.state_checks",
    "must_refuse": "simkit.notebook.state_checks",
    "Note": "simkit.notebook.verdict",
    "points": "simkit.notebook.verdict",
    "Exercise": "simkit.notebook.exercises",
    "Guess": "simkit.notebook.exercises",
    "Verdict": "simkit.notebook.verdict",
    "must": "simkit.notebook.access_checks",
    "must_not": "simkit.notebook.access_checks",
    "Panel": "simkit.notebook.access_panel",
    "panel": "simkit.notebook.access_panel",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'simkit.notebook' has no attribute {name!r}")
    return getattr(import_module(home), name)
