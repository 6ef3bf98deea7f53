"""What ended connections leave free is given back to the system."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from simkit.engine.http.heap import AFTER, Heap, trimmer


class Clockwork:
    """The timers of an event loop, rung by hand."""

    def __init__(self) -> None:
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, delay: float, callback: Callable[[], None]) -> object:
        self.timers.append((delay, callback))
        return object()


def test_one_trim_for_all_that_ended() -> None:
    """However many connections end, the heap is trimmed once, and again for those that end afterwards."""
    trims: list[int] = []

    def trim(keep: int) -> int:
        trims.append(keep)
        return 1

    loop, heap = Clockwork(), Heap(trim)
    for _ in range(3):
        heap.ended(loop.call_later)
    assert [delay for delay, _ in loop.timers] == [AFTER]
    loop.timers.pop()[1]()
    heap.ended(loop.call_later)
    assert (trims, len(loop.timers)) == ([0], 1)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' C libraries give memory back by themselves")
def test_the_c_library_is_asked() -> None:
    """The function is there where the C library is glibc, and takes what to keep at the top."""
    found = trimmer()
    if found is None:
        pytest.skip("this C library has no such function")
    assert found(0) in (0, 1)
