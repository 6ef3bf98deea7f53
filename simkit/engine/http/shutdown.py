"""Graceful shutdown: health checks fail first, then watches end, then the server stops.

References
----------
k8s.io/apiserver/pkg/server/genericapiserver.go and lifecycle_signals.go, release 1.30.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

_LOOK_EVERY: Final = 0.05


@dataclass(frozen=True, slots=True)
class ShutdownOptions:
    """The steps of a server between the signal and its end; times are in seconds."""

    delay: float = 0.0
    """For so long it goes on as before, but is not ready any more, so that balancers send nobody new."""
    send_retry_after: bool = False
    """Whether it then still listens, and answers new requests with 429 until those under way are done."""
    watches: float = 0.0
    """Over so long its watches end, one by one."""
    patience: float = 60.0
    """For so long requests under way are waited for."""


class ShutdownTarget(Protocol):
    """The steps of an engine when its server is about to end."""

    @property
    def busy(self) -> bool:
        """Whether requests are under way."""
        ...

    def prepare(self) -> None:
        """Tell by the health checks that the server is about to end."""
        ...

    def refuse(self) -> None:
        """Answer new requests with the advice to come again."""
        ...


class GracefulShutdown:
    """Carries out a farewell, in a thread of its own. Told twice, the server stops at once.

    Parameters
    ----------
    engine
        Tells and refuses.
    end_streams
        Ends all watches over some seconds.
    stop
        Stops the server; may be called from any thread.
    """

    def __init__(
        self,
        farewell: ShutdownOptions,
        engine: ShutdownTarget,
        end_streams: Callable[[float], None],
        stop: Callable[[], None],
    ) -> None:
        self._farewell, self._engine = farewell, engine
        self._end_streams, self._stop = end_streams, stop
        self._told = False

    def begin(self) -> None:
        """Start to leave; also from a signal handler."""
        if self._told:
            self._stop()
            return
        self._told = True
        threading.Thread(target=self._leave, name="simkit-leaving", daemon=True).start()

    def _leave(self) -> None:
        farewell = self._farewell
        self._engine.prepare()
        time.sleep(farewell.delay)
        if farewell.send_retry_after:
            self._engine.refuse()
            end = time.monotonic() + farewell.patience
            while self._engine.busy and time.monotonic() < end:
                time.sleep(_LOOK_EVERY)
        if farewell.watches:
            self._end_streams(farewell.watches)
            time.sleep(farewell.watches)
        self._stop()
