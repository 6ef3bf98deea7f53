"""Settings of Python's garbage collector for phases that allocate many objects and leave little garbage."""

from __future__ import annotations

import gc
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from weakref import WeakSet

from simkit.meta.allocator import return_free_memory, share_arenas

_YOUNG: Final = 2_000
"""The allocations before the youngest generation is collected: some ten written pods."""
_MIDDLE: Final = 3
"""Collections of the youngest until those that survived them are examined too. Each object is examined once by either,
whatever these numbers are; but a collection holds the interpreter, and all threads wait for it: a millisecond."""
_OLD: Final = 2
"""Collections of those until their survivors are examined, some 20,000 objects, and kept without a further look."""
_ALL: Final = 2
"""The number of the collection that examines all generations."""
_EVERY: Final = 20.0
"""Seconds between two rounds of a server process."""
_MANY: Final = 80_000
"""Objects that survived a collection of all generations and wait for something that passes: eight milliseconds."""
_LEFT: Final = 8
"""Objects that pass, in use or kept as garbage, from which on all that is kept is worth an examination."""
_GROWN: Final = 0.08
"""The part by which memory must have grown before the kept objects are examined too, if the last time found garbage."""
_GROWN_FIRST: Final = 0.25
"""The same before the first examination; it doubles with each that found hardly anything."""
_HARDLY: Final = 0.02
"""The part of the memory that is hardly anything."""
_REST: Final = 300
"""The pause after an examination of the kept objects, in multiples of the processor time that it took."""
_MUCH: Final = 1.0
"""The part by which memory must have grown for one before that, or however little the last ones found."""
_LOADED: Final = 0.5
"""The part of a processor that a process uses between two rounds if it has much to do: whoever is connected would wait
for an examination of all objects then, which can be made later."""
_ALLOWED: Final = 2_000_000
"""Blocks of memory, some 200 MB, by which it must have grown too for one while there is much to do."""
_PATIENCE: Final = 300.0
"""Seconds for which an examination is put off at most while there is much to do."""

_MANY_MORE: Final = 35
"""Collections of the middle generation until all objects are examined, while much is made: 200,000 objects that stayed
take a fifth of a second to examine together with the rest of a process."""

_PASSING: Final = WeakSet[object]()


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


class _Rarer:
    """Those that make much at present, and the settings of the collector before."""

    lock, makers, before = threading.Lock(), 0, (0, 0, 0)


@contextmanager
def collection_rarer() -> Iterator[None]:
    """A context in which garbage is collected in larger portions, for work that makes many objects which stay.

    Nothing changes where collections are off, or where a server process has settings of its own.
    """
    with _Rarer.lock:
        if not _Rarer.makers:
            _Rarer.before = young, middle, old = gc.get_threshold()
            if young and freeze_survivors not in gc.callbacks:
                gc.set_threshold(max(young, _YOUNG), middle, max(old, _MANY_MORE))
        _Rarer.makers += 1
    try:
        yield
    finally:
        with _Rarer.lock:
            _Rarer.makers -= 1
            if not _Rarer.makers and freeze_survivors not in gc.callbacks:
                gc.set_threshold(*_Rarer.before)


def collect_seldom() -> None:
    """Make collections rare and short, and freeze all present objects, for a server process.

    What a server makes is stored and stays, or goes at once by itself; looking it through again and again takes a
    third of the time of a write. So whatever survives the collection of all generations is frozen (see ``Rounds``), and
    no collection examines more than what was made since the one before.
    """
    share_arenas()
    gc.freeze()
    gc.collect()  # which counts none: the collector waits until a quarter more than it has counted came
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
    if freeze_survivors not in gc.callbacks:
        gc.callbacks.append(freeze_survivors)


def will_pass(owner: object) -> None:
    """Say that an object and what it refers to in circles will soon be garbage, as a fork of a cluster is.

    As long as there is one, what survives is not frozen at once: it would stay as garbage until memory has grown, and
    with a fork everything that was stored when it was made.
    """
    _PASSING.add(owner)


