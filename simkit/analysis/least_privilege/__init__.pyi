from simkit.analysis.least_privilege.change import Change, apply
from simkit.analysis.least_privilege.proposal import Proposal, least_privilege
from simkit.analysis.least_privilege.recorded_access import AccessRequest, Action, read_access_requests
from simkit.analysis.least_privilege.replay import Replay, replay
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
