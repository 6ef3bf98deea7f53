"""Warnings about a question, told at the line of the user's code, or to whoever asks for them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_OWN: Final = __name__.partition(".")[0]
_HEARD_BY: Final[ContextVar[Callable[[Warning], object] | None]] = ContextVar("heard_by", default=None)


@contextmanager
def warnings_heard_by(hear: Callable[[Warning], object]) -> Iterator[None]:
    """Give the warnings of this thread to a function, as long as the context lasts, instead of printing them.

    Examples
    --------
    >>> heard = []
    >>> with warnings_heard_by(heard.append):
    ...     warn_user(UserWarning("there is no namespace 'shpo'"))
    >>> heard
    [UserWarning("there is no namespace 'shpo'")]
    """
    token = _HEARD_BY.set(hear)
    try:
        yield
    finally:
        _HEARD_BY.reset(token)


def warn_user(message: Warning) -> None:
    """Warn at the innermost line of code that is not simkit's own."""
    hear = _HEARD_BY.get()
    if hear is not None:
        hear(message)
        return
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OWN:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, stacklevel=level)
