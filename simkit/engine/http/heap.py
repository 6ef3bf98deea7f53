"""Memory of ended connections, given back to the system.

TLS is a C library with buffers of its own. Where many connections ended, what they leave free lies scattered in the C
heap, which keeps it: a burst of 300 connections left some 10 KB each behind, and more with every burst. The C library
can be asked to give such pages back, which takes it some milliseconds.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Final

AFTER: Final = 10.0
"""Seconds after the end of a connection until the memory of all that have ended by then is given back."""


@cache
def trimmer() -> Callable[[int], int] | None:
    """The C library's function that gives free pages back; None where it has none."""
    if sys.platform != "linux":
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found


class Heap:
    """Trims the C heap once for all connections that end within some seconds."""

    def __init__(self, trim: Callable[[int], int] | None = None) -> None:
        self._trim = trim or trimmer()
        self._due = False

    def ended(self, later: Callable[[float, Callable[[], None]], object]) -> None:
        """A connection has ended; ``later`` is its event loop's ``call_later``."""
        if not self._due and self._trim is not None:
            self._due = True
            later(AFTER, self._give_back)

    def _give_back(self) -> None:
        self._due = False
        if self._trim is not None:
            self._trim(0)
