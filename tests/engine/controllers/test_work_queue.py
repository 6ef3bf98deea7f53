"""The work queue processes each key at its time, and keeps the error of one from the others."""

from __future__ import annotations

import logging

import pytest

from simkit.client.work_queue import RequeueError, WorkQueue
from simkit.meta.clock import SimulatedClock


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
def queue(clock: SimulatedClock) -> WorkQueue[str]:
    return WorkQueue("test", clock)


def fail(key: str) -> None:
    raise RequeueError


def test_the_error_of_one_key_does_not_stop_the_others(queue: WorkQueue[str], caplog: pytest.LogCaptureFixture) -> None:
    """Every key is processed in order; the failed one is logged, reported, and stays in the queue."""
    seen: list[str] = []
    reported: list[tuple[str, BaseException]] = []

    def reconcile(key: str) -> None:
        seen.append(key)
        if key == "b":
            raise ValueError(key)

    with caplog.at_level(logging.ERROR, "simkit.controllers"):
        queue.process({"c", "b", "a"}, reconcile, lambda key, error: reported.append((key, error)))
    assert seen == ["a", "b", "c"]
    assert [(key, type(error)) for key, error in reported] == [("b", ValueError)]
    assert "test: b" in caplog.text
    assert "b" in queue
    assert "a" not in queue


def test_each_failure_doubles_the_delay_up_to_a_minute(queue: WorkQueue[str], clock: SimulatedClock) -> None:
    """1, 2, 4, ... 60 seconds; a success starts anew."""
    delays = []
    for _ in range(9):
        queue.process(["a"], fail)
        assert queue.next_time is not None
        delays.append(queue.next_time - clock.now())
        assert queue.due() == set()
        clock.advance(delays[-1])
        assert queue.due() == {"a"}
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    queue.process(queue.due(), lambda _: None)
    assert queue.next_time is None
    queue.process(["a"], fail)
    assert queue.next_time == clock.now() + 1


def test_a_key_may_ask_to_be_processed_again(queue: WorkQueue[str], clock: SimulatedClock) -> None:
    """The time that is returned is no failure."""
    queue.process(["a", "b"], lambda key: clock.now() + 5 if key == "a" else None)
    assert queue.next_time == clock.now() + 5
    queue.retry_now()
    assert queue.due() == set()
    queue.all_now()
    assert queue.due() == {"a"}


def test_a_copy_goes_its_own_way(queue: WorkQueue[str], clock: SimulatedClock) -> None:
    """Keys and failures are copied, and not shared."""
    queue.process(["a"], fail)
    other = WorkQueue[str]("other", clock)
    other.copy_from(queue)
    other.process(["a"], fail)
    assert other.next_time == clock.now() + 2
    assert queue.next_time == clock.now() + 1
    other.forget("a")
    assert "a" in queue
