"""Brings a process and the framing of its connection together, in the thread of the event loop."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from simkit.engine.pipeline.subresources.connection_session import CommandSession

_FULL: Final = 1 << 20
"""Bytes that wait for a slow client before the process has to wait too."""
_SLOW: Final = 0.05


class Framing(Protocol):
    """Writes what a process tells. An implementation must not wait."""

    def output(self, stream: str, data: bytes) -> None:
        """Send what the process wrote."""
        ...

    def ended(self) -> None:
        """Tell how it ended, and close."""
        ...

    def waiting(self) -> int:
        """Bytes that the client has not read."""
        ...


class CommandDriver:
    """Drives one process: input goes in as it comes, output goes out as it is there."""

    def __init__(self, session: CommandSession, framing: Framing, loop: asyncio.AbstractEventLoop) -> None:
        self._session, self._framing, self._loop = session, framing, loop
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        session.process.on_change(self._woken)

    def _woken(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.pump)

    def feed(self, data: bytes) -> None:
        """Hand on input."""
        if not self._over and self._session.stdin:
            self._session.process.feed(data)
            self.pump()

    def end_input(self) -> None:
        """Tell that no more input comes."""
        if not self._over:
            self._session.process.end_input()
            self.pump()

    def pump(self) -> None:
        """Send what there is, and come back when there may be more."""
        if self._over:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._framing.waiting() > _FULL:
            self._again(_SLOW)
            return
        process, session = self._session.process, self._session
        for stream, data in process.poll():
            if session.tty:
                stream, data = "stdout", data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            if (stream == "stdout" and session.stdout) or (stream == "stderr" and session.stderr):
                self._framing.output(stream, data)
        if process.exit_code is not None:
            self.stop()
            self._framing.ended()
            return
        pause = process.pause()
        if pause is not None:
            self._again(max(0.0, pause))

    def _again(self, seconds: float) -> None:
        self._timer = self._loop.call_later(seconds, self.pump)

    def stop(self) -> None:
        """Do nothing any more."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
