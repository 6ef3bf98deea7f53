"""Warnings about a question, told at the line of the user's code."""

from __future__ import annotations

import sys
import warnings
from typing import Final

_OWN: Final = __name__.partition(".")[0]


def warn_user(message: Warning) -> None:
    """Warn at the innermost line of code that is not simkit's own."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OWN:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, stacklevel=level)
