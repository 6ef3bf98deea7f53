"""Audit backends: memory, a file or a webhook; blocking or in batches.

Upstream: k8s.io/apiserver/plugin/pkg/audit/buffered/buffered.go and
k8s.io/apiserver/plugin/pkg/audit/truncate/truncate.go, release 1.30.
"""

from __future__ import annotations

import gzip
import logging
import re
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Final, Protocol

import orjson

from simkit.engine.egress.call import Caller, CallFailed
from simkit.engine.pipeline.audit.events import LINES, Event, fitted
from simkit.engine.pipeline.audit.policy import AUDIT_GROUP
from simkit.engine.pipeline.audit.settings import Batching, Form, Truncation
from simkit.meta.clock import Clock
from simkit.meta.deadline import current_deadline
from simkit.meta.errors import SimkitError
from simkit.meta.go_json import compact

# A log file that is rotated by size; old files are removed by age and number

USUAL_MEGABYTES: Final = 100
_MEGABYTE: Final = 1024 * 1024
_PRIVATE: Final = 0o600
_STAMP: Final = "%Y-%m-%dT%H-%M-%S"


class RotatingFile:
    """Appends to a file that only its owner can read. Raises SimkitError for a path that cannot be written.

    Parameters
    ----------
    path
        ``-`` is the standard output, which is never rotated.
    clock
        For the names of old files, and their age.
    max_size, max_age, max_backup
        Megabytes of a file (0: a hundred), days and number of old ones (0: no limit).
    compress
        Whether old files are kept in gzip form.

    Notes
    -----
    The file ``audit.log`` becomes ``audit-2024-04-17T10-00-00.000.log``, as on kube-apiserver.
    """

    def __init__(
        self,
        path: str | Path,
        clock: Clock,
        *,
        max_size: int = 0,
        max_age: int = 0,
        max_backup: int = 0,
        compress: bool = False,
    ) -> None:
        self._path, self._clock = Path(path), clock
        self._most = (max_size or USUAL_MEGABYTES) * _MEGABYTE
        self._max_age, self._max_backup, self._compress = max_age, max_backup, compress
        self._lock = threading.Lock()
        self._standard = str(path) == "-"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open()
        except OSError as error:
            raise SimkitError(f"the audit log {path} cannot be written: {error.strerror or error}") from error

    def _open(self) -> IO[bytes]:
        if self._standard:
            return sys.stdout.buffer
        self._path.touch(_PRIVATE)
        file = self._path.open("ab", buffering=0)
        self._size = self._path.stat().st_size
        return file

    def write(self, text: bytes) -> None:
        """Append some whole lines. Raises OSError."""
        with self._lock:
            if self._standard:
                self._file.write(text)
                self._file.flush()
                return
            if self._size and self._size + len(text) > self._most:
                self._rotate()
            self._file.write(text)
            self._size += len(text)

    def _rotate(self) -> None:
        self._file.close()
        now = self._now()
        stamp = f"{now.strftime(_STAMP)}.{now.microsecond // 1000:03}"
        self._path.rename(self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}"))
        self._file = self._open()
        self._tidy()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def old(self) -> list[Path]:
        """The old files, latest first."""
        return [path for _, path in sorted(self._dated(), reverse=True)]

    def _dated(self) -> Iterator[tuple[datetime, Path]]:
        name = re.escape(self._path.stem) + r"-(.{19})\.(\d{3})" + re.escape(self._path.suffix) + r"(?:\.gz)?"
        for path in self._path.parent.iterdir():
            found = re.fullmatch(name, path.name)
            if found is not None:
                moment = datetime.strptime(found.group(1), _STAMP).replace(tzinfo=UTC)
                yield moment + timedelta(milliseconds=int(found.group(2))), path

    def _tidy(self) -> None:
        """Remove old files by number and age; compress the rest on request."""
        found = sorted(self._dated(), reverse=True)
        kept = found[: self._max_backup] if self._max_backup else found
        if self._max_age:
            oldest = self._now() - timedelta(days=self._max_age)
            kept = [each for each in kept if each[0] >= oldest]
        for each in found:
            if each not in kept:
                each[1].unlink(missing_ok=True)
        if self._compress:
            for _, path in kept:
                if path.suffix != ".gz":
                    _shrink(path)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if not self._standard:
                self._file.close()


def _shrink(path: Path) -> None:
    packed = path.with_name(f"{path.name}.gz")
    packed.touch(_PRIVATE)
    with path.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    path.unlink()


_LOG: Final = logging.getLogger("simkit.audit")


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
    """Writes events to a file, one per line."""

    leaves_process: Final = False

    def __init__(self, file: RotatingFile, form: Form = "json") -> None:
        self._file, self._line = file, LINES[form]

    def write(self, events: Sequence[Event]) -> None:
        try:
            self._file.write(b"".join(map(self._line, events)))
        except OSError as error:
            raise BackendError(str(error)) from error

    def close(self) -> None:
        self._file.close()


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


class TruncatingWriter:
    """Truncates or drops events that are too large for a backend."""

    def __init__(self, backend: EventWriter, limits: Truncation) -> None:
        self._backend, self._limits = backend, limits
        self.leaves_process = backend.leaves_process

    def write(self, events: Sequence[Event]) -> None:
        batches, lost = fitted(events, self._limits)
        for batch in batches:
            self._backend.write(batch)
        if lost:
            raise BackendError(f"{lost} events are too large")

    def close(self) -> None:
        self._backend.close()


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
        self._allowance, self._filled = float(batching.burst), time.monotonic()

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
                self._throttle()
                self._send([orjson.loads(packed) for packed in batch])

    def _batch(self) -> list[bytes]:
        """Remove the oldest events, as many as are sent together."""
        found, length = list[bytes](), 0
        while self._queue and len(found) < self._batching.max_size and length < _MOST_IN_BATCH:
            found.append(self._queue.popleft())
            length += len(found[-1])
        self._bytes -= length
        return found

    def _throttle(self) -> None:
        """Wait until the rate limit allows another batch."""
        batching = self._batching
        if not batching.throttle or self._closing:
            return
        now = time.monotonic()
        self._allowance = min(float(batching.burst), self._allowance + (now - self._filled) * batching.qps)
        self._filled = now
        if self._allowance < 1:
            time.sleep((1 - self._allowance) / batching.qps)
        self._allowance -= 1

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
