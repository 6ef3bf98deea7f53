"""Where audit events go: memory, a file of JSON lines, a webhook."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final, Protocol

import orjson

from simkit.engine.outside.call import Caller, CallFailed
from simkit.engine.pipeline.audit_policy import AUDIT_GROUP
from simkit.meta.errors import SimkitError

_LOG: Final = logging.getLogger("simkit.audit")
Event = dict[str, Any]


class Sink(Protocol):
    """Takes events. An implementation must not keep the caller waiting for others, and must not change an event."""

    @property
    def name(self) -> str:
        """What the metrics call it."""
        ...

    def take(self, event: Event) -> None:
        """Record one event."""
        ...

    def close(self) -> None:
        """Write what is still waiting, and let go of files and threads."""
        ...


class Memory:
    """Keeps the latest events.

    Parameters
    ----------
    limit
        How many; None keeps all.
    """

    name = "memory"

    def __init__(self, limit: int | None = 100_000) -> None:
        self._events: deque[Event] = deque(maxlen=limit)

    @property
    def events(self) -> list[Event]:
        """The events so far, oldest first."""
        return list(self._events)

    def take(self, event: Event) -> None:
        self._events.append(event)

    def close(self) -> None:
        """Nothing waits."""


class JsonLines:
    """Appends events to a file, one a line; ``-`` is the standard output. Raises SimkitError for a path that cannot."""

    name = "log"

    def __init__(self, path: str | Path) -> None:
        self._lock = threading.Lock()
        self._file: IO[bytes]
        if str(path) == "-":
            self._file = sys.stdout.buffer
            return
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = Path(path).open("ab", buffering=0)  # noqa: SIM115 - closed by close
        except OSError as error:
            raise SimkitError(f"the audit log {path} cannot be written: {error.strerror or error}") from error

    def take(self, event: Event) -> None:
        line = orjson.dumps(event) + b"\n"
        with self._lock:
            self._file.write(line)

    def close(self) -> None:
        with self._lock:
            if self._file is not sys.stdout.buffer:
                self._file.close()


class Webhook:
    """Sends events in batches, from a thread of its own.

    Parameters
    ----------
    caller
        How the service is called.
    failed
        Called with the number of events that were lost, because the service did not take them or too many waited.
    batch, wait, waiting
        Events in one call at most, seconds until a smaller batch goes, events that may wait.
    """

    name = "webhook"
    _ATTEMPTS: Final = 5

    def __init__(
        self,
        caller: Caller,
        failed: Callable[[int], None],
        *,
        batch: int = 400,
        wait: float = 30.0,
        waiting: int = 10_000,
        backoff: float = 1.0,
    ) -> None:
        self._caller, self._failed = caller, failed
        self._batch, self._wait, self._waiting, self._backoff = batch, wait, waiting, backoff
        self._queue: deque[Event] = deque()
        self._news = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    def take(self, event: Event) -> None:
        with self._news:
            if len(self._queue) >= self._waiting:
                self._failed(1)
                return
            self._queue.append(event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="simkit-audit", daemon=True)
                self._thread.start()
            if len(self._queue) >= self._batch:
                self._news.notify()

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._closing or len(self._queue) >= self._batch, timeout=self._wait)
                events = [self._queue.popleft() for _ in range(min(self._batch, len(self._queue)))]
                if self._closing and not events:
                    return
            if events:
                self._send(events)

    def _send(self, events: Sequence[Event]) -> None:
        head = {"kind": "EventList", "apiVersion": f"{AUDIT_GROUP}/v1", "metadata": {}}
        body = orjson.dumps({**head, "items": list(events)})
        for attempt in range(self._ATTEMPTS):
            try:
                self._caller.post(body)
                return
            except CallFailed as error:
                if attempt + 1 == self._ATTEMPTS or not error.worth_repeating or self._closing:
                    _LOG.warning("the audit webhook did not take %d events: %s", len(events), error)
                    self._failed(len(events))
                    return
                time.sleep(self._backoff * 1.5**attempt)

    def close(self) -> None:
        with self._news:
            self._closing = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join(timeout=5)
