"""The audit events of requests.

Upstream: k8s.io/apiserver/pkg/endpoints/filters/audit.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from simkit.engine.authz.rbac import failed
from simkit.engine.pipeline.audit import events
from simkit.engine.pipeline.audit.backends import Backend, BackendError
from simkit.engine.pipeline.audit.events import Event
from simkit.engine.pipeline.audit.policy import AUDIT_GROUP, STAGES, Policy, RequestAuditConfig
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import is_long_running
from simkit.meta.clock import Clock, NameSource, micro_time
from simkit.meta.ip_addresses import is_address
from simkit.meta.message import Request, Response
from simkit.meta.user_info import user_info

_LOOPBACK: Final = "127.0.0.1"
_MOST_PROXIES: Final = 100
"""Addresses that are read from a chain of proxies."""
_HEADER: Final = "audit-id"


class Auditor:
    """Makes events according to a policy, and sends them to backends.

    Parameters
    ----------
    policy
        What is recorded.
    sinks
        Where events go.
    clock, name_source
        For timestamps and identifiers.
    metrics
        Where events are counted.

    Notes
    -----
    Unlike kube-apiserver's, events never hold the values of secrets, or tokens.
    """

    def __init__(
        self,
        policy: Policy,
        sinks: Sequence[Backend],
        clock: Clock,
        name_source: NameSource,
        metrics: Metrics | None = None,
    ) -> None:
        self.policy, self.sinks = policy, tuple(sinks)
        self._clock, self._name_source, self.metrics = clock, name_source, metrics or Metrics()

    def fork(self, sinks: Sequence[Backend], clock: Clock, name_source: NameSource, metrics: Metrics) -> Auditor:
        """The same policy for a fork, which records for itself."""
        return Auditor(self.policy, sinks, clock, name_source, metrics)

    def receive(self, context: RequestContext) -> None:
        """Decide on the audit level of an authenticated request, and record that it was received."""
        record = AuditContext(self, context, self._identifier(context.request))
        if record.choice.level != "None":
            context.record = record
            record.stage("RequestReceived")

    def _identifier(self, request: Request) -> str:
        return request.header(_HEADER)[:64] or self._name_source.uid()

    def refuse(self, context: RequestContext) -> None:
        """Decide on the audit level of a request that failed authentication."""
        context.record = AuditContext(self, context, self._identifier(context.request), unknown=True)

    def take(self, event: Event) -> None:
        """Send an event to all backends. An error of one does not affect the others.

        Raises the PlainError 500 of a request that may not go on unrecorded.
        """
        self.metrics.count("apiserver_audit_event_total")
        refused = False
        for sink in self.sinks:
            try:
                sink.take(event)
            except BackendError:
                self.metrics.count("apiserver_audit_error_total", sink.name)
                refused = refused or sink.strict
        if refused and event["stage"] == STAGES[0]:
            raise failed(event["requestURI"], "failed to store audit event")

    def now(self) -> str:
        """The moment, as events write it: with microseconds."""
        return micro_time(self._clock.now())

    def close(self) -> None:
        """Close all backends."""
        for sink in self.sinks:
            sink.close()


class AuditContext:
    """The audit events of one request, stage by stage."""

    def __init__(self, audit: Auditor, context: RequestContext, identifier: str, *, unknown: bool = False) -> None:
        self._audit, self._context, self._unknown = audit, context, unknown
        self.identifier = identifier
        self.received = audit.now()
        self.choice: RequestAuditConfig = audit.policy.choice(context.info, None if unknown else context.caller)
        audit.metrics.count("apiserver_audit_level_total", self.choice.level)

    def complete(self, response: Response) -> None:
        """Record the answer, in one stage or, for streams, in two."""
        response.headers.append(("Audit-Id", self.identifier))
        if self.choice.level == "None":
            return
        if self._unknown:
            self.stage("ResponseStarted", response)
            return
        if self._context.panicked:
            self.stage("Panic", response)
            return
        if is_long_running(self._context.info):
            self.stage("ResponseStarted", response)
        if response.stream is None:
            self.stage("ResponseComplete", response)
        else:
            response.stream = AuditedStream(response.stream, self, response)

    def stage(self, name: str, response: Response | None = None) -> None:
        """Record one stage, unless the policy omits it."""
        if name not in self.choice.omit_stages:
            self._audit.take(self._event(name, response))

    def _event(self, stage: str, response: Response | None) -> Event:
        context, choice = self._context, self.choice
        request = context.request
        event: Event = {"kind": "Event", "apiVersion": f"{AUDIT_GROUP}/v1", "level": choice.level}
        event |= {"auditID": self.identifier, "stage": stage, "requestURI": request.uri, "verb": context.info.verb}
        event["user"] = {} if self._unknown or context.caller is None else user_info(context.caller)
        if context.identity is not context.caller and context.identity is not None:
            event["impersonatedUser"] = user_info(context.identity)
        event["sourceIPs"] = sources(request)
        if request.header("user-agent"):
            event["userAgent"] = request.header("user-agent")
        event |= self._objects(response)
        event |= {"requestReceivedTimestamp": self.received, "stageTimestamp": self._audit.now()}
        if context.annotations and response is not None:
            event["annotations"] = dict(sorted(context.annotations.items()))
        return event

    def _objects(self, response: Response | None) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        context, level = self._context, self.choice.level
        sent = events.sent(context) if response is not None else None
        if context.info.is_resource:
            found["objectRef"] = events.reference(context.info, sent)
        if response is None:
            return found
        status, answered = events.answered(context, response, whole=level == "RequestResponse")
        found["responseStatus"] = status
        omit = self.choice.omit_managed_fields
        if sent is not None and level in ("Request", "RequestResponse"):
            found["requestObject"] = events.shown(sent, context.info, omit_managed_fields=omit)
        if answered is not None and level == "RequestResponse":
            found["responseObject"] = events.shown(answered, context.info, omit_managed_fields=omit)
        return found


class AuditedStream:
    """A stream whose end is recorded."""

    def __init__(self, stream: Any, record: AuditContext, response: Response) -> None:
        self._stream, self._record = stream, record
        self._response: Response | None = Response(response.status, b"", response.content_type)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        """End the stream; closing twice does nothing."""
        self._stream.close()
        response, self._response = self._response, None
        if response is not None:
            self._record.stage("ResponseComplete", response)


def sources(request: Request) -> list[str]:
    """The addresses of a request: those that proxies name, then the peer; in process, the loopback address.

    Examples
    --------
    >>> sources(Request("GET", "/", headers={"x-forwarded-for": ("10.0.0.7, nonsense",)}, peer="10.0.0.1"))
    ['10.0.0.7', '10.0.0.1']
    """
    forwarded = (part.strip() for text in request.headers.get("x-forwarded-for", ()) for part in text.split(","))
    found = [address for address in islice(forwarded, _MOST_PROXIES) if is_address(address)]
    real = request.header("x-real-ip")
    if is_address(real) and real not in found:
        found.append(real)
    peer = request.peer or _LOOPBACK
    return found if found and found[-1] == peer else [*found, peer]
