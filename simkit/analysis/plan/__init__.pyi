from simkit.analysis.plan.choice import remediation_plan
from simkit.analysis.plan.result import PlanStep, RemediationPlan
from simkit.analysis.plan.verification import PlanVerified

__all__ = ["PlanStep", "PlanVerified", "RemediationPlan", "remediation_plan"]
