"""The road of a request: the stages in order, then the answer. Read STAGES from left to right."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final

import orjson

from simkit.engine.authn.bearer import SPACED, credentials_of, has_extra_space
from simkit.engine.authz.forbidden import forbidden_error as forbid
from simkit.engine.authz.forbidden import sanitized
from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.dispatch import dispatch
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.filters.impersonation import impersonate
from simkit.engine.pipeline.flowcontrol.max_in_flight import TooMany, is_long
from simkit.engine.pipeline.flowcontrol.priority_level import LONGEST_WAIT
from simkit.engine.pipeline.metrics.counters import Route, counted_name, route
from simkit.engine.pipeline.non_resource import exposition, paths
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.representation.negotiation import JSON, Wanted, negotiate
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.meta.attributes import Verdict
from simkit.meta.domain import AUTHORIZATION_GROUP
from simkit.meta.errors import PlainError, StatusError, internal, too_large, unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import BODY_LIMIT, Request, Response

_LOG: Final = logging.getLogger("simkit.engine")
DECISION, REASON = f"{AUTHORIZATION_GROUP}/decision", f"{AUTHORIZATION_GROUP}/reason"
"""Audit annotations that tell what authorization said, and why."""
_PANIC: Final = b"This request caused apiserver to panic. Look in the logs for details.\n"
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
Stage = Callable[[Engine, RequestContext], Response | None]


def describe(engine: Engine, exchange: RequestContext) -> None:
    """What is meant?"""
    request = exchange.request
    target = exchange.target = parse_request_info(request.method, request.path, request.query)
    if "timeout" in request.query and not is_long(target):
        opt.check_timeout(request)


def authenticate(engine: Engine, exchange: RequestContext) -> None:
    """Who asks? In process the caller is known already."""
    if exchange.identity is None:
        exchange.identity = _identified(engine, exchange)
    exchange.caller = exchange.identity
    if engine.audit is not None:
        engine.audit.receive(exchange)


def _identified(engine: Engine, exchange: RequestContext) -> Identity:
    try:
        identity = engine.authenticator.authenticate(credentials_of(exchange.request))
        if identity is None:
            raise unauthorized()
    except StatusError:
        engine.metrics.count("authentication_attempts", "failure")
        if engine.audit is not None:
            engine.audit.refuse(exchange)
        raise
    if has_extra_space(exchange.request.headers):
        exchange.warnings.append(SPACED)
    engine.metrics.count("authentication_attempts", "success")
    engine.metrics.count("authenticated_user_requests", counted_name(identity.user))
    return identity


def act_as(engine: Engine, exchange: RequestContext) -> None:
    """As whom?"""
    impersonate(engine, exchange)


def make_room(engine: Engine, exchange: RequestContext) -> None:
    """Are there too many already? A ticket without an outcome keeps the request waiting here."""
    try:
        engine.limits.enter(exchange)
    except TooMany as error:
        target = exchange.target
        known = not target.is_resource or engine.catalogue.find(target.group, target.version, target.resource)
        verb, _, *place = route(exchange) if known else Route("other", *[""] * 6)
        labels = (exposition.COMPONENT, verb, *place, str(error.code))
        engine.metrics.count("apiserver_request_terminations_total", *labels)
        raise


def authorize(engine: Engine, exchange: RequestContext) -> None:
    """May they?"""
    ask = exchange.target.asks(exchange.actor())
    decision = engine.authorizer.authorize(ask)
    notes = exchange.annotations
    if decision.allowed:
        engine.metrics.count("authorization_attempts_total", "allowed")
        notes[DECISION], notes[REASON] = "allow", decision.reason
        exchange.reason = decision.reason
        return
    if decision.error:
        engine.metrics.count("authorization_attempts_total", "error")
        notes[REASON] = "internal error"
        raise PlainError(500, f'Internal Server Error: "{sanitized(exchange.request.uri)}": {decision.error}\n')
    denied = decision.verdict is Verdict.DENY
    engine.metrics.count("authorization_attempts_total", "denied" if denied else "no-opinion")
    notes[DECISION], notes[REASON] = "forbid", decision.reason
    raise forbid(ask, decision.reason)


def act(engine: Engine, exchange: RequestContext) -> Response:
    """What does it mean here?"""
    if len(exchange.request.body) > BODY_LIMIT and exchange.request.method not in _READING:
        raise too_large(BODY_LIMIT)
    if exchange.target.is_resource:
        return dispatch(engine, exchange)
    return paths.answer(engine, exchange)


STAGES: Final[Sequence[Stage]] = (describe, authenticate, act_as, make_room, authorize, act)
BEFORE_BODY: Final[Sequence[Stage]] = (describe, authenticate, act_as, authorize)
WITH_BODY: Final[Sequence[Stage]] = (make_room, act)
"""The same stages for a request whose body is still to come: nothing is read from those who may not write, and nobody
holds room while the body is on its way."""


class Trip:
    """One request on the road. It may have to wait for room; then it goes on from there.

    Parameters
    ----------
    identity
        Skips authentication, for callers in the same process.
    """

    __slots__ = ("_began", "_engine", "_left", "_trusted", "exchange")

    def __init__(self, engine: Engine, request: Request, identity: Identity | None = None) -> None:
        self._engine, self.exchange, self._began = engine, RequestContext(request, identity=identity), perf_counter()
        self._left, self._trusted = STAGES, identity is not None

    def enter(self) -> Response | None:
        """The refusal of a request whose body is still to come; None where ``receive`` may follow. Never raises."""
        self._left = BEFORE_BODY
        refused = self.go()
        self._left = WITH_BODY
        return refused

    def receive(self, body: bytes) -> None:
        """Take the body of a request that has entered; ``go`` answers."""
        self.exchange.request = replace(self.exchange.request, body=body)

    def fail(self, error: StatusError) -> Response:
        """The answer to a request that has entered, and whose body does not come."""

        def give_up(engine: Engine, exchange: RequestContext) -> None:
            raise error

        self._left = (give_up,)
        response = self.go()
        assert response is not None
        return response

    def go(self) -> Response | None:
        """The answer; None where the request waits until its ticket is settled. Never raises."""
        exchange = self.exchange
        try:
            response = self._through()
            if response is None:
                return None
        except StatusError as error:
            response = refusal(exchange, error)
        except PlainError as error:
            response = Response(error.code, error.text.encode(), "text/plain; charset=utf-8", list(error.headers))
        except Exception as error:
            # The one place where an error of ours becomes an answer: a client gets 500, the log gets the trace.
            _LOG.exception("%s %s failed", exchange.request.method, exchange.request.path)
            response, exchange.panicked = self._panic(error), True
        response = _finished(exchange, response)
        self._engine.limits.leave(exchange)
        self._engine.metrics.observe(exchange, response, perf_counter() - self._began)
        if exchange.record is not None:
            exchange.record.complete(response)
        return response

    def _panic(self, error: Exception) -> Response:
        """What is told of an error of ours: all of it in this process, and to clients nothing that it might hold."""
        if self._trusted:
            return refusal(self.exchange, internal(f"{type(error).__name__}: {error}"))
        return Response(500, _PANIC, "text/plain; charset=utf-8")

    def _through(self) -> Response | None:
        engine, exchange = self._engine, self.exchange
        for number, stage in enumerate(self._left):
            response = stage(engine, exchange)
            if response is not None:
                return response
            if exchange.ticket is not None and not exchange.ticket.outcome:
                self._left = self._left[number:]
                return None
        return None


def travel(engine: Engine, request: Request, identity: Identity | None = None) -> Response:
    """The answer to a request, for whose room this thread waits if need be. Never raises.

    ``identity`` skips authentication, for callers in the same process.
    """
    trip = Trip(engine, request, identity)
    response = trip.go()
    while response is None:
        ticket = trip.exchange.ticket
        assert ticket is not None
        ticket.wait(LONGEST_WAIT)
        ticket.give_up()
        response = trip.go()
    return response


def refusal(exchange: RequestContext, error: StatusError) -> Response:
    """An error as a Status, in the representation that was asked for where it can be had."""
    try:
        wanted = negotiate(exchange.request.header("accept"), convertible=False)
    except StatusError:
        wanted = Wanted()
    response = responses.document(error.status(), wanted, status=error.code)
    response.headers += error.headers
    return response


def _finished(exchange: RequestContext, response: Response) -> Response:
    if exchange.flow is not None:
        response.headers += exchange.flow.headers
    told = [exchange.deprecation, *exchange.warnings] if exchange.deprecation else exchange.warnings
    for text in dict.fromkeys(told):
        response.headers.append(("Warning", f'299 - "{_escaped(text)}"'))
    if response.content_type == JSON and response.body and responses.wants_pretty(exchange.request, exchange.wanted):
        response.body = orjson.dumps(orjson.loads(response.body), option=orjson.OPT_INDENT_2) + b"\n"
    return response


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
