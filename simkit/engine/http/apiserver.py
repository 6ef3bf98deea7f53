"""Adapter of the handler chain to the HTTP floor.

References
----------
k8s.io/apiserver/pkg/server/handler.go (``APIServerHandler``), release 1.30.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.engine.admission.service_account import awaits_account
from simkit.engine.http.request_state import ExecutionMode
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.handler_chain import HandledRequest
from simkit.engine.pipeline.prepared_reads import Moment, PreparedReads
from simkit.engine.pipeline.prepared_reviews import PreparedReviews
from simkit.engine.pipeline.work_estimate import may_pause, takes_long
from simkit.meta.domain import api_group
from simkit.meta.integers import is_digits, saturating_int
from simkit.meta.message import Request, Response
from simkit.schema.health_checks import ENDPOINTS

_REVIEWS: Final = f"/apis/{api_group('authorization')}/"
_HEALTH: Final = tuple(f"/{endpoint}" for endpoint in ENDPOINTS)
_TOKENS: Final = frozenset({"authorization", "sec-websocket-protocol"})
"""The headers in which tokens come."""
_PODS: Final = re.compile(r"/api/v1/namespaces/([^/]+)/pods")


class APIServerHandler:
    """Answers requests through the whole handler chain of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reads = PreparedReads(engine)
        self._reviews = PreparedReviews(engine, self._reads)

    def prepare_to_stop(self) -> None:
        """Make readiness checks fail, because the server is about to stop."""
        self._engine.stopping = True

    def answer(self, request: Request) -> Response:
        """The answer to a request. Authentication is part of it."""
        if request.refreshed or request.method != "GET":  # other reads were tried at once
            prepared = self.at_once(request)
            if prepared is not None:
                return prepared
        began = self._reads.moment()
        handled = HandledRequest(self._engine, request)
        response = handled.serve()
        self._learn(handled, response, began)
        return response

    def at_once(self, request: Request) -> Response | None:
        """The answer to a request like one before; None if the whole handler chain has to answer."""
        if request.method == "GET":
            return self._reads.answer(request)
        if request.body and request.path.startswith(_REVIEWS):  # or its body is still to come
            return self._reviews.answer(request)
        return None

    def _learn(self, handled: HandledRequest, response: Response, began: Moment) -> None:
        context = handled.context
        if context.request.method == "GET":
            self._reads.learn(context, response, began)
        elif context.request.path.startswith(_REVIEWS):
            self._reviews.learn(context, response, began)

    def enter(self, request: Request) -> Response | HandledRequest:
        """The refusal of an unauthenticated or forbidden request, or the request that takes its body."""
        handled = HandledRequest(self._engine, request)
        return handled.serve_headers() or handled

    def execution_mode(self, request: Request) -> ExecutionMode:
        """The execution mode of a request: it may take long, or wait for a service or a later revision."""
        engine, computes = self._engine, takes_long(self._engine, request)
        if engine.shared_store and not computes and request.path.startswith(("/api/", "/apis/")):
            return self._mode_on_shared_store(request)
        return ExecutionMode.of(computes=computes, waits=self._waits(request))

    def _mode_on_shared_store(self, request: Request) -> ExecutionMode:
        """The execution mode of a request that takes next to no time but for the calls of the store."""
        engine, latest = self._engine, "resourceVersion" not in request.query
        hook = engine.client_hook
        waits = self._chain_waits(request) or engine.request_leaves_process(request) or self._awaits_account(request)
        if (hook is not None and hook.waits) or waits:
            return ExecutionMode.REFRESHED_WAITING if latest else ExecutionMode.WAITING
        if request.method != "GET" and engine.admission.leaves_process:
            return ExecutionMode.REFRESHED_WAITING
        if _only_reads(request):
            if latest:
                return ExecutionMode.REFRESHED
            return ExecutionMode.WAITING if self._comes_later(request) else ExecutionMode.INLINE
        if not may_pause(request):
            return ExecutionMode.REFRESHED_WAITING
        return ExecutionMode.PAUSING if request.method == "POST" else ExecutionMode.REFRESHED_PAUSING

    def refresh(self) -> None:
        """Have the store catch up with other servers."""
        self._engine.store.refresh()

    def _waits(self, request: Request) -> bool:
        hook = self._engine.client_hook
        if hook is not None and hook.waits:
            return True
        engine = self._engine
        if engine.inner_parts_leave_process or self._chain_waits(request) or engine.request_leaves_process(request):
            return True
        if request.method == "POST" and request.path[-5:] == "/pods" and self._awaits_account(request):
            return True
        return bool(request.query) and self._comes_later(request)

    def _chain_waits(self, request: Request) -> bool:
        """True if a service outside may be asked who sends the request, or whether it is allowed.

        Nobody is asked about the sender of a health check without a token, which must be answered however many others
        wait for such a service.
        """
        engine = self._engine
        if request.path.startswith(_HEALTH) and _TOKENS.isdisjoint(request.headers):
            return engine.decision_leaves_process
        return engine.chain_leaves_process

    def _awaits_account(self, request: Request) -> bool:
        """True if a request makes a pod in a namespace whose account is still to come."""
        found = _PODS.fullmatch(request.path) if request.method == "POST" else None
        return found is not None and awaits_account(self._engine.store, found[1])

    def _comes_later(self, request: Request) -> bool:
        """True if a request is about a revision that is still to come."""
        version = request.option("resourceVersion")
        return is_digits(version) and self._engine.is_future(saturating_int(version) or 0)


def _only_reads(request: Request) -> bool:
    """True if a request needs nothing of the store but its state."""
    if request.method == "POST":
        return request.path.startswith(_REVIEWS)
    return request.method == "GET" and "/proxy" not in request.path
