"""Writes that skip the first half of the handler chain, since equal ones went through it before.

Controllers write to the same paths again and again. What a method and a path mean to an identity is kept: the
resource, its handler, the attributes for the authorizer, the flow. The seats are looked at each time, the authorizer is
asked each time, and from the options and the body on everything is as ever.

Whatever may take long or may wait for a service outside, is not plain or has a query, goes through the whole chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.engine.pipeline.consulted import are_many, consulted_by
from simkit.engine.pipeline.dispatch import Handler, plain_handler
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.handler_chain import HandledRequest, allow, authorize, recognized
from simkit.engine.pipeline.known_by_identity import KnownByIdentity
from simkit.engine.pipeline.metrics.counters import route
from simkit.engine.pipeline.prepared_reads import Moment, PreparedReads
from simkit.engine.pipeline.representation.forms import NONE
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.work_estimate import CHAIN_BYTES, HEAD_BYTES, POLICY_BINDINGS, plain_limit
from simkit.engine.seams import Change
from simkit.meta.attributes import ALLOW
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, Key

_WRITING: Final = frozenset({"POST", "PUT", "PATCH"})
_RESTS_ON: Final = frozenset(
    {
        *POLICY_BINDINGS,
        *(GroupResource(ADMISSION_GROUP, f"{kind}webhookconfigurations") for kind in ("mutating", "validating")),
    }
)
"""Resources whose changes may change whether a write takes long, or waits for a service outside."""
_LONGEST_PATH: Final = 256
_MOST: Final = 4096
"""The limits of what is kept, since clients choose it."""


class PreparedWrite:
    """The meaning of a method and a path for an identity."""

    __slots__ = (
        *("accept", "ask", "catalogue", "consulted", "content_type", "counted", "flow", "handler", "identity", "info"),
        *("key", "limit", "route", "routes", "scope"),
    )

    def __init__(self, engine: Engine, context: RequestContext, scope: RequestScope, handler: Handler) -> None:
        request, info = context.request, context.info
        self.accept, self.content_type = request.header("accept"), request.header("content-type")
        self.info: RequestInfo = info
        self.identity: Identity = context.actor()
        self.ask, self.flow, self.catalogue = info.asks(self.identity), context.flow, engine.catalogue
        self.consulted = consulted_by(info)
        self.counted, self.route = recognized(self.identity), route(context)
        self.scope, self.handler = scope, handler
        named = bool(info.name) and scope.resource.stored
        self.key: Key | None = scope.registry_scope.key(info.namespace, info.name) if named else None
        self.limit = plain_limit(engine, request, info, scope.resource)
        self.routes = (0, 0)

    def fits(self, engine: Engine, request: Request) -> bool:
        """True if a request for the path is plain, and takes no longer than a few milliseconds."""
        headers = request.headers
        if headers.get("accept", NONE)[0] != self.accept or headers.get("content-type", NONE)[0] != self.content_type:
            return False
        if not 0 < len(request.body) <= self.limit or request.head_size > HEAD_BYTES:
            return False
        if request.certificates and sum(map(len, request.certificates)) > CHAIN_BYTES:
            return False
        if are_many(engine.store, self.consulted):
            return False
        entry = engine.store.get(self.key) if self.key is not None else None
        return entry is None or entry.size <= self.limit

    def context(self, request: Request) -> RequestContext:
        """The context after the first filters of the chain."""
        context = RequestContext(request, self.info, self.identity, self.identity, True)
        context.flow, context.route = self.flow, self.route
        context.counted += self.counted
        return context

    def authorize(self, engine: Engine, context: RequestContext) -> None:
        """Ask whether the sender may, by a question that is made already."""
        decision = engine.authorizer.authorize(self.ask)
        if decision.verdict is ALLOW:
            allow(context, decision)
        else:
            authorize(engine, context)

    def handle(self, engine: Engine, context: RequestContext) -> Response:
        """Answer as the handler of the path does."""
        context.matched_path = ""
        response = self.handler(engine, context, self.scope)
        if self.scope.resource.stored:
            engine.settle()
        return response


Writes = dict[tuple[str, str], PreparedWrite]


class PreparedWrites:
    """The prepared writes of one engine.

    Parameters
    ----------
    reads
        Knows the callers.
    most
        How many writes are kept.
    """

    def __init__(self, engine: Engine, reads: PreparedReads, most: int = _MOST) -> None:
        self._engine, self._reads = engine, reads
        self._known = KnownByIdentity[tuple[str, str], PreparedWrite](most)
        self._changes = 0
        engine.store.listen(self._follow, _RESTS_ON)

    def _follow(self, changes: Sequence[Change]) -> None:
        self._changes += 1

    def prepared(self, request: Request) -> HandledRequest | None:
        """A write that was prepared, in the rest of its handler chain; None: it has to go through the whole."""
        caller = request.sender.caller if request.sender is not None else None
        if caller is None or request.query:
            return None
        write = caller.writes.get((request.method, request.path))
        if write is None or write.routes != (self._changes, self._reads.routes):
            return None
        engine = self._engine
        if not self._reads.holds(request, caller, write.catalogue) or not write.fits(engine, request):
            return None
        if not engine.limits.passes(write.flow, mutating=True):
            return None
        rest = (write.authorize, write.handle)  # made anew: methods kept in their own object are garbage for long
        return HandledRequest(engine, request, filters=rest, context=write.context(request))

    def learn(self, context: RequestContext, response: Response, began: Moment) -> None:
        """Prepare an answered write, if it is plain; ``began`` is a moment from before its authentication."""
        request, info, sender = context.request, context.info, context.request.sender
        if sender is None or request.method not in _WRITING or request.query or response.status not in (200, 201):
            return
        if not info.is_resource or len(info.path) > _LONGEST_PATH or context.identity is None:
            return
        routes = (self._changes, self._reads.routes)
        if not self._reads.is_plain(context) or self._waits(request) or began[0] != self._reads.changes:
            return
        resource = self._engine.catalogue.find(info.group, info.version, info.resource)
        if resource is None:  # the write has ended its own resource: a definition waited for the last object
            return
        scope = self._engine.request_scope(resource)
        handler = plain_handler(scope, info)
        if handler is None:
            return
        made = PreparedWrite(self._engine, context, scope, handler)
        made.routes = routes
        if made.limit:
            writes = self._known.keep(context.identity, (request.method, request.path), made)
            self._reads.know(sender, context.identity, began).writes = writes

    def _waits(self, request: Request) -> bool:
        engine = self._engine
        return engine.inner_parts_leave_process or engine.request_leaves_process(request)
