from simkit.analysis.plan.choice import remediation_plan
from simkit.analysis.plan.result import PlanStep, PlanVerified, RemediationPlan

__all__ = ["PlanStep", "PlanVerified", "RemediationPlan", "remediation_plan"]
