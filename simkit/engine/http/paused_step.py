"""Steps in the thread of an event loop that are paused while they wait. A greenlet keeps their frames meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import copy_context
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from simkit.meta.pausing import STEP

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
