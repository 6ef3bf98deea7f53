"""Settings of Python's garbage collector for phases that allocate many objects and leave little garbage."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from simkit.meta.allocator import return_free_memory, share_arenas

_YOUNG: Final = 20_000
"""The allocations before the youngest generation is collected: a hundred written pods."""


_MIDDLE: Final = 3
"""Collections of the youngest until those that survived them are examined too. Each object is examined once by either,
whatever these numbers are; but a collection holds the interpreter, and all threads wait for it: some milliseconds."""
_OLD: Final = 1_600
"""Collections of those until all objects are examined, which takes long."""
_EVERY: Final = 20.0
"""Seconds between two rounds of a server process."""
_GROWN: Final = 1.25
"""The factor by which the kept objects must have grown before they are examined too."""


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
    share_arenas()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)


class Rounds:
    """Collections of a server process: each examines what has come since the one before, and keeps the rest.

    What is kept is examined again when it has grown by a quarter. So garbage that was there for a while, as a fork that
    nobody uses any more, goes soon, and the price of a round is that of what was made since the last one.
    """

    def __init__(self) -> None:
        self._collections, self._kept = -1, gc.get_freeze_count()

    def round(self) -> bool:
        """Collect, unless next to nothing has happened or collections are paused; True if all objects were examined."""
        collections = gc.get_stats()[1]["collections"]
        if collections == self._collections or not gc.isenabled():
            return False
        thorough = gc.get_freeze_count() > _GROWN * self._kept
        if thorough:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        if thorough:
            self._kept = gc.get_freeze_count()
        self._collections = gc.get_stats()[1]["collections"]
        return thorough


def collect_in_background(every: float = _EVERY) -> None:
    """Make such a round now and then, and give free memory back, in a thread, as long as the process lives."""
    rounds, never = Rounds(), threading.Event()

    def run() -> None:
        while not never.wait(every):
            rounds.round()
            return_free_memory()

    threading.Thread(target=run, name="simkit-garbage", daemon=True).start()
