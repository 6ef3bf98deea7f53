from simkit.analysis.least_privilege.change import Change, apply
from simkit.analysis.least_privilege.proposal import Proposal, Replay, least_privilege, replay
from simkit.analysis.least_privilege.recorded_access import AccessRequest, Action, read_access_requests
from simkit.analysis.least_privilege.roles import minimal_rules
from simkit.analysis.least_privilege.usage import Usage, refused_requests, unused_grants, usage

__all__ = [
    "AccessRequest",
    "Action",
    "Change",
    "Proposal",
    "Replay",
    "Usage",
    "apply",
    "least_privilege",
    "minimal_rules",
    "read_access_requests",
    "refused_requests",
    "replay",
    "unused_grants",
    "usage",
]
