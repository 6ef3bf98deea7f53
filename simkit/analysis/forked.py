"""Work on many things in parts, each on a core of its own, in copies of this process."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
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
    if number < 2:
        return function(things)
    size = -(-len(things) // number)
    first, *others = [things[start : start + size] for start in range(0, len(things), size)]
    waiting = [aside(partial(function, part)) for part in others]
    found = function(first)
    for result in waiting:
        found += result()
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
    if _cores() < 2:
        return function
    with progress.without_threads():
        if not _can_fork():
            return function
        process, end = _begun(function)
    return lambda: _ended(process, end, function)


def _can_fork() -> bool:
    is_alone = threading.active_count() == 1 and not multiprocessing.current_process().daemon
    return is_alone and "fork" in multiprocessing.get_all_start_methods()


def _ended(process: BaseProcess, end: Connection[Any, Any], function: Callable[[], R]) -> R:
    """The result of a process, or its error; that of a process that was killed is found here."""
    result: R
    error: Exception | None
    try:
        result, error = end.recv()
    except EOFError:
        result, error = function(), None
    process.join()
    if error is not None:
        raise error
    return result


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begun(function: Callable[[], object]) -> tuple[BaseProcess, Connection[Any, Any]]:
    """A process that calls a function, and the end at which its result will arrive."""
    context = multiprocessing.get_context("fork")
    end, other = context.Pipe(duplex=False)
    with warnings.catch_warnings():  # of threads of numerical libraries, which do nothing here
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=_work, args=(other, function), daemon=True)
        process.start()
    other.close()
    return process, end


def _work(end: Connection[Any, Any], function: Callable[[], object]) -> None:
    progress.silence()
    try:
        answer: tuple[object, Exception | None] = function(), None
    except Exception as error:  # raised again where the result is awaited
        answer = None, error
    end.send(answer)
