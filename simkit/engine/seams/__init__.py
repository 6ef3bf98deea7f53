"""The protocols between the parts of the engine, one small question each.

A part that may wait for another process declares it (``leaves_process``); the HTTP layer then runs requests on worker
threads instead of inline.
"""

from simkit.engine.seams.access import Authenticator, Authorizer, EscalationGuard, RuleList, Token, TokenIssuer
from simkit.engine.seams.admission import Mutator, Operation, Review, Validator
from simkit.engine.seams.connections import PodConnections, PortHandler, RemoteProcess, has_closed
from simkit.engine.seams.meter import Meter, Unmetered
from simkit.engine.seams.storage import (
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
)

__all__ = [
    "ABSENT",
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
    "Unmetered",
    "Unstorable",
    "Validator",
    "Writer",
    "has_closed",
]
