"""How an event loop shares its time: paused steps, turns of connections, and threads for long requests."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from simkit.engine.http.request_state import ExecutionMode, Work
from simkit.meta.deadline import Deadline, check_deadline, too_late, within
from simkit.meta.errors import StatusError
from simkit.meta.pausing import STEP
from simkit.meta.turns import TURNS

# Steps in the thread of an event loop that are paused while they wait. A greenlet keeps their frames meanwhile

T = TypeVar("T")
_SHARED: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, MutableMapping[object, Any]]] = WeakKeyDictionary()


class LoopStep:
    """A step of one event loop. Made in the loop's thread.

    Parameters
    ----------
    pause
        Lets the loop go on until an awaitable is done, and gives its result.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, pause: Callable[[Awaitable[Any]], Any]) -> None:
        self._loop, self._pause = loop, pause
        self.shared = _SHARED.setdefault(loop, WeakKeyDictionary())
        self.kept = 0

    def result_of(self, awaitable: Awaitable[T]) -> T:
        """The result of an awaitable, for which the step is paused. Raises what the awaitable raises."""
        return cast(T, self._pause(awaitable))

    def event(self) -> LoopEvent:
        """A new event, for which the step is paused."""
        return LoopEvent(self._loop, self)


class LoopEvent:
    """An event for which a step is paused, and which any thread may set."""

    def __init__(self, loop: asyncio.AbstractEventLoop, step: LoopStep) -> None:
        self._loop, self._step = loop, step
        self._outcome: asyncio.Future[bool] = loop.create_future()

    def set(self) -> None:
        """Let the step go on."""
        self._loop.call_soon_threadsafe(self._resolve, True)

    def wait(self, timeout: float) -> bool:
        """Pause the step until the event is set, at most some seconds; True if it is."""
        timer = self._loop.call_later(timeout, self._resolve, False)
        try:
            return self._step.result_of(self._outcome)
        finally:
            timer.cancel()

    def _resolve(self, outcome: bool) -> None:
        if not self._outcome.done():
            self._outcome.set_result(outcome)


async def pausing(step: Callable[[], T], seconds: float, too_late: Callable[[], Exception]) -> T:
    """The result of a step that runs in this thread, and is paused wherever it waits for a result or an event.

    Raises what the step raises. After so many seconds it gets the error ``too_late`` from what it waits for.
    """
    from greenlet import getcurrent, greenlet  # only stores outside need it

    loop, paused, context = asyncio.get_running_loop(), greenlet(step), copy_context()
    context.run(STEP.set, LoopStep(loop, getcurrent().switch))
    paused.gr_context = context
    end = loop.time() + seconds
    given: Any = paused.switch()
    while not paused.dead:
        try:
            async with asyncio.timeout_at(end):
                result = await given
        except TimeoutError:
            given = paused.throw(too_late())
        except BaseException as error:  # the step gets it, as if it had waited by itself
            given = paused.throw(error)
        else:
            given = paused.switch(result)
    return cast(T, given)


# Has a store catch up with other servers once for all requests of an event loop that came meanwhile

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


# Turns in which the connections of one event loop go on with what they have received, one behind the other.
# However many clients send more than can be answered in a millisecond, a turn of the loop spends a few on all of them
# together. So clients that send one request wait no longer for a hundred such clients than for one.

SLICE: Final = 0.001
"""Seconds for which requests of one connection are answered, one behind the other; those of all that wait likewise."""


