"""The handler chain of a request: filters in order, then the answer. Read HANDLER_CHAIN from left to right.

References
----------
``DefaultBuildHandlerChain`` of ``k8s.io/apiserver/pkg/server/config.go``, release 1.30.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final

import orjson

from simkit.engine.authn.bearer import SPACED, credentials_of, has_extra_space
from simkit.engine.authz.rbac import failed
from simkit.engine.authz.rbac import forbidden_error as forbid
from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.dispatch import dispatch
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.filters.impersonation import impersonate
from simkit.engine.pipeline.flowcontrol.flow_schema import TooManyRequests
from simkit.engine.pipeline.metrics.counters import Route, route
from simkit.engine.pipeline.non_resource import paths
from simkit.engine.pipeline.non_resource.exposition import COMPONENT
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.negotiation import JSON, negotiate, warning_headers
from simkit.engine.pipeline.request_context import LOGGED_FROM, RequestContext, log_request
from simkit.engine.pipeline.request_info import is_long_running
from simkit.engine.pipeline.request_info import parse_request_info as info_of
from simkit.meta import go_json
from simkit.meta.attributes import ALLOW, Decision
from simkit.meta.deadline import TooLate, too_late
from simkit.meta.domain import AUTHORIZATION_GROUP
from simkit.meta.errors import PlainError, StatusError, internal, no_path, too_large, unauthorized, unexplained
from simkit.meta.foreign import passes
from simkit.meta.identity import Identity
from simkit.meta.message import BODY_LIMIT, NO_SNIFFING, Request, Response

_LOG: Final = logging.getLogger("simkit.engine")
DECISION, REASON = f"{AUTHORIZATION_GROUP}/decision", f"{AUTHORIZATION_GROUP}/reason"
"""Audit annotations for the decision of authorization and its reason."""
_PANIC: Final = b"This request caused apiserver to panic. Look in the logs for details.\n"
_TEXT: Final = "text/plain; charset=utf-8"
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LONG_BODY: Final = 64 * 1024
_NO_TIME: Final = 1e-5
"""Seconds in which nothing is answered."""
Filter = Callable[[Engine, RequestContext], Response | None]


def parse_request_info(engine: Engine, context: RequestContext) -> None:
    """Set verb, resource, namespace and name of the request. Raises 400 for an invalid timeout."""
    request = context.request
    info = context.info = info_of(request.method, request.path, request.query)
    if "timeout" in request.query and not is_long_running(info):
        patience = opt.timeout_of(request)
        if 0 < patience < _NO_TIME:
            raise too_late()


def authenticate(engine: Engine, context: RequestContext) -> None:
    """Set the identity, unless a caller in this process gave it. Raises 401."""
    if context.identity is None:
        context.identity = _identified(engine, context)
    context.caller = context.identity
    if engine.audit is not None:
        engine.audit.receive(context)


def _identified(engine: Engine, context: RequestContext) -> Identity:
    try:
        identity = engine.authenticator.authenticate(credentials_of(context.request))
        if identity is None:
            raise unauthorized()
    except StatusError:
        if engine.audit is not None:
            engine.audit.refuse(context)
        raise
    if has_extra_space(context.request.headers):
        context.warnings.append(SPACED)
    return identity


def limit_concurrency(engine: Engine, context: RequestContext) -> None:
    """Take a seat for the request. Raises TooManyRequests."""
    try:
        engine.limits.enter(context)
    except TooManyRequests as error:
        info = context.info
        known = not info.is_resource or engine.catalogue.find(info.group, info.version, info.resource)
        verb, _, *labels_of_route = route(context) if known else Route("other", *[""] * 6)
        labels = (COMPONENT, verb, *labels_of_route, str(error.code))
        engine.metrics.count("apiserver_request_terminations_total", *labels)
        raise


def authorize(engine: Engine, context: RequestContext) -> None:
    """Call the authorizer. Raises 403 unless it allows the request, 500 if it fails."""
    ask = context.info.asks(engine.behaviour, context.actor())
    decision = engine.authorizer.authorize(ask)
    notes = context.annotations
    if decision.verdict is ALLOW:
        allow(context, decision)
        return
    if decision.error:
        notes[REASON] = "internal error"
        raise failed(context.request.uri, decision.error)
    notes[DECISION], notes[REASON] = "forbid", decision.reason
    refused = forbid(ask, decision.reason)
    refused.headers = (*refused.headers, NO_SNIFFING)
    raise refused


def allow(context: RequestContext, decision: Decision) -> None:
    """Note that the authorizer allows a request."""
    context.annotations[DECISION], context.annotations[REASON] = "allow", decision.reason
    context.reason = decision.reason


def dispatch_request(engine: Engine, context: RequestContext) -> Response:
    """Handle the request. Raises 413 for a body that is too large, and the errors of the verb."""
    if len(context.request.body) > BODY_LIMIT and context.request.method not in _READING:
        raise too_large(BODY_LIMIT)
    if context.info.path[:2] == "//":  # the rights were asked for as if one slash stood there
        raise no_path()
    if context.info.is_resource:
        return dispatch(engine, context)
    return paths.answer(engine, context)


def call_client_hook(engine: Engine, context: RequestContext) -> Response | None:
    """Let a test see the request of a client, and answer it. Raises whatever fault it wants."""
    if engine.client_hook is None or not context.from_client:
        return None
    return engine.client_hook.before(engine, context)


HANDLER_CHAIN: Final[Sequence[Filter]] = (
    parse_request_info,
    authenticate,
    impersonate,
    limit_concurrency,
    authorize,
    call_client_hook,
    dispatch_request,
)
BEFORE_BODY: Final[Sequence[Filter]] = (parse_request_info, authenticate, impersonate, authorize)
WITH_BODY: Final[Sequence[Filter]] = (limit_concurrency, call_client_hook, dispatch_request)
"""The filters for a request whose body is still to come. No body is read from a client that may not write, and no
request holds seats while its body is on its way."""


class HandledRequest:
    """One request in the handler chain.

    Parameters
    ----------
    identity
        Skips authentication, for callers in the same process.
    client
        True for clients in the same process; requests without an identity are clients' anyway.
    filters
        The handler chain that it goes through.
    """

    __slots__ = ("_began", "_engine", "_left", "_trusted", "context")

    def __init__(
        self,
        engine: Engine,
        request: Request,
        identity: Identity | None = None,
        *,
        client: bool = False,
        filters: Sequence[Filter] = HANDLER_CHAIN,
    ) -> None:
        from_client = client or identity is None
        self._engine, self._began = engine, perf_counter()
        self.context = RequestContext(request, identity=identity, from_client=from_client)
        self._left, self._trusted = filters, identity is not None

    def serve_headers(self) -> Response | None:
        """The refusal of a request before its body; None if its body may follow. Never raises."""
        self._left = BEFORE_BODY
        refused = self._serve()
        self._left = WITH_BODY
        return refused

    def receive(self, body: bytes) -> Response:
        """The answer to an authorized request with its body."""
        self.context.request = replace(self.context.request, body=body)
        return self.serve()

    def fail(self, error: StatusError) -> Response:
        """The answer to an authorized request whose body does not come."""

        def refuse(engine: Engine, context: RequestContext) -> None:
            raise error

        self._left = (refuse,)
        return self.serve()

    def give_up(self) -> None:
        """End an authorized request whose client disconnected."""
        self.fail(unexplained("unexpected EOF"))

    def serve(self) -> Response:
        """The answer. Never raises."""
        response = self._serve()
        assert response is not None, "the last filter answers"
        return response

    def _serve(self) -> Response | None:
        """The answer of the filters that are left; None if there is none yet."""
        context = self.context
        try:
            response = self._through()
            if response is None:
                return None
        except StatusError as error:
            response = refusal(self._engine, context, error)
        except PlainError as error:
            response = Response(error.code, error.text.encode(), _TEXT, [NO_SNIFFING, *error.headers])
        except BaseException as error:
            if passes(error):
                raise
            # The one place where an error of ours becomes an answer: a client gets 500, the log gets the trace. Callers
            # in this process get the error in the answer, so that for them the trace is a matter of debugging.
            level = logging.DEBUG if self._trusted else logging.ERROR
            _LOG.log(level, "%s %s failed", context.request.method, context.request.path, exc_info=True)
            response, context.panicked = self._panic(error), True
        response = _finished(context, response)
        self._engine.limits.leave(context)
        seconds = perf_counter() - self._began
        self._engine.metrics.observe(context, response, seconds)
        if self._engine.verbosity >= LOGGED_FROM:
            log_request(context, response, seconds)
        if context.record is not None:
            context.record.complete(response)
        hook = self._engine.client_hook
        return response if hook is None or not context.from_client else hook.after(context, response)

    def _panic(self, error: BaseException) -> Response:
        """The answer to an internal error: callers in this process get all of it, clients no detail."""
        if self._trusted:
            return refusal(self._engine, self.context, internal(f"{type(error).__name__}: {error}"))
        return Response(500, _PANIC, _TEXT, [NO_SNIFFING])

    def _through(self) -> Response | None:
        for stage in self._left:
            response = stage(self._engine, self.context)
            if response is not None:
                return response
        return None


def serve_request(
    engine: Engine, request: Request, identity: Identity | None = None, *, client: bool = False
) -> Response:
    """The answer to a request; ``identity`` and ``client`` are as for ``HandledRequest``. Never raises."""
    return HandledRequest(engine, request, identity, client=client).serve()


def refusal(engine: Engine, context: RequestContext, error: StatusError) -> Response:
    """An error as a Status in the requested representation; as indented JSON if that cannot show one."""
    if isinstance(error, TooLate):
        return Response(error.code, TooLate.TEXT, _TEXT)
    try:
        wanted = negotiate(engine.behaviour, context.request.header("accept"), convertible=False, go_restful=False)
        response = responses.document_response(error.status(), wanted, status=error.code)
        context.output_media_type = wanted
    except StatusError:
        response = Response(error.code, go_json.encode_indented(error.status()))
    response.headers += error.headers
    return response


def _finished(context: RequestContext, response: Response) -> Response:
    if context.flow is not None:
        response.headers += context.flow.headers
    told = [context.deprecation, *context.warnings] if context.deprecation else context.warnings
    if told:
        response.headers += warning_headers(told)
    if (
        response.content_type == JSON
        and responses.wants_pretty(context.request, context.output_media_type)
        and response.body
    ):
        response.body = _indented(response.body)
    return response


def _indented(body: bytes) -> bytes:
    """A body with line breaks and blanks; a long list item by item, so that other threads are not kept waiting."""
    if len(body) > _LONG_BODY:
        for key in ("items", "rows"):
            if f'"{key}":['.encode() in body[:_LONG_BODY]:
                return go_json.indented_list(body, key)
    return go_json.encode_indented(orjson.loads(body))
