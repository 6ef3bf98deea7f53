"""Audit backends: memory, a file or a webhook; blocking or in batches.

Upstream: k8s.io/apiserver/plugin/pkg/audit/buffered/buffered.go, release 1.30.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final, Protocol

import orjson

from simkit.engine.egress.call import Caller, CallFailed
from simkit.engine.pipeline.audit.events import Event, json_line
from simkit.engine.pipeline.audit.policy import AUDIT_GROUP
from simkit.engine.pipeline.audit.settings import Batching
from simkit.meta.deadline import current_deadline
from simkit.meta.errors import SimkitError
from simkit.meta.go_json import compact

_LOG: Final = logging.getLogger("simkit.audit")
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

    @property
    def leaves_process(self) -> bool:
        """True if ``take`` may wait for another process. Requests then run on worker threads."""
        ...

    def take(self, event: Event) -> None:
        """Record one event. Raises BackendError."""
        ...

    def close(self) -> None:
        """Write what is still buffered, and release files and threads."""
        ...


class EventWriter(Protocol):
    """Writes events to their destination. Raises BackendError."""

    @property
    def leaves_process(self) -> bool:
        """True if ``write`` calls another process."""
        ...

    def write(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...


class MemoryBackend:
    """Keeps the latest events.

    Parameters
    ----------
    limit
        How many; None keeps all.
    """

    name = "memory"
    strict = False
    leaves_process: Final = False

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


class LogWriter:
    """Appends events to a file that only its owner can read, one per line. Raises SimkitError if it cannot be written.

    Parameters
    ----------
    path
        ``-`` is the standard output.
    """

    leaves_process: Final = False

    def __init__(self, path: str | Path) -> None:
        self._lock, self._standard = threading.Lock(), str(path) == "-"
        try:
            self._file = sys.stdout.buffer if self._standard else _opened(Path(path))
        except OSError as error:
            raise SimkitError(f"the audit log {path} cannot be written: {error.strerror or error}") from error

    def write(self, events: Sequence[Event]) -> None:
        try:
            with self._lock:
                self._file.write(b"".join(map(json_line, events)))
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


class WebhookWriter:
    """Sends events to a service.

    Parameters
    ----------
    caller
        How the service is called.
    backoff
        Seconds before a call that failed is repeated; half as much longer each time.
    """

    leaves_process: Final = True
    _ATTEMPTS: Final = 5

    def __init__(self, caller: Caller, *, backoff: float = 10.0) -> None:
        self._caller, self._backoff = caller, backoff
        self._closing = threading.Event()

    def write(self, events: Sequence[Event]) -> None:
        head = {"kind": "EventList", "apiVersion": f"{AUDIT_GROUP}/v1", "metadata": {}}
        body = orjson.dumps({**head, "items": list(events)})
        for attempt in range(self._ATTEMPTS):
            try:
                self._caller.post(body)
                return
            except CallFailed as error:
                wait, deadline = self._backoff * 1.5**attempt, current_deadline()
                over = attempt + 1 == self._ATTEMPTS or self._closing.is_set()
                if over or not error.worth_repeating or (deadline is not None and deadline.left < wait):
                    raise BackendError(str(error)) from error
                self._closing.wait(wait)

    def close(self) -> None:
        """Stop retrying."""
        self._closing.set()


class BlockingBackend:
    """Sends every event to a backend at once; the recording request waits."""

    def __init__(self, name: str, backend: EventWriter, *, strict: bool = False) -> None:
        self.name, self.strict, self._backend = name, strict, backend
        self.leaves_process = backend.leaves_process

    def take(self, event: Event) -> None:
        self._backend.write([event])

    def close(self) -> None:
        self._backend.close()


MOST_BUFFERED: Final = 64 * 1024 * 1024
"""Bytes of the events, as JSON, that may wait for a backend."""
_MOST_IN_BATCH: Final = 10 * 1024 * 1024


class BatchingBackend:
    """Sends events to a backend in batches, from a thread of its own, so that no request waits for it.

    Parameters
    ----------
    failed
        Called with the number of events that were lost, because the backend did not take them or too many waited.

    Notes
    -----
    Waiting events are kept as JSON, and those that would take more than 64 MiB together are lost, which kube-apiserver
    counts by number alone.
    """

    strict = False
    leaves_process: Final = False

    def __init__(self, name: str, backend: EventWriter, batching: Batching, failed: Callable[[int], None]) -> None:
        self.name, self._backend, self._batching, self._failed = name, backend, batching, failed
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._news = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    def take(self, event: Event) -> None:
        packed = compact(orjson.dumps(event))
        with self._news:
            if len(self._queue) >= self._batching.buffer_size or self._bytes + len(packed) > MOST_BUFFERED:
                self._failed(1)
                return
            self._queue.append(packed)
            self._bytes += len(packed)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="simkit-audit", daemon=True)
                self._thread.start()
            if len(self._queue) >= self._batching.max_size:
                self._news.notify()

    def _run(self) -> None:
        size, wait = self._batching.max_size, self._batching.max_wait or None
        while True:
            with self._news:
                self._news.wait_for(lambda: self._closing or len(self._queue) >= (size if wait else 1), timeout=wait)
                batch = self._batch()
                if self._closing and not batch:
                    return
            if batch:
                self._send([orjson.loads(packed) for packed in batch])

    def _batch(self) -> list[bytes]:
        """Remove the oldest events, as many as are sent together."""
        found, length = list[bytes](), 0
        while self._queue and len(found) < self._batching.max_size and length < _MOST_IN_BATCH:
            found.append(self._queue.popleft())
            length += len(found[-1])
        self._bytes -= length
        return found

    def _send(self, events: Sequence[Event]) -> None:
        try:
            self._backend.write(events)
        except BackendError as error:
            _LOG.warning("the audit %s did not take %d events: %s", self.name, len(events), error)
            self._failed(len(events))

    def close(self) -> None:
        with self._news:
            self._closing = True
            self._news.notify()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._backend.close()