class ReadingTurns:
    """The connections of one loop that have received more than was parsed. Used in the loop's thread.

    Parameters
    ----------
    clock
        Seconds, by which slices are measured.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._waiting: deque[Callable[[], None]] = deque()
        self._scheduled = False

    @property
    def crowded(self) -> bool:
        """True if others wait already, behind whom whoever comes with much has to wait."""
        return bool(self._waiting)

    def later(self, loop: asyncio.AbstractEventLoop, go_on: Callable[[], None]) -> None:
        """Have a connection go on in one of the loop's next turns, behind those that wait already."""
        self._waiting.append(go_on)
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let those that wait go on: at least one of them, and none twice."""
        enough = self._clock() + SLICE
        try:
            for _ in range(len(self._waiting)):
                self._waiting.popleft()()
                if self._clock() > enough:
                    break
        finally:
            self._scheduled = bool(self._waiting)
            if self._scheduled:
                loop.call_soon(self._turn, loop)


_OF_LOOPS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, ReadingTurns]] = WeakKeyDictionary()


def reading_turns(loop: asyncio.AbstractEventLoop) -> ReadingTurns:
    """The turns of the connections of a loop."""
    return _OF_LOOPS.get(loop) or _OF_LOOPS.setdefault(loop, ReadingTurns())


# The threads on which requests are worked on that must not keep an event loop from others

COMPUTING: Final = 2
"""Requests that compute at once. More of them would not be done sooner, and each delays the event loop a little."""
WAITING_AND_COMPUTING: Final = 8
WAITING: Final = 704
"""Requests that wait for something outside: more than there are seats, so that priority levels decide who gets one."""
QUEUED: Final = 128
"""Requests that may wait for a thread on which they can compute; further ones are refused."""


_SWITCHING: Final = 0.00005
"""Seconds after which a thread that computes lets another go on, while a server runs: its loop asks for the
interpreter several times for each request, and would wait for so long each time."""


class QuickSwitches:
    """While entered, by however many servers, threads that compute often let others go on."""

    def __init__(self) -> None:
        self._lock, self._entered, self._usual = threading.Lock(), 0, 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._entered:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(_SWITCHING, self._usual))
            self._entered += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._entered -= 1
            if not self._entered:
                sys.setswitchinterval(self._usual)


QUICK_SWITCHES: Final = QuickSwitches()


class WorkerThreads:
    """Some threads for each execution mode but the loop's own.

    Parameters
    ----------
    computing
        Requests that may compute at once.
    queued
        Requests that may wait for each execution_mode in which requests compute.
    """

    def __init__(self, computing: int = COMPUTING, queued: int = QUEUED) -> None:
        sizes = {
            ExecutionMode.COMPUTING: computing,
            ExecutionMode.WAITING_AND_COMPUTING: WAITING_AND_COMPUTING,
            ExecutionMode.WAITING: WAITING,
        }
        self._pools = {
            execution_mode: ThreadPoolExecutor(size, thread_name_prefix=f"simkit-{execution_mode.value}")
            for execution_mode, size in sizes.items()
        }
        self._room = {
            ExecutionMode.COMPUTING: computing + queued,
            ExecutionMode.WAITING_AND_COMPUTING: WAITING_AND_COMPUTING + queued,
        }
        self._lock = threading.Lock()

    def start(self, work: Work) -> Future[Any] | None:
        """Have a step run as soon as there is a thread; None where too many wait already."""
        room = self._room
        if work.execution_mode not in room:
            return self._pools[work.execution_mode].submit(within, work.deadline, work.step)
        with self._lock:
            if not room[work.execution_mode]:
                return None
            room[work.execution_mode] -= 1
        step = _in_turns(work.execution_mode, partial(_unless_too_late, work))
        future = self._pools[work.execution_mode].submit(within, work.deadline, step)
        future.add_done_callback(lambda _: self._leave(work.execution_mode))
        return future

    def _leave(self, execution_mode: ExecutionMode) -> None:
        with self._lock:
            self._room[execution_mode] += 1

    async def run(self, execution_mode: ExecutionMode, step: Callable[[], T]) -> T:
        """The result of a step that has no deadline, and is not counted among those that wait."""
        pool, step = self._pools[execution_mode], _in_turns(execution_mode, step)
        return await asyncio.get_running_loop().run_in_executor(pool, within, Deadline(), step)

    def close(self) -> None:
        """Let go of the threads; requests that still run on them are not waited for."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _in_turns(execution_mode: ExecutionMode, step: Callable[[], T]) -> Callable[[], T]:
    """The step, which takes turns with others if it computes and waits for nothing outside."""
    return partial(TURNS.within, step) if execution_mode is ExecutionMode.COMPUTING else step


def _unless_too_late(work: Work) -> Any:
    check_deadline()
    return work.step()
