"""Work that a thread repeats; a store or a server that does not answer is reported, and asked again the next time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from simkit.meta.errors import StatusError

_LOG: Final = logging.getLogger("simkit.periodic")


class Periodic:
    """A thread that calls a function again and again, an interval of seconds after the end of the call before.

    Parameters
    ----------
    at_once
        Call it at the start too, not only after one interval.
    patience
        The seconds for which ``stop`` waits for a call under way.
    """

    def __init__(
        self, name: str, work: Callable[[], object], interval: float, *, at_once: bool = False, patience: float = 0.0
    ) -> None:
        self._name, self._work, self._interval = name, work, interval
        self._at_once, self._patience = at_once, patience
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Call it from now on, until ``stop``."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._stopped,), name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Call it no more."""
        self._stopped.set()
        if self._thread is not None and self._patience:
            self._thread.join(timeout=self._patience)
        self._thread = None

    def _run(self, stopped: threading.Event) -> None:
        if self._at_once:
            self._call()
        while not stopped.wait(self._interval):
            self._call()

    def _call(self) -> None:
        try:
            self._work()
        except StatusError as error:
            _LOG.warning("%s: %s", self._name, error)
