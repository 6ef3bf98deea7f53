"""Turns of threads that compute."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from simkit.meta.turns import Turns


def test_one_computes_at_a_time_and_all_come_to_their_end() -> None:
    """Whoever passes its turn on at each step is in turn with all others, and no two are within one."""
    turns, inside, met = Turns(length=0, patience=60), 0, list[int]()

    def step(name: int) -> None:
        nonlocal inside
        while not met and len(turns.waiting) < 3:
            time.sleep(0.001)
        for _ in range(50):
            inside += 1
            assert inside == 1
            met.append(name)
            inside -= 1
            turns.pass_on()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(turns.within, lambda name=name: step(name)) for name in range(4)]:
            done.result()
    assert sorted(met) == sorted(list(range(4)) * 50)
    assert sum(one != other for one, other in itertools.pairwise(met)) > 150


def test_a_turn_that_is_not_passed_on_stops_nobody() -> None:
    """A thread that holds what the one with the turn waits for goes on without a turn, and takes none from anybody."""
    turns, held, stuck = Turns(patience=0.01), threading.Event(), threading.Event()

    def holds_the_turn() -> bool:
        stuck.set()
        return held.wait(60)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(turns.within, holds_the_turn)
        assert stuck.wait(60)
        pool.submit(turns.within, held.set).result()
        assert first.result()
    assert not turns.waiting
    assert turns.within(lambda: True)


def test_whoever_has_no_turn_gets_the_next_one() -> None:
    """After it went on without one, it asks again where it looks at its deadline."""
    turns, held, stuck = Turns(length=60, patience=0.01), threading.Event(), threading.Event()

    def holds_the_turn() -> bool:
        stuck.set()
        return held.wait(60)

    def asks_again() -> tuple[int, int]:
        before = turns.crowded
        held.set()
        turns.pass_on()
        return before, turns.crowded

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(turns.within, holds_the_turn)
        assert stuck.wait(60)
        assert pool.submit(turns.within, asks_again).result() == (1, 0)
        assert first.result()
    assert turns.crowded == 0


def test_an_error_ends_a_turn() -> None:
    """The next one gets it."""
    turns = Turns(patience=60)
    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(turns.within, lambda: 1 // 0).exception(), ZeroDivisionError)
        assert pool.submit(turns.within, lambda: True).result()
