"""Work in parts: the same results in the same order, whatever a process meets."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import pytest

from simkit.analysis import forked
from simkit.analysis.forked import aside, on_all_cores
from simkit.present import progress

THINGS = list(range(100))


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cores, and no threads but those of a test."""
    monkeypatch.setattr(forked, "_cores", lambda: 3)
    others = threading.active_count() - 1
    count = threading.active_count
    monkeypatch.setattr(threading, "active_count", lambda: count() - others)


def with_process(some: Sequence[int]) -> list[tuple[int, int]]:
    return [(one, os.getpid()) for one in some]


def test_the_results_keep_their_order() -> None:
    """Each part is worked on in a process of its own, the first one here."""
    found = on_all_cores(with_process, THINGS, least=10)
    assert [one for one, _ in found] == THINGS
    assert len({process for _, process in found}) == 3
    assert found[0][1] == os.getpid()


def test_few_things_are_worked_on_here() -> None:
    """And many too while threads run."""
    assert {process for _, process in on_all_cores(with_process, THINGS, least=51)} == {os.getpid()}
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert {process for _, process in on_all_cores(with_process, THINGS, least=10)} == {os.getpid()}
    done.set()
    thread.join()


def test_a_process_that_fails_is_told_here() -> None:
    """Its error is raised here; the part of a process that was killed is worked on again."""

    def odd(some: Sequence[int]) -> list[int]:
        if 99 in some:
            raise ValueError("99 is too much")
        return list(some)

    with pytest.raises(ValueError, match="99 is too much"):
        on_all_cores(odd, THINGS, least=10)
    here = os.getpid()
    assert on_all_cores(lambda some: list(some) if os.getpid() == here else os._exit(1), THINGS, least=10) == THINGS


def test_work_begun_aside_is_done_elsewhere() -> None:
    """Its result, or its error, is given when it is asked for; that of a process that was killed is found here."""
    here = os.getpid()
    assert aside(os.getpid)() != here
    failing = aside(lambda: THINGS[1000])
    with pytest.raises(IndexError, match="list index out of range"):
        failing()
    assert aside(lambda: 7 if os.getpid() == here else os._exit(1))() == 7


def test_with_threads_work_aside_is_done_when_asked_for() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    answer = aside(os.getpid)
    done.set()
    thread.join()
    assert answer() == os.getpid()


def test_what_shows_progress_stops_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer of a task that is under way is a thread: it ends before processes are forked, and begins anew."""
    monkeypatch.setattr(progress, "_is_watched", lambda: True)
    monkeypatch.setattr(progress, "_in_notebook", lambda: False)
    before = threading.active_count()
    with progress.task("working"):
        assert threading.active_count() == before + 1
        assert len({process for _, process in on_all_cores(with_process, THINGS, least=10)}) == 3
        assert threading.active_count() == before + 1
