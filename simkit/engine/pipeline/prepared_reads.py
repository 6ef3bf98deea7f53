"""Reads of single objects that are answered without the handler chain, since equal ones went through it before.

What the chain found out is kept in two places. A caller is what the headers of a connection mean: its identity, for the
rest of the second in which it was authenticated, as long as nothing changes on which authentication may rest. Then it
is authenticated again, by itself. A
prepared read is what a path means to an identity: the resource, the key, the attributes for the authorizer, the flow.
The authorizer is asked each time, the seats are looked at each time, and the object is read each time.

Whatever is not plain, such as impersonation, a warning, a query, an audit policy or a part that leaves the process,
is not prepared: it takes the way through the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Final

from simkit.engine.authn.bearer import credentials_of
from simkit.engine.pipeline.api_services import SERVICES
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.negotiation import MediaTypeOptions
from simkit.engine.pipeline.request_context import LOGGED_FROM, Flow, RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.meta.attributes import ALLOW, Attributes
from simkit.meta.errors import StatusError
from simkit.meta.histogram import Histogram
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response, Sender
from simkit.meta.names import GroupResource, Key
from simkit.schema.catalogue import Catalogue
from simkit.seams import Authenticator, Change

_RESTS_ON: Final = frozenset(
    {SERVICES, *(GroupResource("", name) for name in ("secrets", "serviceaccounts", "pods", "nodes"))}
)
"""Resources whose changes may change who a caller is, or which server answers."""
_IDENTITIES: Final = 64
_PATHS: Final = 1024
_LONGEST_PATH: Final = 256
"""The limits of what is kept, since clients choose it."""
_LARGEST: Final = 64 * 1024
"""Bytes of an answer beyond which the chain decides on which thread it is made."""
_PLAIN: Final = MediaTypeOptions()


class PreparedRead:
    """The meaning of a path for an identity."""

    __slots__ = ("ask", "catalogue", "durations", "encoding", "flow", "head", "headers", "key", "routes")

    def __init__(self, engine: Engine, context: RequestContext, scope: RequestScope, key: Key, routes: int) -> None:
        self.key, self.head, self.encoding = key, scope.head, scope.encoding
        self.catalogue: Catalogue = engine.catalogue
        self.ask: Attributes = context.info.asks(engine.behaviour, context.actor())
        self.flow: Flow | None = context.flow
        self.headers = list(context.flow.headers) if context.flow is not None else []
        self.durations: Histogram = engine.metrics.durations(context, 200)
        self.routes = routes


Reads = dict[str, PreparedRead]
Moment = tuple[int, int]


class Caller:
    """The meaning of the headers of a connection."""

    __slots__ = ("authenticator", "changes", "identity", "reads", "second")

    def __init__(
        self, authenticator: Authenticator, identity: Identity, reads: Reads, changes: int, second: int
    ) -> None:
        self.authenticator, self.identity, self.reads = authenticator, identity, reads
        self.changes, self.second = changes, second


class PreparedReads:
    """The prepared reads of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.changes = 0
        """The number of changes of resources on which callers rest."""
        self.routes = 0
        """The number of changes of what decides which server answers: what was prepared before is void."""
        self._reads: dict[Identity, Reads] = {}
        engine.store.listen(self._follow, _RESTS_ON)

    def _follow(self, changes: Sequence[Change]) -> None:
        self.changes += 1
        if any(change.entry.key.resource == SERVICES for change in changes):
            self.routes += 1
            self._reads = {}

    def answer(self, request: Request) -> Response | None:
        """The answer to a read that was prepared; None: the handler chain has to answer."""
        caller = request.sender.caller if request.sender is not None else None
        if caller is None or request.method != "GET" or request.query:
            return None
        if self._engine.shared_store and not request.refreshed:
            return None
        read = caller.reads.get(request.path)
        return self._answered(request, caller, read) if read is not None else None

    def _answered(self, request: Request, caller: Caller, read: PreparedRead) -> Response | None:
        engine, began = self._engine, perf_counter()
        if read.routes != self.routes or not self.holds(request, caller, read.catalogue):
            return None
        entry = engine.store.get(read.key)
        tail = entry.encodings.get(read.encoding) if entry is not None else None
        if tail is None or len(tail) > _LARGEST or engine.authorizer.authorize(read.ask).verdict is not ALLOW:
            return None
        if not engine.limits.passes(read.flow):
            return None
        body = read.head + tail + b"\n"
        engine.settle()
        engine.metrics.repeat(read.durations, perf_counter() - began)
        return Response(200, body, headers=read.headers.copy())

    def holds(self, request: Request, caller: Caller, catalogue: Catalogue) -> bool:
        """True if a caller is still who it was, and what was prepared for it with a catalogue means the same."""
        engine = self._engine
        return (
            caller.authenticator is engine.authenticator
            and catalogue is engine.catalogue
            and engine.client_hook is None
            and engine.verbosity < LOGGED_FROM
            and (
                (caller.changes == self.changes and caller.second == int(engine.clock.now()))
                or self._is_still(request, caller)
            )
        )

    def _is_still(self, request: Request, caller: Caller) -> bool:
        """Authenticate a caller again; True if it is still the same one."""
        engine, began = self._engine, self.moment()
        try:
            same = engine.authenticator.authenticate(credentials_of(request)) == caller.identity
        except StatusError:  # the handler chain refuses it
            return False
        if same:
            caller.changes, caller.second = began
        return same

    def moment(self) -> Moment:
        """The present moment: the number of changes on which callers rest, and the second."""
        return self.changes, int(self._engine.clock.now())

    def learn(self, context: RequestContext, response: Response, began: Moment) -> None:
        """Prepare an answered read, if it is plain; ``began`` is a moment from before its authentication."""
        engine, request, info = self._engine, context.request, context.info
        sender = request.sender
        if sender is None or info.verb != "get" or not info.is_resource or response.status != 200:
            return
        if info.subresource or request.method != "GET" or request.query or len(info.path) > _LONGEST_PATH:
            return
        if (
            not self.is_plain(context)
            or context.identity is None
            or responses.wants_pretty(request, context.output_media_type)
        ):
            return
        resource = engine.catalogue.find(info.group, info.version, info.resource)
        if resource is None:  # a definition that was removed meanwhile
            return
        scope = engine.request_scope(resource)
        if scope.custom is not None or not scope.resource.stored:
            return
        reads = self._reads_of(context.identity)
        if len(reads) >= _PATHS:
            reads.clear()
        key, routes = scope.registry_scope.key(info.namespace, info.name), self.routes
        if began[0] == self.changes:
            reads[request.path] = PreparedRead(engine, context, scope, key, routes)
            self.know(sender, context.identity, began)

    def know(self, sender: Sender, identity: Identity, began: Moment) -> None:
        """Remember who sends with equal headers; ``began`` is a moment from before the authentication."""
        sender.caller = Caller(self._engine.authenticator, identity, self._reads_of(identity), *began)

    def is_plain(self, context: RequestContext) -> bool:
        """True if nothing about a request asks for more than its object."""
        engine = self._engine
        apart = engine.audit is not None or engine.client_hook is not None or engine.chain_leaves_process
        told = context.warnings or context.deprecation
        return not (apart or told) and context.caller is context.identity and context.output_media_type == _PLAIN

    def _reads_of(self, identity: Identity) -> Reads:
        known = self._reads
        found = known.get(identity)
        if found is None:
            if len(known) >= _IDENTITIES:
                known.clear()
            found = known[identity] = {}
        return found
