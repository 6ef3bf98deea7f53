"""Steps in an event loop that are paused while they wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import pytest

from simkit.engine.http.loop_turns import pausing
from simkit.meta.pausing import PausedStep, Waitable, pausable_step, unpaused

T = TypeVar("T")
NAME: ContextVar[str] = ContextVar("name", default="nobody")


class Late(Exception):
    """What a step gets that takes too long."""


def here() -> PausedStep:
    """The step that calls this."""
    step = pausable_step()
    assert step is not None
    return step


async def run(step: Callable[[], T], seconds: float = 30) -> T:
    """The result of a paused step."""
    return await pausing(step, seconds, Late)


def test_steps_are_interleaved_and_keep_their_own_context() -> None:
    """Two steps that wait for each other's event both come to their end, in one thread."""
    said: list[str] = []
    events: dict[str, Waitable] = {}

    def step(name: str, mine: str, other: str) -> str:
        NAME.set(name)
        said.append(f"{name} begins")
        events[mine] = here().event()
        if other in events:
            events[other].set()
        assert events[mine].wait(30)
        if other in events:
            events[other].set()
        said.append(f"{NAME.get()} ends")
        return f"{name} in {threading.current_thread().name}"

    async def both() -> list[object]:
        steps = (run(lambda: step("one", "1", "2")), run(lambda: step("two", "2", "1")))
        return list(await asyncio.gather(*steps))

    assert asyncio.run(both()) == ["one in MainThread", "two in MainThread"]
    assert said[:2] == ["one begins", "two begins"]
    assert sorted(said[2:]) == ["one ends", "two ends"]
    assert NAME.get() == "nobody"


def test_an_event_that_another_thread_sets() -> None:
    def step() -> bool:
        event = here().event()
        threading.Timer(0.01, event.set).start()
        return event.wait(30)

    assert asyncio.run(run(step)) is True


def test_an_event_that_nobody_sets() -> None:
    assert asyncio.run(run(lambda: here().event().wait(0.01))) is False


def test_errors_reach_the_step_and_its_caller() -> None:
    """What an awaitable raises can be caught in the step; what the step raises is the caller's."""

    async def broken() -> None:
        raise ConnectionError("no answer")

    def step() -> None:
        with pytest.raises(ConnectionError, match="no answer"):
            here().result_of(broken())
        raise ValueError("the step's own")

    with pytest.raises(ValueError, match="the step's own"):
        asyncio.run(run(step))


def test_a_step_that_takes_too_long_is_told_where_it_waits() -> None:
    def step() -> str:
        try:
            here().result_of(asyncio.sleep(60))
        except Late:
            return "late"
        return "in time"

    assert asyncio.run(run(step, seconds=0.01)) == "late"


def test_who_may_be_paused() -> None:
    """A step may, unless it says that it holds something; a thread that it starts may not, nor anybody else."""
    found: list[bool] = []

    def step() -> None:
        found.append(pausable_step() is not None)
        with unpaused(), unpaused():
            found.append(pausable_step() is not None)
        found.append(pausable_step() is not None)
        thread = threading.Thread(target=lambda: found.append(pausable_step() is not None))
        thread.start()
        thread.join()

    asyncio.run(run(step))
    assert found == [True, False, True, False]
    assert pausable_step() is None
    with unpaused():
        assert pausable_step() is None
