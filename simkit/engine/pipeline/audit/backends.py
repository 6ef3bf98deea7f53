"""Audit backends: memory and a file."""

from __future__ import annotations

import sys
import threading
from collections import deque
from pathlib import Path
from typing import IO, Final, Protocol

from simkit.engine.pipeline.audit.events import Event, json_line
from simkit.meta.errors import SimkitError

_PRIVATE: Final = 0o600


class BackendError(Exception):
    """Events that could not be recorded; the text is the reason."""


class Backend(Protocol):
    """A receiver of events. An implementation must not change an event."""

    @property
    def name(self) -> str:
        """The name of the backend in metrics."""
        ...

    @property
    def strict(self) -> bool:
        """True if a request is refused whose coming could not be recorded."""
        ...

    def take(self, event: Event) -> None:
        """Record one event. Raises BackendError."""
        ...

    def close(self) -> None:
        """Release files."""
        ...


class MemoryBackend:
    """Keeps the latest events.

    Parameters
    ----------
    limit
        How many; None keeps all.
    """

    name = "memory"
    strict = False

    def __init__(self, limit: int | None = 100_000) -> None:
        self._events: deque[Event] = deque(maxlen=limit)

    @property
    def events(self) -> list[Event]:
        """The events so far, oldest first."""
        return list(self._events)

    def take(self, event: Event) -> None:
        self._events.append(event)

    def close(self) -> None:
        """No effect: nothing is buffered."""


class LogBackend:
    """Appends events to a file that only its owner can read, one per line. Raises SimkitError if it cannot be written.

    Parameters
    ----------
    path
        ``-`` is the standard output.
    """

    name = "log"

    def __init__(self, path: str | Path, *, strict: bool = False) -> None:
        self.strict = strict
        self._lock, self._standard = threading.Lock(), str(path) == "-"
        try:
            self._file = sys.stdout.buffer if self._standard else _opened(Path(path))
        except OSError as error:
            raise SimkitError(f"the audit log {path} cannot be written: {error.strerror or error}") from error

    def take(self, event: Event) -> None:
        try:
            with self._lock:
                self._file.write(json_line(event))
                self._file.flush()
        except OSError as error:
            raise BackendError(str(error)) from error

    def close(self) -> None:
        with self._lock:
            if not self._standard:
                self._file.close()


def _opened(path: Path) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(_PRIVATE)
    return path.open("ab")
