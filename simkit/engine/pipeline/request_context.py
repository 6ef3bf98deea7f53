"""The context of one request while the handler chain serves it, and its line of log."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from simkit.engine.pipeline.representation.negotiation import MediaTypeOptions
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.fielderror import quoted
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response

# The context of one request while the handler chain serves it, and protocols for the parts that filters attach


class AuditRecord(Protocol):
    """The audit events of one request; ``audit.auditor.AuditContext`` is the implementation."""

    def complete(self, response: Response) -> None:
        """Record the answer."""
        ...


class Flow(Protocol):
    """The flow that a request belongs to; ``flowcontrol.controller.Flow`` is the implementation."""

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that name the flow schema and the priority level."""
        ...


_UNKNOWN: Final = RequestInfo("", "")
_PLAIN: Final = MediaTypeOptions()


@dataclass(slots=True)
class RequestContext:
    """A request with the results of its filters so far."""

    request: Request
    info: RequestInfo = _UNKNOWN
    identity: Identity | None = None
    """The user of the request; after impersonation, the impersonated one."""
    caller: Identity | None = None
    """The authenticated user, whoever is impersonated."""
    from_client: bool = False
    """True for requests of clients; False for those of controllers and of callers that are trusted."""
    output_media_type: MediaTypeOptions = _PLAIN
    reason: str = ""
    """The authorizer's reason."""
    route: Any = None
    """The labels of its metrics (a ``metrics.counters.Route``), if they are known; else they are made of the others."""
    matched_path: str | None = None
    """Empty for resource requests; for other paths the pattern that matches; None if none does."""
    request_kind: bool | None = None
    """The limit that it counts for: True for mutating requests, False for read-only ones, None if it takes no seat."""
    flow: Flow | None = None
    """The flow of the request, with priority and fairness."""
    deprecation: str = ""
    """The warning about the deprecated version of the request."""
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    sent: Any = None
    """The object as it was sent or patched, before it is decoded."""
    record: AuditRecord | None = None
    """Its audit events; None if nothing is recorded."""
    panicked: bool = False
    """True if an error of ours ended it."""

    def actor(self) -> Identity:
        """The user of the request. Requires authentication."""
        assert self.identity is not None
        return self.identity


class ClientHook(Protocol):
    """A test's view of requests of clients: it sees them, and may answer in the server's place."""

    @property
    def waits(self) -> bool:
        """True if ``before`` may let time pass, so that it must not run in an event loop's thread."""
        ...

    def before(self, engine: Any, context: RequestContext) -> Response | None:
        """The answer to an authorized request, None to have it served. May raise a StatusError."""
        ...

    def after(self, context: RequestContext, response: Response) -> Response:
        """The answer as the client gets it."""
        ...


# One line of log for each request, at the log level at which kube-apiserver writes one.
# Upstream: k8s.io/apiserver/pkg/server/httplog/httplog.go, release 1.30.

LOGGED_FROM: Final = 3
"""The log level from which requests are logged."""
_LOG: Final = logging.getLogger("simkit.http")


def log_request(context: RequestContext, response: Response, seconds: float) -> None:
    """Log a request and the status of its answer, as key-value pairs in the format of klog."""
    request = context.request
    pairs = {
        "verb": quoted(context.info.verb.upper() or request.method),
        "URI": quoted(request.uri),
        "latency": quoted(f"{seconds * 1000:.6g}ms"),
        "userAgent": quoted(request.header("user-agent")),
        "resp": response.status,
    }
    _LOG.info('"HTTP" %s', " ".join(f"{name}={value}" for name, value in pairs.items()))


def log_to_standard_error() -> None:
    """Write the lines to standard error, as a server in a process of its own does."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False
