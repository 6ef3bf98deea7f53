"""The hook that records requests of clients and lets them meet faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simkit.cluster.traffic.faults import Fault, FaultInjector, StalledStream
from simkit.cluster.traffic.recorded_requests import RecordedRequests, recorded
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.request_context import RequestContext
from simkit.meta.clock import Clock
from simkit.meta.message import Response


class Traffic:
    """The requests of one cluster's clients, and the faults that they meet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.requests = RecordedRequests()
        self._injectors: list[FaultInjector] = []

    @classmethod
    def of(cls, engine: Engine) -> Traffic:
        """The traffic of a server; from the first call on it is recorded."""
        if not isinstance(engine.client_hook, Traffic):
            engine.client_hook = cls(engine.clock)
        assert isinstance(engine.client_hook, Traffic)
        return engine.client_hook

    @property
    def waits(self) -> bool:
        """True if requests may be slowed down."""
        return any(fault.kind == "slow" for each in self._injectors for fault in each.faults)

    def before(self, engine: Any, context: RequestContext) -> Response | None:
        """The answer of a fault; the latest faults come first."""
        for injector in reversed(self._injectors):
            answer = injector.before(engine, context)
            if answer is not None:
                return answer
        return None

    def after(self, context: RequestContext, response: Response) -> Response:
        """Record a request."""
        self.requests.add(recorded(context, response))
        if response.stream is not None and any(each.stalls(context) for each in self._injectors):
            response.stream = StalledStream(response.stream)
        return response

    @contextmanager
    def faults(self, faults: tuple[Fault, ...], seed: int) -> Iterator[FaultInjector]:
        """Let requests meet faults for a while."""
        injector = FaultInjector(faults, self._clock, seed)
        self._injectors.append(injector)
        try:
            yield injector
        finally:
            self._injectors.remove(injector)
