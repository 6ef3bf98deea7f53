"""The threads on which requests are worked on that must not keep an event loop from others."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from simkit.engine.http.handler import ExecutionMode
from simkit.engine.http.request_state import Work
from simkit.meta.deadline import Deadline, check_deadline, within
from simkit.meta.turns import TURNS

T = TypeVar("T")
COMPUTING: Final = 2
"""Requests that compute at once. More of them would not be done sooner, and each delays the event loop a little."""
WAITING_AND_COMPUTING: Final = 8
WAITING: Final = 704
"""Requests that wait for something outside: more than there are seats, since seats are given out by priority and
fairness, and threads to whoever comes first."""
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
