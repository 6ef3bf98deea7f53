"""Sessions over SPDY/3.1: streams named by their headers, as kubectl opens them.

Upstream: k8s.io/kubelet/pkg/cri/streaming/{remotecommand,portforward}/httpstream.go, release 1.30.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from simkit.engine.http.upgrade.remote_command import CommandDriver
from simkit.engine.http.upgrade.spdy import Closed, Opened, Pinged, Received, SpdyConnection, SpdyError
from simkit.engine.http.upgrade.status import exit_status, plain_exit
from simkit.engine.http.upgrade.stream_protocols import channel
from simkit.engine.pipeline.subresources.connection_session import CommandSession, PortSession
from simkit.engine.seams import PortHandler, has_closed
from simkit.meta.errors import StatusError

Write = Callable[[bytes], None]
_LINGER: Final = 0.05
"""Seconds that a client has to read the end before the connection goes."""
_MOST_STREAMS: Final = 1024
_STREAMS: Final = frozenset({"stdin", "stdout", "stderr", "error", "resize"})
"""The purposes of the streams of a command."""


class SpdySession:
    """One connection in SPDY/3.1; ``write`` and ``close`` lead to the client, directly or through a tunnel."""

    def __init__(
        self,
        session: CommandSession | PortSession,
        protocol: str,
        write: Write,
        close: Callable[[], None],
        waiting: Callable[[], int],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._spdy = SpdyConnection()
        self._write, self._close, self._loop = write, close, loop
        self._end = (
            _Command(session, protocol, self, waiting) if isinstance(session, CommandSession) else _Ports(session, self)
        )

    @property
    def full(self) -> bool:
        """True while so much waits at its other end that no more should be read."""
        return self._end.full

    def received(self, data: bytes) -> None:
        """Take bytes from the client; what is no SPDY ends the connection."""
        try:
            for event in self._spdy.receive(data):
                self._on(event)
        except SpdyError:
            self._close()

    def _on(self, event: Opened | Received | Closed | Pinged) -> None:
        if isinstance(event, Pinged):
            self._write(event.answer)
        elif isinstance(event, Opened):
            self._write(self._spdy.reply(event.stream))
            self._end.opened(event.stream, {name.lower(): value for name, value in event.headers.items()})
            if event.fin:
                self._end.data(event.stream, b"", fin=True)
        elif isinstance(event, Received):
            self._end.data(event.stream, event.data, fin=event.fin)
        elif event.stream == 0:
            self._close()
        else:
            self._end.data(event.stream, b"", fin=True)

    def send(self, stream: int, data: bytes, *, fin: bool = False) -> None:
        """Send data on a stream."""
        self._write(self._spdy.data(stream, data, fin=fin))

    def finish(self) -> None:
        """Close, after the client had time to read the end."""
        self._loop.call_later(_LINGER, self._close)

    def lost(self) -> None:
        """The client is gone."""
        self._end.stop()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""
        return self._loop


class _Command:
    """The streams of one command."""

    def __init__(self, session: CommandSession, protocol: str, link: SpdySession, waiting: Callable[[], int]) -> None:
        self._session, self._protocol, self._link, self.waiting = session, protocol, link, waiting
        self._streams: dict[str, int] = {}
        self._driver = CommandDriver(session, self, link.loop)
        wanted = {"stdin": session.stdin, "stdout": session.stdout, "stderr": session.stderr, "resize": session.tty}
        self._missing = {"error", *(name for name, asked in wanted.items() if asked)}
        if protocol in (channel("v2"), channel(), ""):
            self._missing.discard("resize")

    @property
    def full(self) -> bool:
        return self._driver.full

    def opened(self, stream: int, headers: dict[str, str]) -> None:
        name = headers.get("streamtype", "")
        if name not in _STREAMS:
            return
        self._streams[name] = stream
        self._missing.discard(name)
        if not self._missing:
            self._driver.pump()

    def data(self, stream: int, data: bytes, *, fin: bool) -> None:
        if stream != self._streams.get("stdin"):
            return
        if data:
            self._driver.feed(data)
        if fin:
            self._driver.end_input()

    def output(self, stream: str, data: bytes) -> None:
        if stream in self._streams:
            self._link.send(self._streams[stream], data)

    def ended(self) -> None:
        told = (exit_status if self._protocol == channel("v4") else plain_exit)(self._session.process)
        for name in ("stdout", "stderr"):
            if name in self._streams:
                self._link.send(self._streams[name], b"", fin=True)
        if "error" in self._streams:
            self._link.send(self._streams["error"], told, fin=True)
        self._link.finish()

    def stop(self) -> None:
        self._driver.leave()


class _Ports:
    """Pairs of streams, each for one connection to a port."""

    full: Final = False

    def __init__(self, session: PortSession, link: SpdySession) -> None:
        self._session, self._link = session, link
        self._errors: dict[str, int] = {}
        self._data: dict[int, tuple[str, PortHandler]] = {}

    def opened(self, stream: int, headers: dict[str, str]) -> None:
        request = headers.get("requestid", "")
        if headers.get("streamtype") == "error":
            if len(self._errors) < _MOST_STREAMS:
                self._errors[request] = stream
            return
        if len(self._data) >= _MOST_STREAMS:
            self._link.send(stream, b"", fin=True)
            return
        try:
            port = int(headers.get("port", "0")[:6])
            self._data[stream] = (request, self._session.handler(port))
        except (ValueError, StatusError) as error:
            if request in self._errors:
                self._link.send(self._errors.pop(request), str(error).encode(), fin=True)
            self._link.send(stream, b"", fin=True)

    def data(self, stream: int, data: bytes, *, fin: bool) -> None:
        if stream not in self._data:
            return
        request, handler = self._data[stream]
        answer = handler(data) if data else b""
        if answer:
            self._link.send(stream, answer)
        if fin or has_closed(handler):
            del self._data[stream]
            self._link.send(stream, b"", fin=True)
            if request in self._errors:
                self._link.send(self._errors.pop(request), b"", fin=True)

    def stop(self) -> None:
        self._data.clear()
