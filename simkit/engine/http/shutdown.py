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
    """The delay in which it serves as before but is not ready, so that load balancers send no new requests."""
    send_retry_after: bool = False
    """True if it then still listens, and answers new requests with 429 until running ones are done."""
    watches: float = 0.0
    """The time over which its watches end, one by one."""
    patience: float = 60.0
    """The time that running requests get to finish."""


class ShutdownTarget(Protocol):
    """The steps of an engine when its server is about to shut down."""

    @property
    def busy(self) -> bool:
        """True if requests are being handled."""
        ...

    def prepare(self) -> None:
        """Make readiness checks fail, because the server is about to shut down."""
        ...

    def refuse(self) -> None:
        """Answer further requests with 429 and Retry-After."""
        ...


class GracefulShutdown:
    """Carries out a shutdown in a thread of its own. A second signal stops the server at once.

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
        """Start the shutdown; also from a signal handler."""
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
