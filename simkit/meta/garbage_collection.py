"""Settings of Python's garbage collector for phases that allocate many objects and leave little garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_YOUNG: Final = 20_000
"""The allocations before the youngest generation is collected: a hundred written pods."""


_MIDDLE: Final = 3
"""Collections of the youngest until those that survived them are examined too. Each object is examined once by either,
whatever these numbers are; but a collection holds the interpreter, and all threads wait for it: some milliseconds."""
_OLD: Final = 1_600
"""Collections of those until all objects are examined, which takes long."""


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
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
