"""Work that a thread repeats; an etcd that does not answer is reported, and asked again the next time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from simkit.meta.errors import StatusError

_LOG: Final = logging.getLogger("simkit.storage.etcd")


class Periodic:
    """A thread that calls a function again and again, the first time after one interval of seconds."""

    def __init__(self, name: str, work: Callable[[], object], interval: float) -> None:
        self._name, self._work, self._interval = name, work, interval
        self._stopped = threading.Event()

    def start(self) -> None:
        """Call it from now on, until ``stop``."""
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def stop(self) -> None:
        """Call it no more."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            try:
                self._work()
            except StatusError as error:
                _LOG.warning("%s: %s", self._name, error)
