from simkit.analysis.membership.cluster import members_of_audit_log, members_of_snapshot
from simkit.analysis.membership.credentials import members_of_certificates, members_of_tokens
from simkit.analysis.membership.files import members_of_files
from simkit.analysis.membership.pairs import MembershipTable, merge_members
from simkit.analysis.membership.providers import members_of_export

__all__ = [
    "MembershipTable",
    "members_of_audit_log",
    "members_of_certificates",
    "members_of_export",
    "members_of_files",
    "members_of_snapshot",
    "members_of_tokens",
    "merge_members",
]
