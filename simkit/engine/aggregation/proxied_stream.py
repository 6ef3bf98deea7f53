"""A response that another server is still sending, passed on as it comes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from simkit.engine.egress.policy import Unreachable

if TYPE_CHECKING:
    from simkit.engine.egress.peer import PeerResponse

CHUNK: Final = 64 * 1024
MOST_WAITING: Final = 8
"""Chunks that are read ahead of a slow reader; then the backing server has to wait."""
_A_DAY: Final = 86_400.0


class ProxiedStream:
    """Bytes of a response, read ahead by a thread of its own; polled like a watch.

    Parameters
    ----------
    peer_response
        What is read until its end, or until the stream is closed.
    """

    def __init__(self, peer_response: PeerResponse) -> None:
        self._peer_response = peer_response
        self._ready: deque[bytes] = deque()
        self._room = threading.Condition()
        self._callbacks: list[Callable[[], None]] = []
        self.closed = False
        self.blocks = self.computes = self.behind = False
        self.deadline: float | None = _A_DAY
        """The backing server ends its watches itself."""
        threading.Thread(target=self._read, name="simkit-remote", daemon=True).start()

    def _read(self) -> None:
        try:
            while not self.closed and (part := self._peer_response.read(CHUNK)):
                with self._room:
                    self._room.wait_for(lambda: len(self._ready) < MOST_WAITING or self.closed)
                    self._ready.append(part)
                    self._room.notify_all()
                self._tell()
        except Unreachable:
            pass  # A connection that breaks ends the answer; the client starts again from what it has seen.
        finally:
            self.close()
            self._peer_response.close()

    def _tell(self) -> None:
        for callback in tuple(self._callbacks):
            callback()

    def poll(self, limit: int = 512) -> list[bytes]:
        """Chunks that have come, at most ``limit``."""
        with self._room:
            found = [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]
            if found:
                self._room.notify_all()
        return found

    def bookmark(self) -> list[bytes]:
        """No bookmark: the backing server sends its own."""
        return []

    def wait(self, timeout: float | None = None) -> bool:
        """True if something came within some seconds."""
        with self._room:
            self._room.wait_for(lambda: bool(self._ready) or self.closed, timeout)
            return bool(self._ready)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Register a callback, called in the reading thread, for when there may be something to poll."""
        self._callbacks.append(callback)
        if self._ready or self.closed:
            callback()

    def close(self) -> None:
        """End the stream; received chunks can still be polled."""
        if self.closed:
            return
        with self._room:
            self.closed = True
            self._room.notify_all()
        self._peer_response.cut()
        self._tell()
