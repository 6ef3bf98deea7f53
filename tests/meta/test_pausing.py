"""Steps in an event loop that are paused while they wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import pytest

from simkit.meta.pausing import LoopEvent, can_pause, pausing, result_of, unpaused

T = TypeVar("T")
NAME: ContextVar[str] = ContextVar("name", default="nobody")


class Late(Exception):
    """What a step gets that takes too long."""


async def run(step: Callable[[], T], seconds: float = 30) -> T:
    """The result of a paused step."""
    return await pausing(step, seconds, Late)


def test_steps_are_interleaved_and_keep_their_own_context() -> None:
    """Two steps that wait for each other's event both come to their end, in one thread."""
    said: list[str] = []

    def step(name: str, mine: LoopEvent, other: LoopEvent) -> str:
        NAME.set(name)
        said.append(f"{name} begins")
        mine.set()
        assert other.wait(30)
        said.append(f"{NAME.get()} ends")
        return f"{name} in {threading.current_thread().name}"

    async def both() -> list[object]:
        one, two = LoopEvent(), LoopEvent()
        steps = (run(lambda: step("one", one, two)), run(lambda: step("two", two, one)))
        return list(await asyncio.gather(*steps))

    assert asyncio.run(both()) == ["one in MainThread", "two in MainThread"]
    assert said[:2] == ["one begins", "two begins"]
    assert sorted(said[2:]) == ["one ends", "two ends"]
    assert NAME.get() == "nobody"


def test_an_event_that_another_thread_sets() -> None:
    async def outcome() -> object:
        event = LoopEvent()
        threading.Timer(0.01, event.set).start()
        return await run(lambda: event.wait(30))

    assert asyncio.run(outcome()) is True


def test_an_event_that_nobody_sets() -> None:
    async def outcome() -> object:
        return await run(lambda: LoopEvent().wait(0.01))

    assert asyncio.run(outcome()) is False


def test_errors_reach_the_step_and_its_caller() -> None:
    """What an awaitable raises can be caught in the step; what the step raises is the caller's."""

    async def broken() -> None:
        raise ConnectionError("no answer")

    def step() -> None:
        with pytest.raises(ConnectionError, match="no answer"):
            result_of(broken())
        raise ValueError("the step's own")

    with pytest.raises(ValueError, match="the step's own"):
        asyncio.run(run(step))


def test_a_step_that_takes_too_long_is_told_where_it_waits() -> None:
    def step() -> str:
        try:
            result_of(asyncio.sleep(60))
        except Late:
            return "late"
        return "in time"

    assert asyncio.run(run(step, seconds=0.01)) == "late"


def test_who_may_be_paused() -> None:
    """A step may, unless it says that it holds something; a thread that it starts may not, nor anybody else."""
    found: list[bool] = []

    def step() -> None:
        found.append(can_pause())
        with unpaused(), unpaused():
            found.append(can_pause())
        found.append(can_pause())
        thread = threading.Thread(target=lambda: found.append(can_pause()))
        thread.start()
        thread.join()

    asyncio.run(run(step))
    assert found == [True, False, True, False]
    assert not can_pause()
    with unpaused():
        assert not can_pause()
