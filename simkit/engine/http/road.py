"""The engine's road as the HTTP floor calls it."""

from __future__ import annotations

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.road import travel
from simkit.meta.message import Request, Response


class Road:
    """Answers requests through all stages of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def answer(self, request: Request) -> Response:
        """The engine's answer; who asks is found out on the way."""
        return travel(self._engine, request)

    def blocking(self, request: Request) -> bool:
        """Whether the request waits for a service outside, or for a revision that has not come yet."""
        if self._engine.leaves_process or self._engine.asks_others(request):
            return True
        if not request.query:
            return False
        version = request.option("resourceVersion")
        return version.isascii() and version.isdigit() and self._engine.is_future(int(version))
