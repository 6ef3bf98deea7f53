"""Traces of requests: what each filter, authorizer, admission plugin and watch did with one request.

A traced request runs through the same handler chain as any other, on a view of the engine whose authorizer, escalation
guard and admission chain note what they are asked. Requests that are not traced pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from simkit.engine.admission.chain import Chain, Mutate, Validate
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.handler_chain import HANDLER_CHAIN, Filter, HandledRequest
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.errors import PlainError, StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object
from simkit.seams import Authorizer, Change, EscalationGuard, Mutator, Review, RuleList, Validator

Phase = Literal["mutating", "validating", "escalation check"]
ESCALATION_CHECK: Final = "RBAC escalation check"
"""The name under which the check against privilege escalation is noted, between mutating and validating plugins."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """A question to the authorizer, the filter in which it was asked, and the decision."""

    filter: str
    ask: Attributes
    decision: Decision


@dataclass(frozen=True, slots=True)
class PluginCall:
    """A call of one admission plugin: the object before and after it, and what it said.

    Of a write that met a conflict, the calls of the last try are kept.
    """

    plugin: str
    phase: Phase
    before: Object | None
    after: Object | None
    refusal: str = ""
    warnings: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FilterRun:
    """One filter of the handler chain: its name, whether it answered the request, and the error that it raised."""

    name: str
    answered: bool = False
    code: int = 0
    error: str = ""


@dataclass(slots=True)
class RequestTrace:
    """Everything that was noted about one request, in the order in which it happened."""

    filters: list[FilterRun] = field(default_factory=list)
    authorizations: list[Authorization] = field(default_factory=list)
    plugins: list[PluginCall] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    """The changes of the store during the request."""
    unvalidated: Object | None = None
    """The object as admission changed it, before the kind's own defaulting and validation; None if there is none."""
    validated: Object | None = None
    """The object that validating plugins were given, which the kind's validation has passed; None if none passed."""
    current: str = ""
    """The filter that runs now."""


def trace_request(
    engine: Engine, request: Request, identity: Identity | None = None
) -> tuple[Response, RequestContext, RequestTrace]:
    """The answer to a request, its context, and its trace. Never raises.

    Parameters
    ----------
    identity
        Skips authentication, for callers in the same process.

    Notes
    -----
    Of a store that others write to at the same time, their changes are noted too.
    """
    trace = RequestTrace()
    view = copy(engine)
    view.authorizer = _NotedAuthorizer(engine.authorizer, trace)
    view.guard = _NotedGuard(engine.guard, trace)
    view.admission = _NotedChain(engine.admission, trace)
    handled = HandledRequest(view, request, identity, filters=[_noted(each, trace) for each in HANDLER_CHAIN])
    stop = engine.store.listen(trace.changes.extend)
    try:
        response = handled.serve()
    finally:
        stop()
    return response, handled.context, trace


def _noted(inner: Filter, trace: RequestTrace) -> Filter:
    """The filter, which notes that it ran and how it ended."""

    def run(engine: Engine, context: RequestContext) -> Response | None:
        trace.current = inner.__name__
        try:
            response = inner(engine, context)
        except StatusError as error:
            trace.filters.append(FilterRun(inner.__name__, code=error.code, error=error.message))
            raise
        except PlainError as error:
            trace.filters.append(FilterRun(inner.__name__, code=error.code, error=error.text.strip()))
            raise
        answered = response is not None
        trace.filters.append(FilterRun(inner.__name__, answered, response.status if response is not None else 0))
        return response

    return run


class _NotedAuthorizer:
    """An authorizer that notes each decision."""

    def __init__(self, inner: Authorizer, trace: RequestTrace) -> None:
        self._inner, self._trace = inner, trace
        self.leaves_process = inner.leaves_process

    def authorize(self, ask: Attributes) -> Decision:
        decision = self._inner.authorize(ask)
        self._trace.authorizations.append(Authorization(self._trace.current, ask, decision))
        return decision

    def rules_for(self, identity: Identity, namespace: str) -> RuleList:
        return self._inner.rules_for(identity, namespace)


class _NotedGuard:
    """A check against privilege escalation that notes its refusals."""

    def __init__(self, inner: EscalationGuard, trace: RequestTrace) -> None:
        self._inner, self._trace = inner, trace
        self.leaves_process = inner.leaves_process

    def check_role(self, identity: Identity, role: Object, old: Object | None, *, requested_name: str = "") -> None:
        self._check(lambda: self._inner.check_role(identity, role, old, requested_name=requested_name), role)

    def check_binding(self, identity: Identity, binding: Object, old: Object | None) -> None:
        self._check(lambda: self._inner.check_binding(identity, binding, old), binding)

    def _check(self, check: Callable[[], None], obj: Object) -> None:
        call = PluginCall(ESCALATION_CHECK, "escalation check", obj, obj)
        try:
            check()
        except StatusError as error:
            self._trace.plugins.append(replace(call, refusal=error.message))
            raise
        self._trace.plugins.append(call)


class _NotedChain(Chain):
    """An admission chain that notes each call of a plugin."""

    def __init__(self, inner: Chain, trace: RequestTrace) -> None:
        super().__init__(inner.plugins)
        self._trace = trace

    def mutate(self, review: Review) -> Object:
        self._trace.plugins.clear()  # of a write that is tried again, the last try counts
        self._trace.unvalidated = made = super().mutate(review)
        return made

    def validate(self, review: Review) -> None:
        self._trace.validated = review.object
        super().validate(review)

    def _mutator(self, plugin: Mutator, name: str) -> Mutate:
        return lambda review: self._noted(name, "mutating", review, plugin.mutate) or review.object or {}

    def _validator(self, plugin: Validator, name: str) -> Validate:
        def validate(review: Review) -> None:
            self._noted(name, "validating", review, plugin.validate)

        return validate

    def _noted(self, name: str, phase: Phase, review: Review, ask: Callable[[Review], Object | None]) -> Object | None:
        """The plugin's object, after what it did was noted."""
        heard, known = len(review.warnings), dict(review.annotations)
        made, refusal = None, ""
        try:
            made = ask(review)
        except StatusError as error:
            refusal = error.message
            raise
        finally:
            annotations = tuple(pair for pair in review.annotations.items() if pair not in known.items())
            after = made if phase == "mutating" and not refusal and review.object is not None else review.object
            call = PluginCall(name, phase, review.object, after, refusal, tuple(review.warnings[heard:]), annotations)
            self._trace.plugins.append(call)
        return made
