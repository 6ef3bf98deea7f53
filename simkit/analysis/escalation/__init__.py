"""How somebody could get more than they have: found as paths, proven by execution, cut where it costs least."""

from simkit.analysis.escalation.closure import (
    BlastRadius,
    Escalations,
    anyone,
    blast_radius,
    compare_paths,
    escalations,
    moves,
    outsiders,
    within_hops,
)
from simkit.analysis.escalation.cut import Cut, cut
from simkit.analysis.escalation.goal import (
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
from simkit.analysis.escalation.graph import EscalationGraph, graph_of
from simkit.analysis.escalation.path import Path, Step
from simkit.analysis.escalation.powers import powers
from simkit.analysis.escalation.primitive import Primitive, primitives
from simkit.analysis.escalation.proof import Proof, Proofs, prove

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
    "moves",
    "namespace_goal",
    "outsiders",
    "parse_goal",
    "permission_goal",
    "powers",
    "primitives",
    "prove",
    "subject_goal",
    "within_hops",
]
