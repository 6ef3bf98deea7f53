from simkit.analysis.prove.answer import FAIL, PASS, UNKNOWN, NotReproduced, ProofAnswer
from simkit.analysis.prove.closing_policy import ClosingPolicy, closing_policy
from simkit.analysis.prove.invariants import always, never
from simkit.analysis.prove.new_access import no_new_access
from simkit.analysis.prove.policies import admits, contradictions, implies

__all__ = [
    "FAIL",
    "PASS",
    "UNKNOWN",
    "ClosingPolicy",
    "NotReproduced",
    "ProofAnswer",
    "admits",
    "always",
    "closing_policy",
    "contradictions",
    "implies",
    "never",
    "no_new_access",
]
