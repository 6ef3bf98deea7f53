from simkit.analysis.escalation.cut.minimum_cut import Cut, cut
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
from simkit.analysis.escalation.find.queries import Escalations, anyone, escalations, next_steps
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
    "parse_goal",
    "permission_goal",
    "primitives",
    "prove",
    "risky_permissions",
    "subject_goal",
]
