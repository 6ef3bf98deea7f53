"""Has a store catch up with other servers once for all requests of an event loop that came meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future

from simkit.meta.errors import StatusError


class Refreshing:
    """The refreshes of a store for the requests of one event loop. Used in its thread.

    A refresh that has begun may miss a write that was made since. So a request that comes during one waits for the
    next, together with all others that come meanwhile; they cost one thread and one call, however many they are.

    Parameters
    ----------
    refresh
        Catches up with other servers. It may wait, and raise StatusError.
    executor
        Where that is called.
    """

    def __init__(self, refresh: Callable[[], None], executor: Executor) -> None:
        self._refresh, self._executor = refresh, executor
        self._loop = asyncio.get_running_loop()
        self._next: list[asyncio.Future[bool]] = []
        self._under_way = False

    def refreshed(self) -> asyncio.Future[bool]:
        """Done when the store has caught up with all that was written before this call; False where it could not."""
        waiter: asyncio.Future[bool] = self._loop.create_future()
        self._next.append(waiter)
        if not self._under_way:
            self._begin()
        return waiter

    def _begin(self) -> None:
        waiters, self._next, self._under_way = self._next, [], True

        def told(done: Future[bool]) -> None:
            self._loop.call_soon_threadsafe(self._end, waiters, done)

        self._executor.submit(self._succeeds).add_done_callback(told)

    def _succeeds(self) -> bool:
        try:
            self._refresh()
        except StatusError:
            return False  # the request itself tries again, and tells its client
        return True

    def _end(self, waiters: list[asyncio.Future[bool]], done: Future[bool]) -> None:
        self._under_way = False
        if self._next:
            self._begin()
        for waiter in waiters:
            if not waiter.done():  # its client may have gone
                waiter.set_result(done.result())
