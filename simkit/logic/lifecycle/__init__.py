"""The deprecation policy as code: violations of a history, and the earliest compliant schedule.

The policy is Kubernetes' own: https://kubernetes.io/docs/reference/using-api/deprecation-policy/, rules 1 to 11b.
"""

from simkit.logic.lifecycle.calendar import Calendar, Release, Track, track_of
from simkit.logic.lifecycle.document import History
from simkit.logic.lifecycle.findings import Finding
from simkit.logic.lifecycle.plan import Plan, Step, plan
from simkit.logic.lifecycle.policy import EDITIONS, check
from simkit.logic.lifecycle.reading import read_history
from simkit.logic.lifecycle.sources import of_releases

__all__ = [
    "EDITIONS",
    "Calendar",
    "Finding",
    "History",
    "Plan",
    "Release",
    "Step",
    "Track",
    "check",
    "of_releases",
    "plan",
    "read_history",
    "track_of",
]
