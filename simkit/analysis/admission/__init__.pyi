from simkit.analysis.admission.cel import cel
from simkit.analysis.admission.policies import PolicyEffect, policy_coverage, policy_effect
from simkit.analysis.admission.proof import PolicyProof, prove
from simkit.analysis.admission.webhooks import webhook_coverage

__all__ = [
    "PolicyEffect",
    "PolicyProof",
    "cel",
    "policy_coverage",
    "policy_effect",
    "prove",
    "webhook_coverage",
]
