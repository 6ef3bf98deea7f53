from simkit.analysis.plan.choice import plan
from simkit.analysis.plan.result import Plan, PlanStep
from simkit.analysis.plan.verification import PlanVerified

__all__ = ["Plan", "PlanStep", "PlanVerified", "plan"]
