"""Privilege escalation: paths to a goal, their proof by execution, and the cheapest changes that close them.

Four packages, each of which imports only those before it: ``table`` (primitives and risky permissions), ``find`` (the
escalation graph and its paths), ``prove`` (paths executed on a fork) and ``cut`` (changes that close paths).

To add a primitive:

1. Add an entry to ``datasets/escalation/primitives.yaml``, with a source; README.md beside it explains the fields.
2. Where an existing word of ``condition`` or ``outcome`` does not fit, add one to ``find/primitive_conditions.py`` or
   ``find/outcomes.py``.
3. Add a scene with somebody who has it to ``tests/analysis/escalation/probes.py``, and correct the number of rows in
   ``tests/analysis/escalation/test_primitives.py``.

A proof needs no code where the requests of the entry use the words that ``prove/variables.py`` knows.
"""

from simkit.analysis.escalation.cut.minimum_cut import cut
from simkit.analysis.escalation.cut.result import Cut
from simkit.analysis.escalation.find.blast_radius import BlastRadius, blast_radius
from simkit.analysis.escalation.find.goal import (
    ALL_SECRETS,
    CLUSTER,
    NODE,
    Goal,
    impact_goal,
    namespace_goal,
    parse_goal,
    permission_goal,
    subject_goal,
)
from simkit.analysis.escalation.find.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.find.path import Path, Step
from simkit.analysis.escalation.find.path_comparison import compare_paths
from simkit.analysis.escalation.find.queries import (
    Escalations,
    anyone,
    escalations,
    next_steps,
    outsiders,
)
from simkit.analysis.escalation.prove.proof import Proof, Proofs, prove
from simkit.analysis.escalation.prove.risky_permissions import risky_permissions
from simkit.analysis.escalation.table.primitive import Primitive, primitives

__all__ = [
    "ALL_SECRETS",
    "CLUSTER",
    "NODE",
    "BlastRadius",
    "Cut",
    "EscalationGraph",
    "Escalations",
    "Goal",
    "Path",
    "Primitive",
    "Proof",
    "Proofs",
    "Step",
    "anyone",
    "blast_radius",
    "compare_paths",
    "cut",
    "escalations",
    "graph_of",
    "impact_goal",
    "namespace_goal",
    "next_steps",
    "outsiders",
    "parse_goal",
    "permission_goal",
    "primitives",
    "prove",
    "risky_permissions",
    "subject_goal",
]
