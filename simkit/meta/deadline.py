"""The time until which a thread may work on one request, looked at where work is long.

References
----------
k8s.io/apiserver/pkg/server/filters/timeout.go and pkg/endpoints/filters/request_deadline.go, release 1.30: the context
of a request ends, and what works for it looks at the context.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

from simkit.meta.errors import StatusError
from simkit.meta.turns import TURNS

T = TypeVar("T")
_BETWEEN: Final = 64
"""Items that are worked on between two looks at the clock."""


class Deadline:
    """The moment at which somebody stops waiting for a piece of work. Any thread may bring it forward to now."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float = math.inf) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds for which somebody still waits; 0 if nobody does."""
        return max(0.0, self._end - time.monotonic())

    def look(self) -> None:
        """Raise the 504 of a request for which nobody waits any more."""
        if time.monotonic() > self._end:
            raise too_late()

    def end(self) -> None:
        """Say that nobody waits any more."""
        self._end = -math.inf


class _Work(threading.local):
    deadline: Deadline | None = None


_WORK: Final = _Work()


def within(deadline: Deadline, step: Callable[[], T]) -> T:
    """Returns the result of a step, for which ``check_deadline`` in this thread looks at a deadline."""
    _WORK.deadline = deadline
    try:
        return step()
    finally:
        _WORK.deadline = None


def current_deadline() -> Deadline | None:
    """The deadline of the work of this thread, where it has one."""
    return _WORK.deadline


def check_deadline() -> None:
    """Raise the 504 of a request for which nobody waits any more; let other threads compute in turn with this one.

    Costs a tenth of a microsecond.
    """
    deadline = _WORK.deadline
    if deadline is not None:
        deadline.look()
        if TURNS.waiting or TURNS.crowded:
            TURNS.pass_on()


def checked(items: Iterable[T]) -> Iterator[T]:
    """The items, with a look at the deadline now and then.

    Examples
    --------
    >>> list(checked("ab"))
    ['a', 'b']
    """
    if _WORK.deadline is None:
        yield from items
        return
    rest = iter(items)
    while some := list(islice(rest, _BETWEEN)):
        check_deadline()
        yield from some


class TooLate(StatusError):
    """The answer to a request that takes too long, which kube-apiserver sends as text."""

    TEXT: Final = (
        b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",'
        b'"reason":"Timeout","details":{},"code":504}\n'
    )


def too_late() -> StatusError:
    """The answer to a request that takes too long."""
    return TooLate(504, "Timeout", "Timeout: request did not complete within the allotted timeout")
