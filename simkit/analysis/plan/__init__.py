"""Plans: which changes to make first, what each closes and costs, and what is left after it.

``candidates`` are the changes that can be made, ``open_paths`` counts who still gets where, ``greedy`` chooses, and
``plan`` answers the question; ``verification`` makes the changes one by one on a fork.
"""

from simkit.analysis.plan.choice import plan
from simkit.analysis.plan.result import Plan, PlanStep
from simkit.analysis.plan.verification import PlanVerified

__all__ = ["Plan", "PlanStep", "PlanVerified", "plan"]
