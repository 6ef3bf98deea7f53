"""Work in the thread of an event loop that is paused while it waits for something, and lets the loop go on.

The engine's code is synchronous: who writes into a store gets the result of the call. Where that store is a service
outside, such a call would need a thread for each request, and threads of Python get into each other's way. A greenlet
keeps a step's frames instead, so that the loop can go on with others and come back.

A step that is paused must hold no lock: the next step in the same thread could take it again, or wait for it forever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")


class _Step:
    """A step that may be paused.

    Parameters
    ----------
    pause
        Lets the loop go on until an awaitable is done, and gives its result.
    """

    def __init__(self, pause: Callable[[Awaitable[Any]], Any]) -> None:
        self.pause = pause
        self.kept = 0
        """How many contexts of ``unpaused`` it has entered."""


_STEP: Final[ContextVar[_Step | None]] = ContextVar("simkit-pausing", default=None)
"""The step whose code runs now."""


def can_pause() -> bool:
    """True if the caller belongs to a step of ``pausing``, so that it may call ``result_of``."""
    step = _STEP.get()
    return step is not None and not step.kept


def result_of(awaitable: Awaitable[T]) -> T:
    """The result of an awaitable, for which the calling step is paused. Raises what the awaitable raises."""
    step = _STEP.get()
    assert step is not None
    return cast(T, step.pause(awaitable))


@contextmanager
def unpaused() -> Iterator[None]:
    """A context in which a step is not paused: what it waits for keeps its event loop from others."""
    step = _STEP.get()
    if step is None:
        yield
        return
    step.kept += 1
    try:
        yield
    finally:
        step.kept -= 1


async def pausing(step: Callable[[], T], seconds: float, too_late: Callable[[], Exception]) -> T:
    """The result of a step that runs in this thread, and is paused wherever it asks ``result_of``.

    Raises what the step raises. After so many seconds it gets the error ``too_late`` from what it waits for.
    """
    from greenlet import getcurrent, greenlet  # only stores outside need it

    paused = greenlet(step)
    paused.gr_context = _context_of(_Step(getcurrent().switch))
    end = asyncio.get_running_loop().time() + seconds
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


def _context_of(step: _Step) -> Context:
    context = copy_context()
    context.run(_STEP.set, step)
    return context


class LoopEvent:
    """An event for which a step is paused, and which any thread may set."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._set: asyncio.Future[bool] = self._loop.create_future()

    def set(self) -> None:
        """Let the step go on."""
        self._loop.call_soon_threadsafe(self._resolve, True)

    def wait(self, seconds: float) -> bool:
        """Pause until it is set, at most some seconds; True if it is."""
        timer = self._loop.call_later(seconds, self._resolve, False)
        try:
            return result_of(self._set)
        finally:
            timer.cancel()

    def _resolve(self, outcome: bool) -> None:
        if not self._set.done():
            self._set.set_result(outcome)
