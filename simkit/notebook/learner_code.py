"""Calls of a learner's own code, whose errors are explained and end nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from simkit.meta.errors import PlainError, SimkitError, StatusError
from simkit.notebook.verdict import error_lines, line_of_answer

T = TypeVar("T")
_NO_END: Final = "does each loop come to an end? Count the rounds, and leave the loop after the last one"


@dataclass(frozen=True, slots=True)
class CodeOutcome(Generic[T]):
    """The value of a call, or the lines that explain its error, with a title for them."""

    value: T | None = None
    errors: tuple[str, ...] = ()
    title: str = ""


def run_learner_code(call: Callable[[], T]) -> CodeOutcome[T]:
    """The outcome of a call of a learner's code; it raises no error of that code.

    One that the learner interrupts is told like an error.
    """
    try:
        return CodeOutcome(call())
    except (SimkitError, StatusError, PlainError) as wrong:
        told = tuple(str(wrong).splitlines()) or (type(wrong).__name__,)
        title = "the server does not take the answer" if isinstance(wrong, StatusError) else "the answer does not work"
        return CodeOutcome(errors=(*told, *line_of_answer(wrong)), title=title)
    except KeyboardInterrupt as stopped:
        return CodeOutcome(errors=(*line_of_answer(stopped), _NO_END), title="the answer was interrupted")
    except (Exception, SystemExit) as wrong:  # learners make any mistake, and a check may call their code again
        return CodeOutcome(errors=tuple(error_lines(wrong)), title="the answer stopped with an error")
