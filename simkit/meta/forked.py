"""Work on many things in parts, each on a core of its own, in copies of this process."""

from __future__ import annotations

import os
import pickle
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def on_all_cores(function: Callable[[Sequence[T]], list[R]], things: Sequence[T], *, least: int) -> list[R]:
    """The results of a function for all things, in their order.

    Parameters
    ----------
    function
        It gives the results for some of the things, whatever the others are. Its results can be pickled.
    least
        The number of things that are worth a process.

    Notes
    -----
    The processes are forks of this one, so that nothing is sent to them. Where threads run, a fork may inherit a lock
    that nobody opens again; then, and where the system cannot fork, all is done here.

    Examples
    --------
    >>> on_all_cores(lambda some: [2 * one for one in some], [1, 2, 3, 4], least=2)
    [2, 4, 6, 8]
    """
    number = min(_cores(), len(things) // least)
    if number < 2 or threading.active_count() > 1 or not hasattr(os, "fork"):
        return function(things)
    size = -(-len(things) // number)
    first, *others = [things[start : start + size] for start in range(0, len(things), size)]
    waiting = [(part, *_forked(function, part)) for part in others]
    found = function(first)
    for part, process, end in waiting:
        answer: list[R] | None = _answer(process, end)
        found += function(part) if answer is None else answer  # what went wrong there is met and told here
    return found


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _forked(function: Callable[[Sequence[T]], list[R]], part: Sequence[T]) -> tuple[int, int]:
    """A process that works on a part, and the end of the pipe from which its results are read."""
    end, other = os.pipe()
    with warnings.catch_warnings():  # of threads of numerical libraries, which do nothing here
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.close(other)
        return process, end
    status = 1
    try:
        os.close(end)
        with open(other, "wb") as stream:
            stream.write(pickle.dumps(function(part)))
        status = 0
    finally:
        os._exit(status)  # without the cleaning up that is the parent's


def _answer(process: int, end: int) -> Any:
    """The results of a process; None if it ended without all of them."""
    with open(end, "rb") as stream:
        text = stream.read()
    _, status = os.waitpid(process, 0)
    return None if status else pickle.loads(text)  # noqa: S301 - our own process wrote it
