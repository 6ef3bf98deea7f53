"""The hook that records requests of clients and lets them meet faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simkit.cluster.traffic.faults import Fault, StalledStream
from simkit.cluster.traffic.recorded_requests import RecordedRequests, recorded
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.message import Response


class Traffic:
    """The requests of one cluster's clients, and the faults that they meet."""

    def __init__(self) -> None:
        self.requests = RecordedRequests()
        self._faults: list[Fault] = []

    @classmethod
    def of(cls, engine: Engine) -> Traffic:
        """The traffic of a server; from the first call on it is recorded."""
        if not isinstance(engine.client_hook, Traffic):
            engine.client_hook = cls()
        assert isinstance(engine.client_hook, Traffic)
        return engine.client_hook

    @property
    def waits(self) -> bool:
        """True if requests may be slowed down."""
        return any(fault.kind == "slow" for fault in self._faults)

    def before(self, engine: Any, context: RequestContext) -> Response | None:
        """The answer of a fault; the latest faults come first."""
        for fault in reversed(self._faults):
            answer = fault.before(engine, context)
            if answer is not None:
                return answer
        return None

    def after(self, context: RequestContext, response: Response) -> Response:
        """Record a request."""
        self.requests.add(recorded(context, response))
        if response.stream is not None and any(each.stalls(context) for each in self._faults):
            response.stream = StalledStream(response.stream)
        return response

    @contextmanager
    def meeting(self, fault: Fault) -> Iterator[Fault]:
        """Let requests meet a fault for a while."""
        self._faults.append(fault)
        try:
            yield fault
        finally:
            self._faults.remove(fault)
