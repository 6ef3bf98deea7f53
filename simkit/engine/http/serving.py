"""uvicorn over sockets that listen already: one event loop, one or two listeners, started and stopped together."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.engine.http.asgi import Application
from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError

try:
    import httptools  # noqa: F401 - needed by the protocol; missing together with uvicorn
    import uvicorn
except ImportError as error:
    raise SimkitError(f"serving needs more packages; install them with: {install_hint('serve')}") from error

from simkit.engine.http.connection_reader import GRACE
from simkit.engine.http.protocol import HTTPConnection

_KEEP_ALIVE: Final = 90
"""Seconds that a connection may be idle between requests."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket, with or without TLS."""

    sock: socket.socket
    tls: ssl.SSLContext | None = None


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handlers, with callbacks for listening and for stopping."""

    def __init__(self, config: uvicorn.Config, listens: Callable[[], None], stops: Callable[[], None]) -> None:
        super().__init__(config)
        self._listens, self._stops = listens, stops

    def capture_signals(self) -> Any:
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._listens()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stops()
        await super().shutdown(sockets=sockets)


class ServingLoop:
    """An application on its listeners, inside one event loop.

    Parameters
    ----------
    application
        Answers the requests.
    listeners
        At least one.
    ready
        Called once all of them take connections, in the loop's thread.
    """

    def __init__(
        self,
        application: Application,
        listeners: Sequence[Listener],
        ready: Callable[[], None],
    ) -> None:
        self._application, self._listeners, self._ready = application, listeners, ready
        self._waits_for = len(listeners)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._servers = [self._server(listener) for listener in listeners]

    def _server(self, listener: Listener) -> _Server:
        config = uvicorn.Config(
            self._application,
            http=HTTPConnection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=GRACE + 1,
        )
        config.load()
        config.ssl = listener.tls
        return _Server(config, self._listens, self._application.end_streams)

    def _listens(self) -> None:
        self._waits_for -= 1
        if not self._waits_for:
            self._ready()

    async def serve(self) -> None:
        """Serve until ``stop``."""
        self._loop = asyncio.get_running_loop()
        try:
            pairs = zip(self._servers, self._listeners, strict=True)
            await asyncio.gather(*(server.serve([listener.sock]) for server, listener in pairs))
        finally:
            self._application.close()

    def stop(self) -> None:
        """Make ``serve`` return soon; from any thread, or a signal handler."""
        for server in self._servers:
            server.should_exit = True


def new_loop() -> asyncio.AbstractEventLoop:
    """An event loop of uvloop where the platform has it, else the standard one."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
