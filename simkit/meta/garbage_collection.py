"""Settings of Python's garbage collector for phases that allocate many objects and leave little garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_YOUNG: Final = 50_000
"""The allocations before the youngest generation is collected: a hundred written pods."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """A context in which garbage collection is paused. It has no effect if it is off already.

    Examples
    --------
    >>> with collection_paused():
    ...     gc.isenabled()
    False
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def collect_seldom() -> None:
    """Make collections rare and freeze all present objects, for a server process.

    What a server makes is stored and stays, or goes at once by itself; looking it through again and again takes a
    third of the time of a write.
    """
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 100)
