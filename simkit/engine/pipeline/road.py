"""The road of a request: the stages in order, then the answer. Read STAGES from left to right."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final

import orjson

from simkit.engine.authn.bearer import credentials_of
from simkit.engine.authz.wording import harmless
from simkit.engine.authz.wording import refusal as forbid
from simkit.engine.pipeline import exposition, paths, represent
from simkit.engine.pipeline.dispatch import dispatch
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.exchange import Exchange
from simkit.engine.pipeline.impersonation import impersonate
from simkit.engine.pipeline.limits import TooMany
from simkit.engine.pipeline.metrics import route
from simkit.engine.pipeline.negotiation import JSON, Wanted, negotiate
from simkit.engine.pipeline.target import parse
from simkit.meta.attributes import Verdict
from simkit.meta.domain import AUTHORIZATION_GROUP
from simkit.meta.errors import PlainError, StatusError, internal, unauthorized
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response

_LOG: Final = logging.getLogger("simkit.engine")
DECISION, REASON = f"{AUTHORIZATION_GROUP}/decision", f"{AUTHORIZATION_GROUP}/reason"
"""Audit annotations that tell what authorization said, and why."""
Stage = Callable[[Engine, Exchange], Response | None]


def describe(engine: Engine, exchange: Exchange) -> None:
    """What is meant?"""
    request = exchange.request
    exchange.target = parse(request.method, request.path, request.query)


def authenticate(engine: Engine, exchange: Exchange) -> None:
    """Who asks? In process the caller is known already."""
    if exchange.identity is None:
        exchange.identity = _identified(engine, exchange)
    exchange.caller = exchange.identity
    if engine.audit is not None:
        engine.audit.receive(exchange)


def _identified(engine: Engine, exchange: Exchange) -> Identity:
    try:
        identity = engine.authenticator.authenticate(credentials_of(exchange.request))
        if identity is None:
            raise unauthorized()
    except StatusError:
        engine.metrics.count("authentication_attempts", "failure")
        if engine.audit is not None:
            engine.audit.refuse(exchange)
        raise
    engine.metrics.count("authentication_attempts", "success")
    return identity


def act_as(engine: Engine, exchange: Exchange) -> None:
    """As whom?"""
    impersonate(engine, exchange)


def make_room(engine: Engine, exchange: Exchange) -> None:
    """Are there too many already?"""
    try:
        engine.limits.enter(exchange)
    except TooMany as error:
        verb, _, *place = route(exchange)
        labels = (exposition.COMPONENT, verb, *place, str(error.code))
        engine.metrics.count("apiserver_request_terminations_total", *labels)
        raise


def authorize(engine: Engine, exchange: Exchange) -> None:
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
        raise PlainError(500, f'Internal Server Error: "{harmless(exchange.request.uri)}": {decision.error}\n')
    denied = decision.verdict is Verdict.DENY
    engine.metrics.count("authorization_attempts_total", "denied" if denied else "no-opinion")
    notes[DECISION], notes[REASON] = "forbid", decision.reason
    raise forbid(ask, decision.reason)


def act(engine: Engine, exchange: Exchange) -> Response:
    """What does it mean here?"""
    if exchange.target.is_resource:
        return dispatch(engine, exchange)
    return paths.answer(engine, exchange)


STAGES: Final[Sequence[Stage]] = (describe, authenticate, act_as, make_room, authorize, act)


def travel(engine: Engine, request: Request, identity: Identity | None = None) -> Response:
    """The answer to a request. Never raises: what goes wrong is an answer too.

    ``identity`` skips authentication, for callers in the same process.
    """
    exchange, began = Exchange(request, identity=identity), perf_counter()
    try:
        response = _through(engine, exchange)
    except StatusError as error:
        response = refusal(exchange, error)
    except PlainError as error:
        response = Response(error.code, error.text.encode(), "text/plain; charset=utf-8", list(error.headers))
    except Exception as error:
        # The one place where an error of ours becomes an answer: a client gets 500, the log gets the trace.
        _LOG.exception("%s %s failed", request.method, request.path)
        response, exchange.panicked = refusal(exchange, internal(f"{type(error).__name__}: {error}")), True
    response = _finished(exchange, response)
    engine.limits.leave(exchange)
    engine.metrics.observe(exchange, response, perf_counter() - began)
    if exchange.record is not None:
        exchange.record.complete(response)
    return response


def _through(engine: Engine, exchange: Exchange) -> Response:
    for stage in STAGES:
        response = stage(engine, exchange)
        if response is not None:
            return response
    raise AssertionError("the last stage answers")


def refusal(exchange: Exchange, error: StatusError) -> Response:
    """An error as a Status, in the representation that was asked for where it can be had."""
    try:
        wanted = negotiate(exchange.request.header("accept"))
    except StatusError:
        wanted = Wanted()
    media = JSON if wanted.transform and error.code == 406 else wanted.media
    response = represent.document(error.status(), Wanted(media), status=error.code)
    response.headers += error.headers
    return response


def _finished(exchange: Exchange, response: Response) -> Response:
    told = [exchange.deprecation, *exchange.warnings] if exchange.deprecation else exchange.warnings
    for text in dict.fromkeys(told):
        response.headers.append(("Warning", f'299 - "{_escaped(text)}"'))
    if response.content_type == JSON and response.body and represent.wants_pretty(exchange.request):
        response.body = orjson.dumps(orjson.loads(response.body), option=orjson.OPT_INDENT_2) + b"\n"
    return response


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
