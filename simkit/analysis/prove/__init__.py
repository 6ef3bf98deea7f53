"""Proofs about all requests and all objects, not about samples of them.

Each answer is PASS, FAIL with counterexamples, or UNKNOWN with the reason. Access by roles and bindings is decided
completely, by classes of requests (``classes``) and the weakest identity that a grant reaches (``identities``).
Counterexamples are executed on forks before they are shown.
"""

from simkit.analysis.prove.answer import FAIL, PASS, UNKNOWN, NotReproduced, ProofAnswer
from simkit.analysis.prove.invariants import always, never
from simkit.analysis.prove.new_access import no_new_access

__all__ = ["FAIL", "PASS", "UNKNOWN", "NotReproduced", "ProofAnswer", "always", "never", "no_new_access"]
