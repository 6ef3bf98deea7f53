from simkit.analysis.prove.answer import FAIL, PASS, UNKNOWN, NotReproduced, ProofAnswer
from simkit.analysis.prove.invariants import always, never
from simkit.analysis.prove.new_access import no_new_access

__all__ = ["FAIL", "PASS", "UNKNOWN", "NotReproduced", "ProofAnswer", "always", "never", "no_new_access"]
