"""Interrupts of the keyboard, which wait while something is written that must be whole.

Python raises KeyboardInterrupt between any two steps of the main thread. In the middle of a write that would leave a
store whose history and present disagree, or a controller that has taken a change and done nothing about it.
"""

from __future__ import annotations

import threading
from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found]  # signal's own make enums: 2 us each
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_MAIN: Final = threading.main_thread().ident


class _Hold:
    """The handler of interrupts for as long as they are held, and the handler that it stands in for.

    The second interrupt does not wait: what is held may never end.
    """

    def __init__(self) -> None:
        self.depth = 0
        """Blocks that hold interrupts, one in another."""
        self._handler: Callable[..., Any] | None = None
        self._arrived: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> None:
        if threading.get_ident() != _MAIN:
            return
        if not self.depth:
            handler = getsignal(SIGINT)
            self._handler = handler if callable(handler) else None
            if self._handler is not None:
                signal(SIGINT, self._arrives)
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() != _MAIN:
            return
        self.depth -= 1
        if not self.depth and self._handler is not None:
            signal(SIGINT, self._handler)
            self.let_through()

    def _arrives(self, number: int, frame: FrameType | None) -> None:
        again, self._arrived = self._arrived is not None, (number, frame)
        if again:
            self.let_through()

    def let_through(self) -> None:
        """Interrupt now if somebody wanted to."""
        arrived, self._arrived = self._arrived, None
        if arrived is not None and self._handler is not None:
            self._handler(*arrived)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold nothing meanwhile, save for what is written inside."""
        depth, handler = self.depth, self._handler
        try:
            self.depth = 0
            if handler is not None:
                signal(SIGINT, handler)
            self.let_through()
            yield
        finally:
            if handler is not None:
                signal(SIGINT, self._arrives)
            self.depth, self._handler = depth, handler


interrupts_held: Final = _Hold()
"""Lets an interrupt of the main thread wait for the end of a block, or for an interruption point in it.

Examples
--------
>>> with interrupts_held:
...     pass  # what is written here is whole
"""


def interruption_point() -> None:
    """Raise an interrupt that waits: what was begun is whole here."""
    if interrupts_held.depth and threading.get_ident() == _MAIN:
        interrupts_held.let_through()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let interrupts through at once, as in a function that others provide and that may never come back."""
    if interrupts_held.depth and threading.get_ident() == _MAIN:
        with interrupts_held.opened():
            yield
    else:
        yield
