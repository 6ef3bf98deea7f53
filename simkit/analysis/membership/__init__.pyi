from simkit.analysis.membership.cluster import MembershipTable, members_of_audit_log, members_of_snapshot, merge_members
from simkit.analysis.membership.files import (
    members_of_certificates,
    members_of_export,
    members_of_files,
)

__all__ = [
    "MembershipTable",
    "members_of_audit_log",
    "members_of_certificates",
    "members_of_export",
    "members_of_files",
    "members_of_snapshot",
    "merge_members",
]