def freeze_survivors(phase: str, info: Mapping[str, int]) -> None:
    """Freeze what survived a collection of all generations; the collector calls it."""
    if phase == "stop" and info["generation"] == _ALL and (not _PASSING or len(gc.get_objects(_ALL)) > _MANY):
        gc.freeze()


_OF_THIS_THREAD: Final[Callable[[], float]] = getattr(time, "thread_time", time.process_time)
"""A browser's Python has one thread, and no clock for it."""


class Rounds:
    """Collections of a server process: each examines what has come since the one before, and keeps the rest.

    What is kept is examined again when memory has grown by a twelfth, or by more after an examination that found hardly
    anything, as in a server that only stores more and more; and when several objects of which it was said that they
    pass are still there, since the collector looked while they were in use. So garbage that was there for a while, as a
    fork that was used for long, goes soon; and the price of a round is that of what was made since the last one. An
    examination holds the interpreter, and all who are connected wait for it: the longer it took, the later is the next
    one, unless memory has doubled. While the process has much to do one is put off, for some minutes at most.

    Parameters
    ----------
    seconds
        The clock.
    spent
        Seconds of processor time of this thread: a machine with much else to do changes them little.
    used
        Seconds of processor time of the whole process.
    allowed
        Blocks by which memory may grow while the process has much to do.
    """

    def __init__(
        self,
        seconds: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = _OF_THIS_THREAD,
        used: Callable[[], float] = time.process_time,
        allowed: int = _ALLOWED,
    ) -> None:
        self._collections, self._blocks, self._grown = -1, sys.getallocatedblocks(), _GROWN_FIRST
        self._seconds, self._spent, self._used, self._rested = seconds, spent, used, -math.inf
        self._looked, self._allowed = (seconds(), used()), allowed
        self._put_off: float | None = None
        self._left = _LEFT

    def round(self) -> bool:
        """Collect, unless next to nothing has happened or collections are paused; True if all objects were examined."""
        collections = gc.get_stats()[1]["collections"]
        if collections == self._collections or not gc.isenabled():
            return False
        now = self._seconds()
        loaded, rests = self._is_loaded(now), now < self._rested
        before = sys.getallocatedblocks()  # to count the kept objects takes longer than many a request
        grown = before > (1 + self._grown) * self._blocks or len(_PASSING) >= self._left
        thorough = before > (1 + _MUCH) * self._blocks if rests else grown
        if thorough and loaded:
            self._put_off = now if self._put_off is None else self._put_off
            urgent = before > (1 + _MUCH) * self._blocks and before > self._blocks + self._allowed
            thorough = urgent or now - self._put_off >= _PATIENCE
        began = self._spent()
        if thorough:
            self._put_off = None
            gc.unfreeze()
        gc.collect()
        gc.collect()  # which counts what was not frozen
        if thorough:
            self._rested = self._seconds() + _REST * (self._spent() - began)
            self._blocks = sys.getallocatedblocks()
            self._left = max(_LEFT, 2 * len(_PASSING))
            in_vain = self._blocks > (1 - _HARDLY) * before
            self._grown = min(_MUCH, 2 * max(self._grown, _GROWN_FIRST)) if in_vain else _GROWN
        self._collections = gc.get_stats()[1]["collections"]
        return thorough

    def _is_loaded(self, now: float) -> bool:
        """True if the process has computed for most of the time since the last round."""
        before, self._looked = self._looked, (now, self._used())
        return self._looked[1] - before[1] > _LOADED * (now - before[0]) > 0


def collect_in_background(every: float = _EVERY) -> None:
    """Make such a round now and then, and give free memory back, in a thread, as long as the process lives."""
    rounds, never = Rounds(), threading.Event()

    def run() -> None:
        while not never.wait(every):
            rounds.round()
            return_free_memory()

    threading.Thread(target=run, name="simkit-garbage", daemon=True).start()
