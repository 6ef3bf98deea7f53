"""One request on its way through the stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simkit.engine.pipeline.representation.negotiation import Accepted
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.identity import Identity
from simkit.meta.message import Request

if TYPE_CHECKING:
    from simkit.engine.pipeline.audit.auditor import AuditContext
    from simkit.engine.pipeline.flowcontrol.priority_level import Flow, Ticket


@dataclass(slots=True)
class RequestContext:
    """A request with what the stages have found out about it so far."""

    request: Request
    info: RequestInfo = field(default_factory=lambda: RequestInfo("", ""))
    identity: Identity | None = None
    """Who acts: after impersonation, the impersonated."""
    caller: Identity | None = None
    """Who was authenticated."""
    wanted: Accepted = field(default_factory=Accepted)
    reason: str = ""
    """Why authorization allowed it."""
    routed: str | None = None
    """Empty once a resource takes the request; for other paths, the one that takes it; None where nothing does."""
    room: bool | None = None
    """Which limit of requests under way it counts for: True for those that change something."""
    flow: Flow | None = None
    """With which requests it takes turns, where turns are taken."""
    ticket: Ticket | None = None
    """For the room that it has, or waits for."""
    deprecation: str = ""
    """The warning that the version which was asked for is deprecated."""
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    record: AuditContext | None = None
    """What the audit log keeps of it."""
    panicked: bool = False
    """Whether an error of ours ended it."""

    def actor(self) -> Identity:
        """Who acts, once authentication is done."""
        assert self.identity is not None
        return self.identity
