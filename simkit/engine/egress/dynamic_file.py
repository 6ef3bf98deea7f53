"""A file that is reloaded when it changes, and once a minute.

References
----------
k8s.io/apiserver/pkg/server/dynamiccertificates/dynamic_cafile_content.go, release 1.30.
"""

from __future__ import annotations

import hashlib
import logging
import platform
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final, Generic, TypeVar

from simkit.engine.seams import Meter
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError

_LOG: Final = logging.getLogger("simkit.files")
LOOK_EVERY: Final = 1.0
"""Seconds between checks whether the file has changed."""
READ_EVERY: Final = 60.0
"""Seconds after which the file is read in any case."""
SERVER_HASH: Final = "sha256:" + hashlib.sha256(platform.node().encode()).hexdigest()
"""The name of this server in metrics."""
T = TypeVar("T")


class DynamicFile(Generic[T]):
    """The value of a file's content, kept up to date.

    Parameters
    ----------
    path
        The file.
    build
        Makes of its content what is wanted. Raises SimkitError.
    clock
        When the next look is due.
    counters, family
        Where reloads are counted, if anywhere: under this name with the endings of counter and gauge.

    Notes
    -----
    A file that has become unusable changes nothing, with a warning in the log. Nothing runs in the background: the
    look is taken by whoever asks when it is due.
    """

    def __init__(
        self,
        path: str | Path,
        build: Callable[[bytes], T],
        clock: Clock,
        counters: Meter | None = None,
        family: str = "",
    ) -> None:
        self._path, self._build, self._clock = Path(path), build, clock
        self._counters, self._family = counters, family
        self._content = self._read()
        self._value = build(self._content)
        self._stamp = self._stamped()
        self._looked = self._refreshed = clock.now()
        self._lock = Lock()

    @property
    def known(self) -> T:
        """The value that was read last, without a check of the file."""
        return self._value

    def current(self) -> T:
        """The value of the file, reloaded if that is due."""
        now = self._clock.now()
        if now - self._looked >= LOOK_EVERY and self._lock.acquire(blocking=False):
            try:
                self._look(now)
            finally:
                self._lock.release()
        return self._value

    def _look(self, now: float) -> None:
        self._looked, stamp = now, self._stamped()
        if stamp != self._stamp or now - self._refreshed >= READ_EVERY:
            self._stamp, self._refreshed = stamp, now
            self._reload(now)

    def _reload(self, now: float) -> None:
        try:
            content = self._read()
            if content == self._content:
                return
            self._value, self._content = self._build(content), content
        except SimkitError as error:
            _LOG.warning("%s: everything stays as it was: %s", self._path, error)
            self._tell("failure", now)
            return
        self._tell("success", now)

    def _tell(self, status: str, now: float) -> None:
        if self._counters is None:
            return
        self._counters.count(f"{self._family}s_total", SERVER_HASH, status)
        self._counters.set(f"{self._family}_last_timestamp_seconds", SERVER_HASH, status, value=now)

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise SimkitError(f"{self._path} cannot be read: {error.strerror or error}") from error

    def _stamped(self) -> tuple[int, int, int]:
        """The file's stamp, which changes with the file."""
        try:
            found = self._path.stat()
        except OSError:
            return (0, 0, 0)
        return (found.st_mtime_ns, found.st_size, found.st_ino)
