from simkit.notebook.access_checks import must, must_accept, must_hold, must_not, must_refuse
from simkit.notebook.access_panel import Panel, panel
from simkit.notebook.answer_effects import objects_beyond
from simkit.notebook.diagrams import Diagram, chain_diagram, sequence_diagram
from simkit.notebook.escalation_graph import PathGraph, path_graph
from simkit.notebook.exercises import Exercise, Guess, Prediction
from simkit.notebook.explorer import Explorer, explore
from simkit.notebook.learner_code import as_it_is
from simkit.notebook.request_inspector import RequestInspector, inspect_request
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
    "what_if_panel",
]
