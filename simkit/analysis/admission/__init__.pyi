from simkit.analysis.admission.cel import cel
from simkit.analysis.admission.policies import PolicyEffect, policy_coverage, policy_effect, webhook_coverage
from simkit.analysis.admission.proof import PolicyProof, prove

__all__ = [
    "PolicyEffect",
    "PolicyProof",
    "cel",
    "policy_coverage",
    "policy_effect",
    "prove",
    "webhook_coverage",
]
