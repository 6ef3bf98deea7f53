"""Has a store catch up with other servers once for all requests of an event loop that came meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from simkit.engine.http.paused_step import pausing
from simkit.meta.deadline import too_late
from simkit.meta.errors import StatusError

_LOG = logging.getLogger("simkit.http")


class Refreshing:
    """The refreshes of a store for the requests of one event loop. Used in its thread.

    A refresh that has begun may miss a write that was made since. So a request that comes during one waits for the
    next, together with all others that come meanwhile; they cost one call, however many they are.

    Parameters
    ----------
    refresh
        Catches up with other servers, and is paused meanwhile. It may raise StatusError.
    seconds
        How long that may take.
    """

    def __init__(self, refresh: Callable[[], None], seconds: float) -> None:
        self._refresh, self._seconds = refresh, seconds
        self._loop = asyncio.get_running_loop()
        self._next: list[asyncio.Future[bool]] = []
        self._present: asyncio.Task[None] | None = None

    def refreshed(self) -> asyncio.Future[bool]:
        """Done when the store has caught up with all that was written before this call; False where it could not."""
        waiter: asyncio.Future[bool] = self._loop.create_future()
        self._next.append(waiter)
        if self._present is None:
            self._present = self._loop.create_task(self._serve())
        return waiter

    async def _serve(self) -> None:
        while self._next:
            waiters, self._next = self._next, []
            succeeded = False
            try:
                await pausing(self._refresh, self._seconds, too_late)
                succeeded = True
            except StatusError as error:  # the request itself tries again, and tells its client
                _LOG.info("the store did not catch up: %s", error)
            finally:
                for waiter in waiters:
                    if not waiter.done():  # its client may have gone
                        waiter.set_result(succeeded)
        self._present = None
