"""Calls of a learner's own code, whose errors are explained and end nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from simkit.meta.errors import PlainError, SimkitError, StatusError
from simkit.notebook.verdict import error_lines, line_of_answer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CodeOutcome(Generic[T]):
    """The value of a call, or the lines that explain its error. ``refused`` says that the server or simkit refused."""

    value: T | None = None
    errors: tuple[str, ...] = ()
    refused: bool = False


def run_learner_code(call: Callable[[], T]) -> CodeOutcome[T]:
    """The outcome of a call of a learner's code; it raises no error of that code."""
    try:
        return CodeOutcome(call())
    except (SimkitError, StatusError, PlainError) as wrong:
        told = tuple(str(wrong).splitlines()) or (type(wrong).__name__,)
        return CodeOutcome(errors=(*told, *line_of_answer(wrong)), refused=True)
    except (Exception, SystemExit) as wrong:  # learners make any mistake, and a check may call their code again
        return CodeOutcome(errors=tuple(error_lines(wrong)))
