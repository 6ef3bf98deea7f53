"""The protocols that parts implement, ours and other packages', one small question each.

A part that may wait for another process declares it (``leaves_process``); the HTTP layer then runs requests on worker
threads instead of inline.
"""

from simkit.meta.attributes import Authorizer, RuleList
from simkit.seams.admission import OPERATIONS, Mutator, Operation, Plugin, Review, Validator
from simkit.seams.authorization import Authenticator, EscalationGuard, Token, TokenIssuer
from simkit.seams.connections import PodConnections, PortHandler, RemoteProcess, has_closed
from simkit.seams.meter import Meter
from simkit.seams.parts import AdmissionContext, PartContext
from simkit.seams.storage import (
    ABSENT,
    Change,
    ChangeLog,
    ChangeType,
    Compacted,
    Encodings,
    Entry,
    Future,
    Intent,
    ListWatcher,
    NumberRanges,
    Reader,
    Stale,
    Store,
    Unstorable,
    Writer,
    existing,
)

__all__ = [
    "ABSENT",
    "OPERATIONS",
    "AdmissionContext",
    "Authenticator",
    "Authorizer",
    "Change",
    "ChangeLog",
    "ChangeType",
    "Compacted",
    "Encodings",
    "Entry",
    "EscalationGuard",
    "Future",
    "Intent",
    "ListWatcher",
    "Meter",
    "Mutator",
    "NumberRanges",
    "Operation",
    "PartContext",
    "Plugin",
    "PodConnections",
    "PortHandler",
    "Reader",
    "RemoteProcess",
    "Review",
    "RuleList",
    "Stale",
    "Store",
    "Token",
    "TokenIssuer",
    "Unstorable",
    "Validator",
    "Writer",
    "existing",
    "has_closed",
]
