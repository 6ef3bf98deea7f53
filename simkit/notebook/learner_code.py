"""Calls of a learner's own code, whose errors are explained and end nothing."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic, NoReturn, TypeVar

from simkit.meta.errors import PlainError, SimkitError, StatusError
from simkit.notebook.verdict import error_lines, line_of_answer

T = TypeVar("T")
SECONDS: Final = 20.0
"""The time that a call may take. The slowest answer of the course takes less than a second."""
_NO_END: Final = "does each loop come to an end? Count the rounds, and leave the loop after the last one"


class StillRunning(BaseException):
    ends_the_thread = True
    """Raised in a call that takes too long. Code that catches every ``Exception`` must not catch it."""


@dataclass(frozen=True, slots=True)
class CodeOutcome(Generic[T]):
    """The value of a call, or the lines that explain its error, with a title for them."""

    value: T | None = None
    errors: tuple[str, ...] = ()
    title: str = ""


def run_learner_code(call: Callable[[], T], *, seconds: float = SECONDS) -> CodeOutcome[T]:
    """The outcome of a call of a learner's code; it raises no error of that code.

    A call that does not end is stopped, where the system has a timer for that: on Linux and macOS, in the main thread,
    where notebooks run their cells. One that the learner interrupts is told like an error.
    """
    try:
        with _limited(seconds):
            return CodeOutcome(call())
    except (SimkitError, StatusError, PlainError) as wrong:
        told = tuple(str(wrong).splitlines()) or (type(wrong).__name__,)
        title = "the server does not take the answer" if isinstance(wrong, StatusError) else "the answer does not work"
        return CodeOutcome(errors=(*told, *line_of_answer(wrong)), title=title)
    except StillRunning as stopped:
        title = f"the answer still ran after {seconds:g} seconds, and was stopped"
        return CodeOutcome(errors=(*line_of_answer(stopped), _NO_END), title=title)
    except KeyboardInterrupt as stopped:
        return CodeOutcome(errors=(*line_of_answer(stopped), _NO_END), title="the answer was interrupted")
    except (Exception, SystemExit) as wrong:  # learners make any mistake, and a check may call their code again
        return CodeOutcome(errors=tuple(error_lines(wrong)), title="the answer stopped with an error")


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """A call that ends with ``StillRunning`` after some seconds. A timer that somebody else has set is left alone."""
    if sys.platform in ("win32", "emscripten") or threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(*_: object) -> NoReturn:
    raise StillRunning
