"""Least privilege out of audit logs: what is used, what is not, and roles that allow just the former."""

from simkit.analysis.leastprivilege.events import read_uses
from simkit.analysis.leastprivilege.proposal import Change, Proposal, least_privilege
from simkit.analysis.leastprivilege.replay import Replay, apply, replay
from simkit.analysis.leastprivilege.roles import minimal_rules
from simkit.analysis.leastprivilege.unused import unused_grants
from simkit.analysis.leastprivilege.usage import Usage, usage
from simkit.analysis.leastprivilege.use import Action, Use

__all__ = [
    "Action",
    "Change",
    "Proposal",
    "Replay",
    "Usage",
    "Use",
    "apply",
    "least_privilege",
    "minimal_rules",
    "read_uses",
    "replay",
    "unused_grants",
    "usage",
]
