"""Work on many things in parts, each on a core of its own, in copies of this process."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from simkit.present import progress

if TYPE_CHECKING:  # a browser's Python does not have the first
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

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

    Raises
    ------
    Exception
        Whatever the function raises, here or in another process.

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
    if number < 2 or multiprocessing.current_process().daemon:
        return function(things)
    size = -(-len(things) // number)
    first, *others = [things[start : start + size] for start in range(0, len(things), size)]
    with progress.without_threads():
        can_fork = _can_fork()
        waiting = [_begun(function, part) for part in others] if can_fork else []
    if not can_fork:
        return function(things)
    found = function(first)
    for part, (process, end) in zip(others, waiting, strict=True):
        found += _ended(process, end, function, part)
    return found


def aside(function: Callable[[], R]) -> Callable[[], R]:
    """Begin to work on a function's result on another core; calling what is given back waits for it.

    Parameters
    ----------
    function
        Its result can be pickled.

    Notes
    -----
    With one core, where threads run, and where the system cannot fork, the work is done when the result is asked for.
    What the function raises is raised then too.

    Examples
    --------
    >>> answer = aside(lambda: 6 * 7)
    >>> answer()
    42
    """
    if _cores() < 2 or multiprocessing.current_process().daemon:
        return function

    def alone(nothing: Sequence[None]) -> list[R]:
        return [function()]

    with progress.without_threads():
        if not _can_fork():
            return function
        process, end = _begun(alone, ())
    return lambda: _ended(process, end, alone, ())[0]


def _can_fork() -> bool:
    return "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1


def _ended(
    process: BaseProcess, end: Connection[Any, Any], function: Callable[[Sequence[T]], list[R]], part: Sequence[T]
) -> list[R]:
    """The results of a process, or its error; those of a process that was killed are found here."""
    results: list[R]
    error: Exception | None
    try:
        results, error = end.recv()
    except EOFError:
        results, error = function(part), None
    process.join()
    if error is not None:
        raise error
    return results


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begun(function: Callable[[Sequence[T]], list[R]], part: Sequence[T]) -> tuple[BaseProcess, Connection[Any, Any]]:
    """A process that works on a part, and the end at which its results will arrive."""
    context = multiprocessing.get_context("fork")
    end, other = context.Pipe(duplex=False)
    with warnings.catch_warnings():  # of threads of numerical libraries, which do nothing here
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=_work, args=(other, function, part), daemon=True)
        process.start()
    other.close()
    return process, end


def _work(end: Connection[Any, Any], function: Callable[[Sequence[T]], list[R]], part: Sequence[T]) -> None:
    progress.silence()
    try:
        answer: tuple[list[R], Exception | None] = function(part), None
    except Exception as error:  # raised again where the results are awaited
        answer = [], error
    end.send(answer)
